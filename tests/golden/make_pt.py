#!/usr/bin/env python3
"""Writes torch_files.safetensors: files of torch.save(), as bytes, and what load() makes of them.  Run by hand; the tests read
the file only.

good/CASE/file, good/CASE/tensor/NAME: the file and its tensors; bad/CASE/file: a file that is refused."""
import collections
import io
import os
import pickle
import zipfile

import torch
from book import Book

BOOK = Book("torch_files")


def saved(value, **options):
    stream = io.BytesIO()
    torch.save(value, stream, **options)
    return stream.getvalue()


def again(data, change=lambda name, content: content, **options):
    """The archive, written by Python's zipfile."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", **options) as new:
        for name in old.namelist():
            with new.open(zipfile.ZipInfo(name), "w", force_zip64="compression" not in options) as member:
                member.write(change(name, old.read(name)))
    return out.getvalue()


def with_pickle(data):
    """An archive with this pickle."""
    return again(saved({}), lambda name, content: data if name.endswith("data.pkl") else content)


def number(value):
    return isinstance(value, (bool, int, float))


def flat(value, name=""):
    """Names and tensors, by the rules of load()."""
    join = name + "." if name else ""
    if isinstance(value, torch.Tensor):
        yield name, value
    elif number(value):
        yield name, torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None)
    elif isinstance(value, (list, tuple)) and value and all(map(number, value)):
        yield name, torch.tensor(value, dtype=torch.float64 if any(isinstance(v, float) for v in value) else None)
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from flat(item, join + str(i))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from flat(item, join + str(key))


def put(kind, case, data):
    BOOK.put(f"{kind}/{case}/file", torch.frombuffer(bytearray(data), dtype=torch.uint8))


def good(case, value, data=None):
    put("good", case, saved(value) if data is None else data)
    for name, tensor in flat(value):
        BOOK.put(f"good/{case}/tensor/{name}", tensor)


class Command:
    def __reduce__(self):
        return os.system, ("echo this is never run",)


def main():
    torch.manual_seed(0)
    ramp = torch.arange(6.0).reshape(2, 3) - 1.5
    dtypes = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
              torch.bool)
    every = {str(d).removeprefix("torch."): ramp.to(d) for d in dtypes}
    every.update(uint8=ramp.abs().to(torch.uint8), number=torch.tensor(2.5), none=torch.zeros(0, 3))
    good("dtypes", every)
    good("deflated", every, again(saved(every), compression=zipfile.ZIP_DEFLATED))
    limits, zipfile.ZIP64_LIMIT, zipfile.ZIP_FILECOUNT_LIMIT = (zipfile.ZIP64_LIMIT, zipfile.ZIP_FILECOUNT_LIMIT), 10, 1
    good("zip64", every, again(saved(every)))  # with the records of archives above 4 GB
    zipfile.ZIP64_LIMIT, zipfile.ZIP_FILECOUNT_LIMIT = limits
    swap = {name: tensor.element_size() for name, tensor in enumerate(every.values())}

    def big(name, content):
        if name.endswith("byteorder"):
            return b"big"
        if "/data/" not in name:
            return content
        size = swap[int(name.rsplit("/", 1)[1])]
        return b"".join(content[i:i + size][::-1] for i in range(0, len(content), size))
    good("big_endian", every, again(saved(every), big, compression=zipfile.ZIP_STORED))
    for protocol in (2, 3, 4, 5):
        good(f"protocol{protocol}", {"a": ramp, "b": {"c": torch.ones(2), 3: 1}, "long": "x" * 300},
             saved({"a": ramp, "b": {"c": torch.ones(2), 3: 1}, "long": "x" * 300}, pickle_protocol=protocol))

    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 1))
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(2):
        model(torch.randn(4, 2)).sum().backward()
        optimizer.step()
    good("module", model.state_dict())
    good("checkpoint", {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3, "best": 0.25, "done": False,
                        "name": "run \u00e9", "device": torch.device("cuda:1"), "dtype": torch.float32, "size": torch.Size([2, 3]),
                        "history": [1.5, 2], "mixed": [1, "one", ramp, None, True], "large": [2**62, -2**63, -1, 255, 256, -40000],
                        "nothing": {}, "parameter": torch.nn.Parameter(ramp)})
    base = torch.arange(12.0)
    good("views", {"all": base, "part": base[2:8], "matrix": base.view(3, 4), "columns": base.view(3, 4).t(), "steps": base[1::5],
                   "repeated": base[3].expand(2, 2), "empty": base[5:5], "alone": base[4:6].clone()})
    good("tensor", ramp)
    good("list", [ramp, {"a": ramp.double()}])
    good("empty", {})

    bad = {"uint16": {"fine": ramp, "u": torch.zeros(2, dtype=torch.uint16)},
           "float8": {"f": torch.zeros(2).to(torch.float8_e4m3fn)},
           "complex": {"c": torch.zeros(2, dtype=torch.complex64)},
           "module": model,
           "conjugate": {"c": torch.zeros(2, dtype=torch.complex64).conj()},
           "negative": {"n": torch.zeros(2, dtype=torch.complex64).conj().imag},
           "sparse": {"s": torch.eye(2).to_sparse()},
           "set": {"s": {1, 2}},
           "bytes": {"b": b"abc"},
           "number": {"n": 2**64},
           "key": {(1, 2): ramp},
           "name": {"a.b": ramp, "a": {"b": ramp}},
           "ordinary": {"s": collections.Counter("aab")},
           "command": Command()}
    for case, value in bad.items():
        put("bad", case, saved(value))
    put("bad", "legacy", saved({"a": ramp}, _use_new_zipfile_serialization=False))
    stream = io.BytesIO()
    torch.jit.save(torch.jit.script(torch.nn.Linear(1, 1)), stream)
    put("bad", "script", stream.getvalue())
    loop = []
    loop.append(loop)
    put("bad", "loop", with_pickle(pickle.dumps(loop, 2)))
    many = [1, "a"]
    for _ in range(40):
        many = [many, many]
    put("bad", "many", with_pickle(pickle.dumps(many, 2)))
    put("bad", "storage", saved({"s": ramp.untyped_storage()}))
    BOOK.close()


if __name__ == "__main__":
    main()

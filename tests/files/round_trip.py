"""Random state dicts as files of Python.

round_trip.py write FOLDER COUNT: writes i.safetensors and i.pt, the same tensors.
round_trip.py check FOLDER COUNT: i.ours.safetensors must have these tensors, bit for bit.
"""

import random
import sys

import torch
from safetensors.torch import load_file, save_file

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
          torch.uint8, torch.bool]
PARTS = ["weight", ".", "0", "layer", " ", '"', "\\", "/", "../", "\n", "\x01", "{", "\u00e9", "\u4e2d\u6587",
         "\U0001f600", "\u202e", "\uffff", "\x7f", "\x00"]


def make(seed):
    """A state dict: random bits, some tensors as views of others."""
    r = random.Random(seed)
    tensors = {}
    for _ in range(r.randrange(7)):
        rank = r.randrange(9)
        shape = [0 if r.randrange(8) == 0 else r.randint(1, 2 if rank > 4 else 4) for _ in range(rank)]
        dtype = r.choice(DTYPES)
        item = torch.empty(0, dtype=dtype).element_size()
        count = torch.Size(shape).numel()
        raw = [r.randrange(2 if dtype == torch.bool else 256) for _ in range((count + 3) * item)]
        flat = torch.tensor(raw, dtype=torch.uint8).view(dtype) if raw else torch.empty(0, dtype=dtype)
        x = flat[3:].view(shape)
        order = list(range(rank))
        r.shuffle(order)
        tensors["".join(r.choice(PARTS) for _ in range(r.randint(1, 5)))] = x.permute(order)
    for name in list(tensors):
        if r.randrange(4) == 0:
            tensors[name + ".tied"] = tensors[name]
        if tensors[name].dim() > 0 and r.randrange(4) == 0:
            tensors[name + ".part"] = tensors[name][::2]
    return tensors


def same(a, b):
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    a, b = (x.clone(memory_format=torch.contiguous_format).view(-1).view(torch.uint8) for x in (a, b))
    return a.equal(b)


def main():
    what, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    for i in range(count):
        tensors = make(i)
        name = f"{folder}/{i}"
        if what == "write":
            metadata = {"format": "pt"} if i % 2 else None
            save_file({k: v.contiguous().clone() for k, v in tensors.items()}, name + ".safetensors", metadata)
            torch.save(tensors, name + ".pt")
            continue
        for file in ("ours", "pt"):
            path = f"{name}.{file}.safetensors"
            try:
                got = load_file(path)
            except FileNotFoundError:
                if file == "ours":
                    raise
                continue
            if list(sorted(got)) != list(sorted(tensors)):
                sys.exit(f"{path}: names {sorted(got)}, expected {sorted(tensors)}")
            for k, v in tensors.items():
                if not same(got[k], v):
                    sys.exit(f"{path}: {k!r} is {got[k]}, expected {v}")


main()

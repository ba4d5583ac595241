#!/usr/bin/env python3
"""Writes arrays.safetensors: .npy and .npz files of NumPy, as bytes, and their arrays.  Run by hand; the tests read the file
only."""
import io

import numpy as np
import torch
from book import Book

BOOK = Book("arrays")


def put(name, data, array):
    BOOK.put(f"{name}/file", torch.tensor(list(data), dtype=torch.uint8))
    if array is not None:
        native = array.astype(array.dtype.newbyteorder("="))
        BOOK.put(f"{name}/array", torch.from_numpy(np.ascontiguousarray(native).reshape(array.shape)))


def npy(name, array, version=None):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, version)
    put(name, stream.getvalue(), array)


def main():
    base = np.array([[0, 1, 2.5], [3, -4, 100]])
    for kind in ("f4", "f8", "f2", "i8", "i4", "u1", "b1"):
        array = np.abs(base).astype(kind) if kind == "u1" else base.astype(kind)
        npy(f"npy/{kind}", array)
        npy(f"npy/{kind}_big", array.astype(array.dtype.newbyteorder(">")))
        npy(f"npy/{kind}_fortran", np.asfortranarray(array))
    for major in (1, 2, 3):
        npy(f"npy/version{major}", base.astype("f4"), (major, 0))
    npy("npy/number", np.array(7, "i8"))
    npy("npy/row", np.arange(5, dtype="i4"))
    npy("npy/empty", np.zeros((3, 0, 2), "f4"))
    npy("npy/cube_fortran", np.asfortranarray(np.arange(24, dtype="f4").reshape(2, 3, 4)))
    for name, save in (("stored", np.savez), ("deflated", np.savez_compressed)):
        stream = io.BytesIO()
        save(stream, weight=base.astype("f4"), **{"layer.bias": np.arange(300, dtype="i8")})
        put(f"npz/{name}", stream.getvalue(), None)
    stream = io.BytesIO()
    np.save(stream, np.array([{}, 1], dtype=object), allow_pickle=True)
    put("bad/object", stream.getvalue(), None)
    for name, array in (("structure", np.zeros(2, [("a", "f4")])), ("text", np.array(["ab"])), ("complex", np.zeros(2, "c8")),
                        ("date", np.zeros(1, "M8[s]")), ("unsigned", np.zeros(1, "u2"))):
        stream = io.BytesIO()
        np.save(stream, array)
        put(f"bad/{name}", stream.getvalue(), None)
    BOOK.close()


if __name__ == "__main__":
    main()

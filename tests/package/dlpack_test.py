"""dlpack_test.py LIBRARY: NumPy and PyTorch share memory with LIBRARY (dlpack_exchange.cpp) by DLPack, both ways.

What is missing of them is left out; without both it is skipped, with status 77."""

import ctypes
import sys

try:
    import numpy as np
except ImportError:
    np = None
try:
    import torch
except ImportError:
    torch = None
if np is None and torch is None:
    print("skipped: neither numpy nor torch is here; pip install numpy")
    sys.exit(77)

library = ctypes.CDLL(sys.argv[1])
library.export_versioned.restype = library.export_plain.restype = ctypes.c_void_p
library.take_versioned.restype = library.take_plain.restype = ctypes.c_double
library.take_versioned.argtypes = library.take_plain.argtypes = [ctypes.c_void_p]
library.count_storages.restype = ctypes.c_int64
python = ctypes.pythonapi
python.PyCapsule_New.restype = ctypes.py_object
python.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
python.PyCapsule_GetPointer.restype = ctypes.c_void_p
python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
KINDS = {"plain": (b"dltensor", b"used_dltensor"), "versioned": (b"dltensor_versioned", b"used_dltensor_versioned")}
DTYPES = {0: "float32", 1: "float64", 2: "float16", 4: "int64", 5: "int32", 6: "int16", 7: "int8", 8: "uint8"}


class Exported:
    """What other libraries ask for memory."""

    def __init__(self, dtype):
        self.dtype = dtype

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        kind = "versioned" if max_version and max_version[0] >= 1 else "plain"
        pointer = getattr(library, "export_" + kind)(self.dtype)
        return python.PyCapsule_New(pointer, KINDS[kind][0], None)


def take(capsule):
    """Hands a capsule's memory over."""
    kind = "versioned" if "versioned" in repr(capsule) else "plain"
    name, used = KINDS[kind]
    pointer = python.PyCapsule_GetPointer(capsule, name)
    python.PyCapsule_SetName(capsule, used)
    return getattr(library, "take_" + kind)(pointer)


def check(name, from_dlpack, capsules_of, make):
    before = library.count_storages()
    for number, dtype in DTYPES.items():
        theirs = from_dlpack(Exported(number))
        assert str(theirs.dtype).endswith(dtype), (theirs.dtype, dtype)
        assert theirs.tolist() == [[0, 2, 4], [1, 3, 5]], theirs
        assert library.count_storages() == before + 1
        del theirs
        assert library.count_storages() == before, f"{name} did not give the memory back"
    for capsule_of in capsules_of:
        own = make()
        assert take(capsule_of(own)) == 21
        assert own.tolist() == [1, 2, 3, 4, 5, 6], "it was a copy"
    print(f"{name}: {len(DTYPES)} dtypes, {len(capsules_of)} structs")


if np is not None:
    capsules = [lambda x: x.__dlpack__()]
    if tuple(map(int, np.__version__.split(".")[:2])) >= (2, 1):
        capsules.append(lambda x: x.__dlpack__(max_version=(1, 0)))
    check("numpy " + np.__version__, np.from_dlpack, capsules, lambda: np.arange(6, dtype="float32"))
if torch is not None:
    capsules = [lambda x: x.__dlpack__(), lambda x: x.__dlpack__(max_version=(1, 0))]
    check("torch " + torch.__version__, torch.from_dlpack, capsules, lambda: torch.arange(6, dtype=torch.float32))

"""Shows minnow's tensors in gdb as programs print them.

    (gdb) source <prefix>/share/minnow/minnow-gdb.py        or that line in ~/.gdbinit
    (gdb) print x
    $1 = tensor([[1., 2.],
            [3., 4.]], device='sim:0')

It reads memory and calls nothing, so that it works for core dumps too.  Memory of a GPU is not shown.  A layer's
members are shown where the program was compiled as CMake does for minnow::minnow, else with -femit-class-debug-always
(g++) or -fstandalone-debug (clang++).
"""

import itertools
import math
import struct

import gdb
import gdb.printing

# DType: name, bytes, struct's letter (bfloat16 has none).
DTYPES = [
    ("float32", 4, "f"),
    ("float64", 8, "d"),
    ("float16", 2, "e"),
    ("bfloat16", 2, None),
    ("int64", 8, "q"),
    ("int32", 4, "i"),
    ("int16", 2, "h"),
    ("int8", 1, "b"),
    ("uint8", 1, "B"),
    ("bool", 1, "?"),
]
DEVICES = ["cpu", "cuda", "sim"]
LONGEST = 1000  # up to this many elements all are shown, as in tensor/raw/print.cpp
EDGE = 3  # elements at each end of a shortened dimension
MAX_SHOWN = 20000  # elements of a shortened tensor of many dimensions


def pointee(shared):
    """The address in a std::shared_ptr; 0 if it is empty."""
    for member in ("_M_ptr", "__ptr_"):
        try:
            return shared[member]
        except gdb.error:
            continue
    raise gdb.error("an unknown std::shared_ptr")


def sizes_of(shape):
    return [int(shape["sizes_"][i]) for i in range(int(shape["rank_"]))]


def device_text(device):
    kind, index = int(device["type_"]), int(device["index_"])
    name = DEVICES[kind] if 0 <= kind < len(DEVICES) else "no device"
    return name if name == "cpu" else f"{name}:{index}"


def read(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


def requires_grad(slot):
    """Tensor::requires_grad().  The type of the slot is internal to the library, which exports the offset."""
    address = int(pointee(slot))
    layout = gdb.lookup_static_symbol("minnow_slot_layout") or gdb.lookup_global_symbol("minnow_slot_layout")
    if not address:
        return False
    try:
        where = int(layout.value().address) if layout else int(gdb.parse_and_eval("(long)&minnow_slot_layout"))
        flag, producer = struct.unpack("=II", read(where, 8))
        return read(address + flag, 1) != b"\0" or read(address + producer, 8) != bytes(8)
    except gdb.error:
        return False


class Format:
    """The number format of a tensor."""

    def __init__(self, dtype, shown):
        self.dtype = dtype
        self.whole = True
        self.scientific = False
        finite = [v for v in shown if math.isfinite(v)]
        magnitudes = [abs(v) for v in finite if v != 0]
        self.whole = all(v == math.floor(v) for v in finite)
        if magnitudes and dtype not in ("int64", "int32", "int16", "int8", "uint8", "bool"):
            largest, smallest = max(magnitudes), min(magnitudes)
            self.scientific = largest / smallest > 1000 or largest > 1e8 or (not self.whole and smallest < 1e-4)
        self.width = max((len(self.number(v)) for v in finite), default=0)

    def number(self, v):
        if self.dtype == "bool":
            return "true" if v else "false"
        if isinstance(v, int):
            return str(v)
        if not math.isfinite(v):
            return "nan" if math.isnan(v) else "-inf" if v < 0 else "inf"
        if self.scientific:
            return f"{v:.4e}"
        return f"{v:.0f}." if self.whole else f"{v:.4f}"

    def padded(self, v):
        return self.number(v).rjust(self.width)


class Elements:
    """The elements of a tensor that are shown, read from its memory."""

    def __init__(self, data, dtype, sizes, strides):
        self.data, self.sizes, self.strides = data, sizes, strides
        self.name, self.bytes, self.letter = dtype
        self.shorten = math.prod(sizes) > LONGEST
        places = [[i for i in self.places(d) if i is not None] for d in range(len(sizes))]
        if math.prod(len(p) for p in places) > MAX_SHOWN:
            raise OverflowError
        self.values = {at: self.value(at) for at in itertools.product(*places)}
        self.format = Format(self.name, self.values.values())

    def places(self, d):
        """The indices of a dimension that are shown; None stands for "..."."""
        size = self.sizes[d]
        if not self.shorten or size <= 2 * EDGE:
            return range(size)
        return [*range(EDGE), None, *range(size - EDGE, size)]

    def value(self, at):
        offset = sum(i * stride for i, stride in zip(at, self.strides))
        raw = read(self.data + offset * self.bytes, self.bytes)
        if self.letter is None:
            return struct.unpack("<f", b"\0\0" + raw)[0]
        return struct.unpack("<" + self.letter, raw)[0]

    def text(self, at, indent):
        d = len(at)
        rank = len(self.sizes) - d
        if rank == 0:
            return self.format.padded(self.values[at])
        separator = ", " if rank == 1 else "," + "\n" * (rank - 1) + " " * (indent + 1)
        dots = " ..." if rank == 1 else "..."
        parts = [dots if i is None else self.text((*at, i), indent + 1) for i in self.places(d)]
        return "[" + separator.join(parts) + "]"


def tensor_text(tensor):
    impl = pointee(tensor["impl_"])
    if int(impl) == 0:
        return "tensor(undefined)"
    view = impl["view"]
    sizes, strides = sizes_of(view["shape_"]), sizes_of(view["strides_"])
    number = int(view["dtype_"])
    dtype = DTYPES[number] if 0 <= number < len(DTYPES) else ("no dtype", 0, None)
    storage = pointee(view["storage_"])
    device = device_text(storage["device_"])
    count = math.prod(sizes)
    described = True  # the numbers do not show the shape
    if count == 0:
        values, described = "[]", len(sizes) > 1
    elif device.startswith("cuda") or not dtype[1]:
        values = "<elements in memory that a debugger does not read>"
    else:
        try:
            data = int(storage["data_"]) + int(view["offset_"]) * dtype[1]
            values = Elements(data, dtype, sizes, strides).text((), len("tensor("))
            described = False
        except gdb.MemoryError:
            values = "<elements in memory that cannot be read>"
        except OverflowError:
            values = "<too many elements>"
    text = f"tensor({values}"
    if described:
        text += f", size={sizes}"
    if device != "cpu":
        text += f", device='{device}'"
    if not (dtype[0] == "float32" or (count and dtype[0] in ("int64", "bool"))):
        text += f", dtype={dtype[0]}"
    return text + (", requires_grad=true)" if requires_grad(impl["slot"]) else ")")


def module_text(module):
    """The members of nn::Module: its name, and whether it is in train mode."""
    state = pointee(module["state_"])
    if int(state) == 0:
        return "module, moved from"
    path = state["path"]["_M_dataplus"]["_M_p"].string()
    return f"module '{path}', {'training' if state['training'] else 'not training'}"


class Printer:
    def __init__(self, value, text):
        self.value, self.text = value, text

    def to_string(self):
        return self.text(self.value)


def printer(text):
    return lambda value: Printer(value, text)


def collection():
    printers = gdb.printing.RegexpCollectionPrettyPrinter("minnow")
    printers.add_printer("Tensor", "^minnow::(Tensor|nn::(Parameter|Buffer|detail::RegisteredTensor))$", printer(tensor_text))
    printers.add_printer("Module", "^minnow::nn::Module$", printer(module_text))
    printers.add_printer("Shape", "^minnow::Shape$", printer(lambda shape: str(sizes_of(shape))))
    printers.add_printer("Device", "^minnow::Device$", printer(device_text))
    return printers


gdb.printing.register_pretty_printer(None, collection(), replace=True)

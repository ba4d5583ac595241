#!/usr/bin/env python3
"""Checks the floors: which folder includes which, and what a file may contain.

check_floors.py [TREE]        checks a source tree; prints each fault, exit status 1 if there is one
check_floors.py --self-test   builds trees with one violation each and sees that every one is found
"""

import re
import sys
import tempfile
from pathlib import Path

FOLDERS = ("tensor", "autograd", "ops", "nn", "optim", "data", "distributions", "vision", "text", "tensorboard", "onnx", "llm", "capi", "training", "distributed", "interop", "examples", "tests", "emulator", "benchmarks", "tools")
SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}
MAX_LINES = 600
LONG_COMMENT = re.compile(r"^(?=.{121})\s*///? \S", re.M)  # the formatter leaves comments as they are; code in them may be longer
GENERATED = {"tensor/methods.h", "ops/tensor_methods.cpp"}
GROUND = {
    "error", "device", "dtype", "shape", "checked", "source_location", "call_site", "calling_thread", "half",
    "config", "text", "internal", "observers",
}
FLOORS = {
    "tensor/backend": 2, "tensor/kernels": 2,
    "tensor/raw": 3, "tensor/io": 3.5,
    "autograd": 4, "ops": 4.5,
    "nn": 5, "optim": 5, "data": 5,
    "training": 5.5, "distributions": 5.6, "vision": 5.6, "text": 5.6, "tensorboard": 5.6, "onnx": 5.6, "llm": 5.6, "capi": 5.7, "distributed": 5.6, "interop": 5.6,
    "examples": 6, "tests": 6, "emulator": 6, "benchmarks": 6, "tools": 6,
}
# Sources that stand beside their headers, but on the floor of another folder: they may use what it may use, and nobody
# below it may call what they define (tests/package/floor_symbols.py sees to that).
FRONTS = {
    "tensor/create.cpp": "tensor/raw",  # allocates and fills on a device
    "tensor/runtime/captured_step.cpp": "tensor/raw",  # copies inputs
    "tensor/runtime/memory.cpp": "tensor/backend",  # asks the backends' allocators
    "tensor/profile/module_table.cpp": "tensor/backend",  # reads operands, and asks the backends' allocators
    "tensor/runtime/stream.cpp": "tensor/backend",  # asks the backends for streams
    "tensor/profile/trace.cpp": "tensor/io",  # writes a file
    "tensor/profile/tracer.cpp": "tensor/backend",  # reads operands, and asks the backends' allocators
    "autograd/functional.cpp": "ops",  # a user of gradients and operations, as gradcheck
    "autograd/gradcheck.cpp": "ops",
    "autograd/gradient_sum.cpp": "ops",  # adds gradients by operations that record, for higher orders
    "autograd/row_gradient.cpp": "ops",  # the same of rows
    "autograd/tensor_grad.cpp": "ops",  # retain_grad() adds
}
DEVICE_FLOOR = 3
DEVICE_FOLDERS = set()  # the folders of tensor that have a backend: tensor/sim/sim_backend.h
# sim is the CPU's backend with a second memory: it derives from this class, and includes nothing else of cpu/.
DERIVED = {("tensor/sim", "tensor/cpu/cpu_backend.h")}
PUBLIC_FOLDERS = {"tensor", "tensor/runtime", "tensor/profile", "tensor/raw", "tensor/io", "autograd", "optim", "data", "distributions", "vision", "text", "tensorboard", "onnx", "llm", "capi", "training", "distributed", "interop"}
ROOMS_OF = ("ops", "nn")  # which are public, but for detail/
LIBRARIES = re.compile(r"^(oneapi/|dnnl|fmt/|protozero/|zlib\.h|omp\.h|cuda|cudnn|cublas)")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
CUDA_CONDITION = re.compile(r"^\s*#\s*(?:if|ifdef|ifndef|elif)\b.*(?:CUDA|__NVCC__)", re.M)


def folder_and_floor(path):
    """The longest known folder of a path such as tensor/cpu/isa/unary.cpp, and its floor."""
    parts = path.split("/")
    for count in (2, 1):
        name = "/".join(parts[:count])
        if len(parts) > count and name in FLOORS:
            return name, FLOORS[name]
    if parts[0] == "tensor" and (len(parts) == 2 or parts[1] in ("runtime", "profile")):
        return "tensor", 0 if Path(path).stem in GROUND else 1
    return None, None


def is_public(path):
    return path.endswith(".h") and in_public_folder(path)


def in_public_folder(path):
    parts = path.split("/")
    return "/".join(parts[:-1]) in PUBLIC_FOLDERS or (parts[0] in ROOMS_OF and "detail" not in parts)


def include_fault(source, target):
    """Why `source` may not include `target`, both relative to the tree; None if it may."""
    here, floor = (FRONTS[source], FLOORS[FRONTS[source]]) if source in FRONTS else folder_and_floor(source)
    there, target_floor = folder_and_floor(target)
    if there is None:
        return "is in no known folder"
    if (here, target) in DERIVED:
        return None
    if there in DEVICE_FOLDERS and here not in (there, "tests", "benchmarks", "emulator"):
        return f"belongs to {there}, which nobody includes"
    if here == there or (here == "tensor" and there == "tensor"):
        return "is on a higher floor" if target_floor > floor else None
    if here == "tensor/kernels" and target_floor != 0:
        return "is unknown to kernels: only floor 0 (error, device, dtype, shape) is"
    if here == "data" and there == "autograd":
        return "is unknown to data: it knows only tensor"
    if target_floor > floor:
        return f"is on floor {target_floor}, above floor {floor}"
    if target_floor == floor:
        return f"is a sibling of {here} on floor {floor}"
    return None


def includes(text):
    return [(match.group(1), match.group(2)) for match in INCLUDE.finditer(text)]


def find_devices(tree):
    for name in DEVICE_FOLDERS:
        FLOORS.pop(name)
    DEVICE_FOLDERS.clear()
    DEVICE_FOLDERS.update(f"tensor/{path.parent.name}" for path in tree.glob("tensor/*/*_backend.h")
                        if path.name == f"{path.parent.name}_backend.h")
    FLOORS.update(dict.fromkeys(DEVICE_FOLDERS, DEVICE_FLOOR))


def check(tree):
    """All faults of a tree, one line each."""
    faults, texts = [], {}
    find_devices(tree)
    for folder in FOLDERS:
        for file in sorted((tree / folder).rglob("*")):
            if file.suffix in SUFFIXES | {".py", ".sh", ".cmake"} and file.is_file():
                texts[file.relative_to(tree).as_posix()] = file.read_text(encoding="utf-8")
    for path, text in texts.items():
        lines = text.count("\n")
        if lines > MAX_LINES:
            faults.append(f"{path}: {lines} lines; the hard stop is {MAX_LINES}")
        if Path(path).suffix not in SUFFIXES:
            continue
        if path not in GENERATED and (found := LONG_COMMENT.search(text)):
            faults.append(f"{path}:{text.count(chr(10), 0, found.start()) + 1}: a comment beyond 120 columns")
        here, _ = folder_and_floor(path)
        if here is None:
            faults.append(f"{path}: is in no known folder")
            continue
        if here != "tensor/kernels" and CUDA_CONDITION.search(text):
            faults.append(f"{path}: a CUDA conditional outside tensor/kernels")
        for quote, name in includes(text):
            if name.startswith("minnow/"):
                target = name.removeprefix("minnow/")
                if target == "minnow.h":
                    if here not in ("examples", "tests", "benchmarks", "tools"):
                        faults.append(f"{path}: includes the umbrella")
                elif target not in texts:
                    faults.append(f"{path}: includes {name}, which does not exist")
                elif fault := include_fault(path, target):
                    faults.append(f"{path}: includes {name}, which {fault}")
            elif quote == '"' and here not in ("examples", "tests", "emulator", "benchmarks"):
                faults.append(f'{path}: includes "{name}"; write <minnow/...>')
    headers = [path for path in texts if path.endswith(".h")]
    faults += [f"{path}: no header of its name stands beside it" for path in texts
               if path.endswith(".cpp") and in_public_folder(path) and not has_header(path, headers)]
    return faults + library_faults(texts)


def has_header(path, headers):
    """Whether a source stands beside a header: x.h, detail/x.h, or as x_more.cpp beside x.h; tensor_x.cpp has members of
    Tensor."""
    folder, stem = path.rsplit("/", 1)[0], Path(path).stem
    floor = folder.split("/")[0]
    beside = {Path(h).stem for h in headers if h.rsplit("/", 1)[0] in (folder, f"{folder}/detail", f"{floor}/detail")}
    return any(stem == name or stem.startswith(name + "_") for name in beside | {"tensor"})


def library_faults(texts):
    """Includes of libraries that reach a user of the public headers, directly or through other headers."""
    faults, waiting = [], sorted(filter(is_public, texts))
    seen = set(waiting)
    while waiting:
        current = waiting.pop()
        for _, name in includes(texts[current]):
            target = name.removeprefix("minnow/")
            if LIBRARIES.match(name) and not current.startswith("tensor/kernels/"):
                faults.append(f"{current}: includes <{name}>, which reaches every user of the public headers")
            if name != target and target in texts and target not in seen:
                seen.add(target)
                waiting.append(target)
    return faults


GOOD = {
    "tensor/error.h": "#include <string>\n",
    "tensor/tensor.h": "#include <minnow/tensor/error.h>\n",
    "tensor/kernels/unary.h": "#ifdef __CUDACC__\n#endif\n#include <minnow/tensor/error.h>\n",
    "tensor/backend/backend.h": "#include <minnow/tensor/tensor.h>\n",
    "tensor/cpu/products/matmul.cpp": "#include <dnnl.hpp>\n#include <minnow/tensor/cpu/runtime/reference.h>\n",
    "tensor/cpu/runtime/reference.h": "#include <minnow/tensor/backend/backend.h>\n",
    "tensor/cpu/cpu_backend.h": "#include <minnow/tensor/backend/backend.h>\n",
    "tensor/sim/sim_backend.h": "#include <minnow/tensor/cpu/cpu_backend.h>\n",
    "tensor/raw/unary.h": "#include <minnow/tensor/backend/backend.h>\n",
    "tensor/create.h": "",
    "tensor/create.cpp": "#include <minnow/tensor/raw/unary.h>\n",
    "tensor/io/file.h": "#include <minnow/tensor/raw/unary.h>\n",
    "ops/add.h": "#include <minnow/autograd/node.h>\n",
    "autograd/gradcheck.h": "",
    "autograd/gradcheck.cpp": "#include <minnow/ops/add.h>\n",
    "autograd/node.h": "#include <minnow/tensor/raw/unary.h>\n",
    "nn/module/module.h": "#include <minnow/autograd/node.h>\n",
    "tests/tensor/unary_test.cpp": '#include "support/cases.h"\n#include <minnow/tensor/cpu/runtime/reference.h>\n',
    "examples/mnist.cpp": "#include <minnow/minnow.h>\n",
}
BAD = [
    ("tensor/error.h", "\n/// " + 30 * "long " + "\n", "error.h:2: a comment beyond 120 columns"),
    ("tensor/error.h", "#include <minnow/tensor/tensor.h>\n", "higher floor"),
    ("tensor/tensor.h", "#include <minnow/tensor/raw/unary.h>\n", "above floor 1"),
    ("tensor/kernels/bad.h", "#include <minnow/tensor/tensor.h>\n", "unknown to kernels"),
    ("tensor/raw/tensor_bad.cpp", "#include <minnow/tensor/cpu/runtime/reference.h>\n", "nobody includes"),
    ("tensor/sim/bad.cpp", "#include <minnow/tensor/cpu/runtime/reference.h>\n", "nobody includes"),
    ("tensor/raw/tensor_bad.cpp", "#include <minnow/tensor/cpu/cpu_backend.h>\n", "nobody includes"),
    ("tensor/tensor_bad.cpp", "#include <minnow/tensor/raw/unary.h>\n", "above floor 1"),
    ("tensor/create.cpp", "#include <minnow/tensor/io/file.h>\n", "above floor 3"),
    ("autograd/tensor_bad.cpp", "#include <minnow/ops/add.h>\n", "above floor 4"),
    ("tensor/tensor_bad.cpp", "#include <minnow/autograd/node.h>\n", "above floor 1"),
    ("autograd/tensor_bad.cpp", "#include <minnow/nn/module/module.h>\n", "above floor 4"),
    ("tensor/raw/tensor_bad.cpp", "#include <minnow/tensor/io/file.h>\n", "above floor 3"),
    ("optim/bad.h", "#include <minnow/nn/module/module.h>\n", "sibling"),
    ("data/bad.h", "#include <minnow/autograd/node.h>\n", "knows only tensor"),
    ("autograd/bad.h", "#include <minnow/ops/add.h>\n", "above floor 4"),
    ("autograd/bad.h", "#include <minnow/nn/module/module.h>\n", "above floor 4"),
    ("nn/bad.h", "#include <minnow/minnow.h>\n", "umbrella"),
    ("nn/bad.h", '#include "module.h"\n', "write <minnow/...>"),
    ("nn/bad.h", "#include <minnow/nn/gone.h>\n", "does not exist"),
    ("nn/bad.h", "#include <fmt/format.h>\n", "reaches every user"),
    ("tensor/backend/backend.h", "#include <dnnl.hpp>\n", "reaches every user"),
    ("autograd/tensor_bad.cpp", "#if defined(MINNOW_CUDA)\n#endif\n", "CUDA conditional"),
    ("nn/lost.cpp", "", "no header"),
    ("tensor/strange/bad.h", "", "no known folder"),
    ("tensor/backend/bad.h", "#include <minnow/tensor/sim/sim_backend.h>\n", "nobody includes"),
    ("tests/long.cpp", "\n" * 601, "601 lines"),
]


def self_test():
    with tempfile.TemporaryDirectory() as name:
        for number, (path, text, expected) in enumerate([("nn/good.h", "", None), *BAD]):
            tree = Path(name) / str(number)
            for good_path, good_text in {**GOOD, path: text}.items():
                (tree / good_path).parent.mkdir(parents=True, exist_ok=True)
                (tree / good_path).write_text(good_text)
            faults = check(tree)
            if expected is None and faults:
                sys.exit(f"a good tree is refused: {faults}")
            if expected is not None and not (len(faults) == 1 and path in faults[0] and expected in faults[0]):
                sys.exit(f"{path} with {text!r}: expected one fault with '{expected}', found {faults}")
    print(f"found each of {len(BAD)} violations")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return
    faults = check(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
    print("\n".join(faults) if faults else "every file is on its floor")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()

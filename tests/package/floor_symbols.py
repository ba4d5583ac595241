#!/usr/bin/env python3
"""No object calls what is defined on a higher floor: the floors of check_floors.py, proven by symbols.

floor_symbols.py OBJECT...             checks the objects of the library, whose paths end in .dir/SOURCE.o, or are of joined
                                       sources, which must stand on one floor
floor_symbols.py --self-test COMPILER  sees that calls upwards are found, in tables and in compiled sources

Includes do not show a function that a low header declares and a high source defines; the linker does not either, as long as
it has both. So: handle and runtime need no backend; kernels, backends and what computes on them need no files; and so on up.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import check_floors  # noqa: E402

# What devices give to those below them, and the lowest floor that may call it: the table of devices, ranges of a profile.
GIVEN = {re.compile(r"minnow::(detail::\w+_backend\(\)|cuda::why_not)"): 2,
         re.compile(r"minnow::profile::detail::(push|pop)_range\("): 1}
ROOT = Path(__file__).resolve().parent.parent.parent
JOINED = {}  # {joined source: those that it includes}


def place(source):
    """Its folder and floor. autograd and ops need each other, and are one."""
    if source in JOINED:
        places = {place(one) for one in JOINED[source]}
        if len(places) != 1:
            sys.exit(f"{source} joins sources of several floors, {', '.join(JOINED[source])}: see cmake/MinnowOptions.cmake")
        return places.pop()
    if source in check_floors.FRONTS:
        folder = check_floors.FRONTS[source]
        floor = check_floors.FLOORS[folder]
    else:
        folder, floor = check_floors.folder_and_floor(source)
    return ("ops", check_floors.FLOORS["ops"]) if folder == "autograd" else (folder, floor)


def read(objects):
    """{source: (symbols that it defines, symbols that it needs)}; inline functions are defined nowhere."""
    names = subprocess.run(["nm", "-A", "-C", "--format=posix", *objects], check=True, capture_output=True, text=True).stdout
    table = {}
    for line in names.splitlines():
        found = re.match(r"(.*\.dir/(?:\./)?(.*?)\.o): (.*) ([A-Za-z])(?: [0-9a-f]+)* *$", line)
        if not found:
            continue
        path, source, name, kind = found.groups()
        if "/Unity/" in path:
            source = path.removesuffix(".o")
            if source not in JOINED:
                text = Path(source).read_text(encoding="utf-8")
                JOINED[source] = re.findall(rf'#include "{re.escape(str(ROOT))}/(.*)"', text)
        defined, needed = table.setdefault(source, (set(), set()))
        if kind == "U":
            needed.add(name)
        elif kind in "TDBR":
            defined.add(name)
    return table


def check(table):
    """All faults, one line each, and how many calls lead from one folder to another."""
    definers = {}
    for source, (defined, _) in table.items():
        for name in defined:
            definers.setdefault(name, source)
    faults, calls = [], 0
    for source, (_, needed) in sorted(table.items()):
        folder, floor = place(source)
        for name in sorted(needed & definers.keys()):
            target = definers[name]
            there, target_floor = place(target)
            calls += there != folder
            if target_floor < floor or (there == folder and target_floor == floor):
                continue
            if any(floor >= lowest and given.match(name) for given, lowest in GIVEN.items()):
                continue
            relation = "above" if target_floor > floor else "beside"
            faults.append(f"{source} (floor {floor}) calls {name} of {target} ({there}, floor {target_floor}), which is {relation} it")
    return faults, calls


TABLE = {
    "tensor/storage.cpp": ({"storage"}, {"error"}),
    "tensor/error.cpp": ({"error"}, {"printf"}),
    "tensor/create.cpp": ({"zeros"}, {"storage", "copy"}),
    "tensor/raw/copy.cpp": ({"copy"}, {"storage", "backend_of"}),
    "tensor/backend/devices.cpp": ({"backend_of"}, {"minnow::detail::cpu_backend()"}),
    "tensor/cpu/runtime/device.cpp": ({"minnow::detail::cpu_backend()"}, {"storage"}),
    "tensor/io/load.cpp": ({"load"}, {"zeros", "copy"}),
    "autograd/engine.cpp": ({"backward"}, {"add"}),
    "ops/add.cpp": ({"add"}, {"backward", "zeros"}),
    "nn/linear.cpp": ({"linear"}, {"add"}),
    "optim/adam.cpp": ({"adam"}, {"copy"}),
}
BAD = [("tensor/error.cpp", "storage"), ("tensor/storage.cpp", "copy"), ("tensor/storage.cpp", "zeros"),
       ("tensor/storage.cpp", "backend_of"), ("tensor/storage.cpp", "minnow::detail::cpu_backend()"), ("tensor/backend/devices.cpp", "copy"), ("tensor/create.cpp", "load"),
       ("tensor/raw/copy.cpp", "load"), ("tensor/cpu/runtime/device.cpp", "copy"), ("tensor/io/load.cpp", "add"),
       ("ops/add.cpp", "linear"), ("nn/linear.cpp", "adam")]


def self_test(compiler):
    faults, _ = check(TABLE)
    if faults:
        sys.exit(f"a good table is refused: {faults}")
    for source, name in BAD:
        defined, needed = TABLE[source]
        faults, _ = check({**TABLE, source: (defined, needed | {name})})
        if len(faults) != 1 or f"{source} " not in faults[0] or f" calls {name} " not in faults[0]:
            sys.exit(f"{source} calls {name}: expected this fault alone, found {faults}")
    with tempfile.TemporaryDirectory() as folder:
        objects = []
        for source, text in (("tensor/storage.cpp", "namespace raw { void copy(); }\nvoid storage() { raw::copy(); }\n"),
                             ("tensor/raw/copy.cpp", "namespace raw { void copy() {} }\n")):
            path = Path(folder) / "x.dir" / source
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            objects.append(f"{path}.o")
            subprocess.run([*compiler, "-c", str(path), "-o", objects[-1]], check=True)
        faults, _ = check(read(objects))
        if len(faults) != 1 or "tensor/storage.cpp (floor 1) calls raw::copy()" not in faults[0]:
            sys.exit(f"the call upwards of two compiled sources: found {faults}")
    print(f"found each of {len(BAD) + 1} calls upwards")


def main():
    check_floors.find_devices(ROOT)
    if sys.argv[1:2] == ["--self-test"]:
        self_test(sys.argv[2:])
        return
    table = read([path for path in sys.argv[1:] if path.endswith(".o")])  # not precompiled headers
    faults, calls = check(table)
    print("\n".join(faults))
    print(f"{len(table)} sources, {calls} calls from folder to folder, {len(faults)} of them to a higher floor")
    sys.exit(1 if faults or calls < 1000 else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""ptxas_test.py LOG: what ptxas says (-Xptxas=-v) of the kernels in the log of a build from scratch for an H100 (sm_90), beside
ptxas.txt.  Of each kernel, over the instances of its template: the most registers of a thread, its stack, what does not
fit into registers (spills), and the shared memory of a block, in bytes.  None may need more than the table says, and none
may spill where bandwidth counts.  (256 threads always have enough registers; a kernel for more says so to ptxas.)
MINNOW_ACCEPT=1 writes the table."""

import os
import re
import sys
from pathlib import Path

TABLE = Path(__file__).resolve().parent / "ptxas.txt"
ROOM = 8  # registers that another nvcc may use more
BY_BANDWIDTH = re.compile(r"update|reduce|softmax|norm|unary|binary|slope|ternary|copy|elementwise|gradients|dense|strided")
KERNEL = re.compile(r"Compiling entry function '(\w+)' for 'sm_90'.*?(\d+) bytes stack frame, (\d+) bytes spill stores.*?"
                    r"Used (\d+) registers([^\n]*)", re.DOTALL)


def name_of(symbol):
    """The kernel of a symbol, _ZN6minnow4cuda<n><namespace><m><kernel>I..., with its file if it is in one's own namespace."""
    space = re.match(r"_ZN6minnow4cuda", symbol)
    if not space:
        return None
    names, at = [], space.end()
    while length := re.match(r"\d+", symbol[at:]):
        at += length.end() + int(length.group())
        names.append(symbol[at - int(length.group()):at])
    own = re.match(r"_GLOBAL__N__[0-9a-f]+_\d+_(\w+?)_cu_", names[0]) if names else None
    return f"{own.group(1)}.{names[-1]}" if own else names[-1] if names else None


def measured(log):
    most = {}
    for symbol, stack, spills, registers, rest in KERNEL.findall(log):
        name = name_of(symbol)
        shared = re.search(r"(\d+) bytes smem", rest)
        numbers = (int(registers), int(stack), int(spills), int(shared.group(1)) if shared else 0)
        if name:
            most[name] = tuple(map(max, most.get(name, numbers), numbers))
    return most


def main():
    most = measured(Path(sys.argv[1]).read_text(encoding="utf-8", errors="replace"))
    if os.environ.get("MINNOW_ACCEPT"):
        rows = [f"{name:<48}" + "".join(f"{n:>10}" for n in numbers) for name, numbers in sorted(most.items())]
        TABLE.write_text("\n".join([f"{'kernel':<48} registers     stack    spills    shared", *rows]) + "\n", encoding="utf-8")
    table = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines()[1:]:
        name, *numbers = line.split()
        table[name] = tuple(map(int, numbers))
    wrong = [f"{name} is not in ptxas.txt" for name in sorted(most.keys() - table.keys())]
    wrong += [f"{name} of ptxas.txt was not compiled: build from scratch" for name in sorted(table.keys() - most.keys())]
    for name, numbers in sorted(most.items()):
        registers, _, spills, _ = numbers
        allowed = table.get(name, numbers)
        if registers > allowed[0] + ROOM or any(n > limit for n, limit in zip(numbers[1:], allowed[1:])):
            wrong.append(f"{name} needs {numbers} (registers, stack, spills, shared); ptxas.txt says {allowed}")
        if spills and BY_BANDWIDTH.search(name):
            wrong.append(f"{name} spills {spills} bytes")
    print("\n".join(wrong) if wrong else f"{len(most)} kernels are as in ptxas.txt")
    sys.exit(1 if wrong or not most else 0)


if __name__ == "__main__":
    main()

"""How sweep.py's functions are described, and the C++ sources that are written from it.

    python3 table.py --write FOLDER PARTS       FOLDER/functions_0.cpp ... and FOLDER/all.cpp

A function has expressions in C++ and in Python, kinds of inputs, and cases.  A case is a text: the shapes of the
inputs, "|", and numbers that the expressions read as n[0], n[1], ...; "64x1000/t 1000 | 2".  Layouts: /t transposed,
/n channels last, /s every second element, /b broadcast from one row.  Cases with a star are run in all dtypes, the
others in the first one.
"""

import pathlib
import re
import sys
from dataclasses import dataclass, field

FLOATS = ("float32", "float64", "bfloat16", "float16")
WIDE = ("float32", "float64")  # what linear algebra and transforms take
NUMBERS = (*FLOATS, "int64", "uint8")
ALL = (*NUMBERS, "bool")
INTEGERS = ("int64", "uint8", "bool")
# What these kinds of inputs are made of, whatever the dtype of the row is.
FIXED = {"index": "int64", "place": "int64", "perm": "int64", "const": "int64", "mask": "bool"}
# Inputs that no gradient goes to.
PLAIN = ("sign", "sorted", *FIXED)


@dataclass
class Shapes:
    """Cases for functions of a class, and one at ten times its size, "SMALL -> LARGE : BOUND": how many times as long
    it may take (13 if none).  Without it, the first case with a star of a function of one input, and ten times its
    first size.
    """

    cases: str
    growth: str = ""
    fixed: bool = False  # the first size cannot be another


@dataclass
class Function:
    name: str          # as in docs/operations.md; "sum/rows" is a second form of sum
    inputs: list       # (name, kind) each; a kind may have a parameter, "index(x,0)": the size of a dimension of x
    cpp: str
    torch: str
    shapes: Shapes
    dtypes: tuple = FLOATS
    backward: bool = True
    # or "none": random, or signs are free; "size": magnitudes only; "wide": of float32 and float64 only
    check: str = "values"
    layer: str = ""        # makes the module `layer`, in C++
    torch_layer: str = ""


FUNCTIONS = {}


def add(name, inputs, shapes, cpp="", torch="", layer="", torch_layer="", **more):
    kinds = [(part.split(":") + ["any"])[:2] for part in inputs.split()]
    names = ", ".join(n for n, _ in kinds)
    plain = name.partition("/")[0]
    if layer:
        cpp, torch = cpp or f"layer({names})", torch or f"layer({names})"
    cpp = cpp or f"{plain}({names})"
    torch = torch or f"torch.{plain.removeprefix('nn::').replace('::', '.')}({names})"
    assert name not in FUNCTIONS, name
    FUNCTIONS[name] = Function(name, kinds, cpp, torch, shapes, layer=layer, torch_layer=torch_layer, **more)


@dataclass
class Row:
    """What is timed, but for the number of threads."""

    function: str
    direction: str
    dtype: str
    numbers: list
    inputs: list = field(default_factory=list)  # (kind, parameter, shape, layout, dtype, grad)
    case: str = ""

    def request(self):
        words = [self.function, self.direction, self.dtype, len(self.numbers), *self.numbers, len(self.inputs)]
        for spec in self.inputs:
            words += spec
        return " ".join(map(str, words))


def sizes(shape):
    return [] if shape == "-" else [int(n) for n in shape.split("x")]


def parameter(kind, f, shapes, numbers):
    """index(x,0), index(#1), index(10) -> 'index' and a number."""
    name, _, argument = kind.partition("(")
    argument = argument.rstrip(")")
    if not argument:
        return name, 0
    if argument[0] == "#":
        return name, numbers[int(argument[1:])]
    if argument[0].isalpha():
        operand, _, dim = argument.partition(",")
        return name, sizes(shapes[[n for n, _ in f.inputs].index(operand)])[int(dim)]
    return name, float(argument)


def row(f, case, dtype, direction):
    text, _, numbers = case.strip().lstrip("*").partition("|")
    numbers = [int(n) for n in numbers.split()]
    places = [place.partition("/") for place in text.split()]
    if len(places) == 1:
        places *= len(f.inputs)
    places = places[:len(f.inputs)]
    made = Row(f.name, direction, dtype, numbers, case=case.strip().lstrip("*"))
    for (_, kind), (shape, _, layout) in zip(f.inputs, places, strict=True):
        kind, argument = parameter(kind, f, [p[0] for p in places], numbers)
        own = FIXED.get(kind, dtype)
        grad = direction == "backward" and kind not in PLAIN and own in FLOATS
        made.inputs.append((kind, argument, shape, layout or "c", own, int(grad)))
    return made


def more_cases(f, case):
    """Other batches and layouts of a case: one sample, three, four times as many; layouts of the first input."""
    text, bar, numbers = case.strip().lstrip("*").partition("|")
    places = text.split()
    if not places or places[0] == "-" or "/" in text:
        return
    first, *others = places[0].split("x")
    if len(places) == len(f.inputs) == 1 and not f.shapes.fixed:
        for size in (int(first) * 4, 1, 3):
            yield "x".join([str(size), *others]) + bar + numbers
    if len(places) == 1:
        places *= len(f.inputs)
    for layout in ("t" if others else "", "s", "n" if len(others) > 2 else ""):
        if layout:
            yield " ".join([f"{places[0]}/{layout}", *places[1:]]) + bar + numbers


def cases_of(f):
    """The cases of a function, and others like one of them, so that there are eight if possible."""
    cases = f.shapes.cases.strip().splitlines()
    base = next((case for case in cases if case.strip().startswith("*")), cases[-1])
    for case in more_cases(f, base):
        known = [c.strip().lstrip("*") for c in cases]
        if len(cases) < 8 and case not in known:
            cases.append(case)
    return cases


def rows(f, quick=False):
    """All rows of a function, or few small ones."""
    found = []
    cases = cases_of(f)
    for case in cases[:2] if quick else cases:
        for dtype in f.dtypes if case.strip().startswith("*") and not quick else f.dtypes[:1]:
            for direction in ("forward", "backward") if f.backward and dtype in FLOATS else ("forward",):
                found.append(row(f, case, dtype, direction))
    return found


def growth(f):
    """Pairs of rows of which the second has ten times the size, and how many times as long it may take."""
    pairs, lines = [], f.shapes.growth.strip().splitlines()
    if not lines and len(f.inputs) == 1:  # ten times the first size
        case = next((c.strip().lstrip("*") for c in f.shapes.cases.splitlines() if c.strip().startswith("*")), "")
        if case and "/" not in case:
            first = re.match(r"\d+", case).group()
            lines = [f"{case} -> {int(first) * 10}{case[len(first):]}"]
    for line in lines:
        cases, _, bound = line.partition(":")
        small, large = cases.split("->")
        for direction in ("forward", "backward") if f.backward and f.dtypes[0] in FLOATS else ("forward",):
            pairs.append((row(f, small, f.dtypes[0], direction), row(f, large, f.dtypes[0], direction),
                          float(bound or 13)))
    return pairs


HEAD = """// Written by benchmarks/sweep/table.py.
#include "sweep/sweep.h"

namespace sweep {
using namespace minnow;
namespace {
"""


def source(part, functions):
    """The C++ source with some of the functions."""
    lines, names = [HEAD], []
    for number, f in enumerate(functions):
        own = f"prepare_{number}"
        names.append(f'    {{"{f.name}", {own}}},')
        lines.append(f"Prepared {own}([[maybe_unused]] const Inputs& inputs) {{")
        lines.append("  [[maybe_unused]] const Numbers n = inputs.numbers;")
        lines.append("  [[maybe_unused]] const DType dtype = inputs.dtype;")
        lines += [f"  const Tensor {name} = inputs.tensors[{i}];" for i, (name, _) in enumerate(f.inputs)]
        module = ""
        if f.layer:
            lines.append(f"  auto layer = {f.layer};")
            module = ", std::make_shared<decltype(layer)>(layer)"
        lines.append(f"  return {{[=]() mutable {{ return outputs({f.cpp}); }}{module}}};")
        lines.append("}\n")
    lines += ["constexpr Function kFunctions[] = {", *names, "};", "}  // namespace",
              f"std::span<const Function> functions_{part}() {{ return kFunctions; }}", "}  // namespace sweep"]
    return "\n".join(lines) + "\n"


def write(folder, parts):
    folder.mkdir(parents=True, exist_ok=True)
    functions = list(FUNCTIONS.values())
    texts = {f"functions_{i}.cpp": source(i, functions[i::parts]) for i in range(parts)}
    calls = ", ".join(f"functions_{i}()" for i in range(parts))
    declared = "\n".join(f"std::span<const Function> functions_{i}();" for i in range(parts))
    texts["all.cpp"] = (f'#include "sweep/sweep.h"\n\nnamespace sweep {{\n{declared}\n'
                        f"std::vector<std::span<const Function>> all_functions() {{ return {{{calls}}}; }}\n}}\n")
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:  # or ninja compiles all of them again
            path.write_text(text)


if __name__ == "__main__":
    # This module again, by its name: the tables add to that one.
    import table
    import layers  # noqa: F401
    import operations  # noqa: F401
    import operations_of_parts  # noqa: F401
    assert sys.argv[1] == "--write"
    table.write(pathlib.Path(sys.argv[2]), int(sys.argv[3]))

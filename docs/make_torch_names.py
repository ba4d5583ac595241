#!/usr/bin/env python3
"""Writes docs/torch-names.md: for each of PyTorch's names, whether minnow has it.

make_torch_names.py                       writes the page, from docs/torch-names.txt and the headers
make_torch_names.py --check               fails when the page is not what it would write, or torch-names-map.txt is wrong
make_torch_names.py --torch-python PYTHON writes docs/torch-names.txt first, with a Python that has PyTorch
make_torch_names.py --self-test           sees that a wrong map is found

docs/torch-names-map.txt is written by hand: names that are others here, and why others are not here.
"""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import headers

HERE = Path(__file__).resolve().parent
NAMES, MAP, PAGE = HERE / "torch-names.txt", HERE / "torch-names-map.txt", HERE / "torch-names.md"

# Where a name of a module of PyTorch is looked for: namespaces of minnow, "x." for the methods of Tensor.
PLACES = {
    "torch": ["", "x.", "nn", "linalg"],
    "torch.Tensor": ["x.", "", "linalg"],
    "torch.nn.functional": ["", "nn", "x."],
    "torch.nn": ["nn"],
    "torch.nn.init": ["nn::init"],
    "torch.nn.utils": ["nn", "nn::utils", "optim"],
    "torch.nn.utils.parametrizations": ["nn", "nn::utils"],
    "torch.nn.utils.rnn": ["nn", "nn::utils"],
    "torch.utils.checkpoint": ["", "nn"],
    "torch.optim": ["optim"],
    "torch.optim.lr_scheduler": ["optim"],
    "torch.optim.swa_utils": ["optim"],
    "torch.linalg": ["linalg", "", "x."],
    "torch.fft": ["", "fft"],
    "torch.special": ["special", "", "x."],
    "torch.distributions": ["distributions"],
    "torch.utils.data": ["data"],
    "torch.autograd": [""],
}

WALK = """
import importlib, sys, types, torch
print("# PyTorch", torch.__version__.split("+")[0])
for module in sys.argv[1:]:
    owner = torch.Tensor if module == "torch.Tensor" else importlib.import_module(module)
    names = set(getattr(owner, "__all__", None) or dir(owner))
    if module in ("torch", "torch.nn"):  # whose __all__ is not complete
        names |= {n for n in dir(owner) if (getattr(getattr(owner, n), "__module__", None) or "").startswith("torch")}
    print("[%s]" % module)
    for name in sorted(names):
        value = getattr(owner, name, None)
        of = getattr(value, "__module__", None) or ""
        imported = isinstance(value, types.ModuleType) or of.split(".")[0] in ("typing", "typing_extensions", "collections")
        if not name.startswith("_") and not imported and name not in ("TYPE_CHECKING", "annotations"):
            if module != "torch.nn.functional" or callable(value) and name[0].islower():
                print(name)
"""


def walk(python):
    text = subprocess.run([python, "-W", "ignore", "-c", WALK, *PLACES], capture_output=True, text=True, check=True).stdout
    lines, names = [], []
    for line in [*text.splitlines(), "["]:
        if line.startswith(("[", "#")):
            lines += textwrap.wrap(" ".join(names), 120, break_on_hyphens=False) + [line] * (line != "[")
            names = []
        else:
            names.append(line)
    NAMES.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_names():
    """PyTorch's version, and the names of each module."""
    text = NAMES.read_text(encoding="utf-8")
    version = re.match(r"# PyTorch (\S+)", text).group(1)
    modules = {}
    for part in re.split(r"^\[", text, flags=re.M)[1:]:
        module, _, names = part.partition("]")
        modules[module] = names.split()
    return version, modules


class Minnow:
    """What minnow declares."""

    def __init__(self):
        self.names = {e.qualified for e in headers.entities()}
        self.methods = headers.methods()

    def has(self, name):
        return name[2:] in self.methods if name.startswith("x.") else name in self.names

    def find(self, places, name):
        for place in places:
            whole = place + name if place in ("", "x.") else f"{place}::{name}"
            if self.has(whole):
                return whole
        return None


class Map:
    """The hand-written table.  NAME = OURS [; REMARK]; * NAME = OURS for an alias in torch, torch.Tensor and their forms in
    place; ! REASON: PATTERN... why names are not here."""

    def __init__(self, text):
        self.exact, self.aliases, self.reasons = {}, {}, []
        for number, line in enumerate(text.splitlines(), 1):
            line = line.split("#")[0].strip()
            if not line:
                continue
            if line.startswith("!"):
                reason, _, patterns = line[1:].rpartition(": ")
                self.reasons.append((reason.strip(), patterns.split()))
            elif " = " in line:
                name, _, ours = line.partition(" = ")
                target = self.aliases if name.startswith("*") else self.exact
                name = name.lstrip("* ")
                if name in target:
                    sys.exit(f"torch-names-map.txt:{number}: {name} has two lines")
                target[name] = [part.strip() for part in ours.partition(";")[::2]]
            else:
                sys.exit(f"torch-names-map.txt:{number}: not a line of the map: {line}")


FUNCTIONS = ("torch", "torch.Tensor", "torch.nn.functional", "torch.special")


def sorted_out(modules, minnow, table):
    """For each module its names in groups: same, other [(name, ours, remark)], absent {reason: names}; and the faults."""
    faults, used, result = [], set(), {}
    for module, names in modules.items():
        same, other, absent = [], [], {}
        for name in names:
            whole = f"{module}.{name}"
            found = minnow.find(PLACES[module], name)
            bare, tail = (name[:-1], "_") if name.endswith("_") and not name.endswith("__") else (name, "")
            ours = remark = None
            if whole in table.exact:
                used.add(whole)
                ours, remark = table.exact[whole]
                if not minnow.has(ours):
                    faults.append(f"{whole} = {ours}: no public header declares minnow::{ours}")
                if found and found.startswith("x.") == (module == "torch.Tensor") and found.endswith(name):
                    faults.append(f"{whole} = {ours}: minnow has {found} now; take the line out")
                other.append((name, ours, remark))
            elif found:
                if found.startswith("x.") == (module == "torch.Tensor") and (module != "torch" or found == name):
                    same.append(name)
                else:
                    other.append((name, found, "" if "::" in found else "a method" if found[:2] == "x." else "a function"))
            elif bare in table.aliases and module in FUNCTIONS:
                used.add(bare)
                ours = table.aliases[bare][0] + tail
                at = minnow.find(PLACES[module], ours)
                if at:
                    other.append((name, at, ""))
                elif tail:
                    absent.setdefault(IN_PLACE, []).append(name)
                else:
                    faults.append(f"* {bare} = {ours}: no public header declares minnow::{ours}")
            elif tail and (minnow.find(PLACES[module], bare) or bare in table.aliases):
                absent.setdefault(IN_PLACE, []).append(name)
            else:
                reason = next((r for r, patterns in table.reasons if any(re.fullmatch(p, whole) for p in patterns)), REST)
                used.add(reason)
                absent.setdefault(reason, []).append(name)
        result[module] = (same, other, absent)
    for name in [*table.exact, *table.aliases, *(reason for reason, _ in table.reasons)]:
        if name not in used:
            faults.append(f"{name}: no name of PyTorch needs this line of torch-names-map.txt")
    return result, faults


IN_PLACE = "the function is here, its form in place is not: assign the result, or `x.copy_(f(x))`"
REST = "not here yet"


def wrapped(names):
    return "\n".join(textwrap.wrap(" ".join(f"`{n}`" for n in names), 120, break_on_hyphens=False, break_long_words=False))


def page(version, result):
    rows, parts, totals = [], [], [0, 0, 0]
    for module, (same, other, absent) in result.items():
        counts = [len(same), len(other), sum(map(len, absent.values()))]
        totals = [a + b for a, b in zip(totals, counts)]
        anchor = re.sub(r"[^\w-]", "", module.lower())
        rows.append(f"| [`{module}`](#{anchor}) | {counts[0]} | {counts[1]} | {counts[2]} |")
        lines = [f"## {module}", ""]
        if same:
            lines += ["The same name:", "", wrapped(same), ""]
        if other:
            lines += ["Under another name, or in another form:", "", "| PyTorch | minnow | |", "|---|---|---|"]
            lines += [f"| `{name}` | `{ours}` | {remark} |" for name, ours, remark in other] + [""]
        for reason in sorted(absent, key=lambda r: (r == REST, r)):
            lines += [f"Not here ({reason}):", "", wrapped(absent[reason]), ""]
        parts.append("\n".join(lines))
    table = "\n".join(rows)
    text = "\n".join(parts).rstrip()
    return f"""# PyTorch's names

<!-- Written by docs/make_torch_names.py from the headers, docs/torch-names.txt and docs/torch-names-map.txt. -->

Which of the names of PyTorch {version} minnow has: with the same name, under another one, or not. `x.` stands for a method of
`Tensor`; other names are in the namespace `minnow`. What behaves differently is in
[differences-from-pytorch.md](differences-from-pytorch.md).

| module | same name | another name | not here |
|---|---|---|---|
{table}
| all | {totals[0]} | {totals[1]} | {totals[2]} |

{text}
"""


def written():
    version, modules = read_names()
    result, faults = sorted_out(modules, Minnow(), Map(MAP.read_text(encoding="utf-8")))
    return page(version, result), faults


def self_test():
    class Fixed:
        has = staticmethod({"exp", "nn::mse_loss", "x.exp", "stddev"}.__contains__)
        find = Minnow.find

    modules = {"torch": ["exp", "exp_", "std", "arcexp", "hspmm", "gone"], "torch.nn": ["MSELoss"]}
    good = "torch.std = stddev\n* arcexp = exp\ntorch.nn.MSELoss = nn::mse_loss ; a function\n! sparse: torch.hs.*\n"
    result, faults = sorted_out(modules, Fixed(), Map(good))
    want = {"torch": (["exp"], [("std", "stddev", ""), ("arcexp", "exp", "")],
                      {IN_PLACE: ["exp_"], "sparse": ["hspmm"], REST: ["gone"]}),
            "torch.nn": ([], [("MSELoss", "nn::mse_loss", "a function")], {})}
    if faults or result != want:
        sys.exit(f"faults {faults}, result {result}")
    bad = {"torch.std = sttdev": "sttdev", "torch.exp = stddev": "take the line out", "torch.nosuch = exp": "no name of PyTorch",
           "! nothing: torch.zzz": "no name of PyTorch", "* arcexp = arc": "minnow::arc"}
    for line, text in bad.items():
        _, faults = sorted_out(modules, Fixed(), Map(line))
        if not any(text in fault for fault in faults):
            sys.exit(f"'{line}' is not refused: {faults}")
    print("wrong maps are found")


def main():
    arguments = sys.argv[1:]
    if "--self-test" in arguments:
        return self_test()
    if "--torch-python" in arguments:
        walk(arguments[arguments.index("--torch-python") + 1])
    text, faults = written()
    if faults:
        sys.exit("\n".join(faults))
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
        return
    if "--check" in arguments:
        sys.exit("docs/torch-names.md: not up to date; run docs/make_torch_names.py")
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Every public function has a row in the tables of tests/ops.

check_cases.py PROGRAM      compares the functions that the headers declare with those that PROGRAM has tests of
check_cases.py --self-test  sees that a function without a row is found
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
# Headers whose functions of the namespace minnow are public, and those with members of Tensor.
HEADERS = ["ops/*.h", "ops/*/*.h", "tensor/create.h", "nn/losses/*.h"]
MEMBERS = ["tensor/tensor.h", "tensor/index.h"]
# Functions that need no row, with the reason.
EXEMPT = {
    "grad": "accessor of autograd, not an operation", "from_blob": "takes host memory; tests/tensor/create_test.cpp",
    "cuda": "needs a GPU; tests/tensor/transfer_test.cpp", "pin_memory": "needs a GPU; tests/tensor/transfer_test.cpp",
}

RESULT = r"(?:[A-Z]\w*|bool|std::vector<Tensor>|std::tuple<[^>]*>)"
FUNCTION = re.compile(r"^(?:\[\[nodiscard\]\] )?(?:inline )?" + RESULT + r" (\w+)\(", re.M)
MEMBER = re.compile(r"^  (?:template <[^\n]*> )?(?:\[\[nodiscard\]\] )?(?:inline )?"
                    r"(?:Tensor|Selection) (\w+)\([^;{]*\) const(?:;| \{)", re.M)
PRIVATE = re.compile(r"^ private:.*?^};", re.M | re.S)
INTERNAL = re.compile(r"namespace (?:raw|detail|autograd|minnow::autograd|minnow::raw) \{.*?^\}  // namespace",
                      re.M | re.S)


def declared(texts, pattern):
    names = set()
    for text in texts:
        names |= {name for name in pattern.findall(INTERNAL.sub("", text)) if not name.startswith("operator")}
    return names


def public_functions():
    def read(patterns):
        paths = []
        for pattern in patterns:
            found = [path for path in sorted(ROOT.glob(pattern)) if path.parent.name != "detail"]
            if not found:
                sys.exit(f"there are no headers {pattern}: say in check_cases.py where the functions are declared")
            paths += found
        return [path.read_text(encoding="utf-8") for path in paths]

    functions = declared(read(HEADERS), FUNCTION)
    members = declared([PRIVATE.sub("};", text) for text in read(MEMBERS)], MEMBER)
    if "all" not in functions:  # an object that is called
        functions.add("all")
    return functions | members


def tested_functions(program):
    listed = subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, check=True).stdout
    return {line.rstrip(".") for line in listed.splitlines() if line.endswith(".") and not line.startswith(" ")}


def faults(public, tested):
    found = [f"{name} has no row in tests/ops: add one (support/op_cases.h shows how)"
             for name in sorted(public - tested - EXEMPT.keys())]
    found += [f"{name} is exempt, but is not a public function" for name in sorted(EXEMPT.keys() - public)]
    found += [f"{name} is exempt, but has a row" for name in sorted(EXEMPT.keys() & tested)]
    return found


def self_test():
    header = """
namespace minnow {
/// e^x.
[[nodiscard]] Tensor exp(const In& x);
Tensor exp_(const In& x);
[[nodiscard]] inline Tensor operator-(const In& x) { return neg(x); }
[[nodiscard]] inline Tensor clamp_min(const In& x, double low) { return clamp(x, low); }
[[nodiscard]] std::vector<Tensor> split(const In& x, std::int64_t size, int dim = 0);
namespace raw {
Tensor hidden(const In& x);
}  // namespace raw
}  // namespace minnow
"""
    names = declared([header], FUNCTION)
    if names != {"exp", "exp_", "clamp_min", "split"}:
        sys.exit(f"found {sorted(names)}")
    found = faults(names | set(EXEMPT), names - {"exp_"})
    if found != ["exp_ has no row in tests/ops: add one (support/op_cases.h shows how)"]:
        sys.exit("a function without a row is not found")
    print("a function without a row is found")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return
    public, tested = public_functions(), tested_functions(sys.argv[1])
    found = faults(public, tested)
    print("\n".join(found) if found else f"all of {len(public)} public functions have rows")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()

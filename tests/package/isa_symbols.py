#!/usr/bin/env python3
"""isa_symbols.py VARIANT... -- OBJECT...: no object of an instruction set has a weak symbol outside of its variant's namespace.

The linker keeps one copy of a weak symbol. If it kept the AVX-512 copy of, say, std::max<float>, every machine would run it.
The baseline's copies are what every machine can run.
The variant of an object is in its path, .../minnow_isa_VARIANT.dir/...
"""

import re
import subprocess
import sys


def weak_symbols(path):
    """The defined symbols that a linker may take from another object: (mangled, readable)."""
    mangled = subprocess.run(["nm", "--defined-only", path], check=True, capture_output=True, text=True).stdout
    names = [line.split()[-1] for line in mangled.splitlines() if len(line.split()) == 3 and line.split()[1] in "WwVvu"]
    plain = subprocess.run(["c++filt"], input="\n".join(names), check=True, capture_output=True, text=True).stdout
    return list(zip(names, plain.splitlines()))


def main():
    split = sys.argv.index("--")
    variants = sys.argv[1:split]
    objects = [path for path in sys.argv[split + 1:] if path.endswith(".o")]  # not precompiled headers
    faults, seen, weak = 0, set(), 0
    for path in objects:
        variant = re.search(r"minnow_(?:isa|own)_(\w+)\.dir", path).group(1)
        seen.add(variant)
        if variant == "baseline":
            continue
        own = f"{len(variant)}{variant}"  # how the namespace is mangled, wherever it stands in the name
        for name, readable in weak_symbols(path):
            weak += 1
            # DW.ref.* is a pointer to the personality routine: data, equal in every copy.
            if own not in name and not name.startswith("DW.ref."):
                faults += 1
                print(f"{path}: {readable}")
    if seen != set(variants):
        sys.exit(f"objects of {sorted(seen)}, expected {variants}")
    print(f"{len(objects)} objects, {weak} weak symbols, {faults} of them outside of their variant's namespace")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()

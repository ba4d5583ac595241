#!/usr/bin/env python3
"""completion.py FLAG...: what an editor offers after `minnow::` is declared in a header that is for users, and
docs/headers.py, from which the pages of docs/ are written, finds it there.

Asks clang's completion.  Exit status 77 (skipped) where clang is missing.
"""

import re
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# Namespaces of the library's own.
OWN = {"detail", "autograd"}


sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "docs"))
import headers  # noqa: E402


def offered(clang, flags, space="minnow::"):
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "user.cpp"
        includes = "".join(f"#include <minnow/{header}>\n" for header in ["minnow.h", *headers.wing_headers()])
        source.write_text(includes + "void user() {\n" + space + "\n}\n")
        line = includes.count("\n") + 2
        command = [clang, *flags, "-fsyntax-only", "-Xclang", f"-code-completion-at={source}:{line}:{len(space) + 1}", str(source)]
        text = subprocess.run(command, capture_output=True, text=True).stdout
    return {re.split(r" : |\n", line)[0].strip() for line in text.split("COMPLETION: ")[1:]}


def not_found(clang, flags):
    """What docs/headers.py does not find, and what it finds where nothing is."""
    spaces, faults = {}, []
    for entity in headers.entities():
        spaces.setdefault(entity.space, set()).add(entity.name)
    inner = {name for space in spaces for name in space.split("::")}
    for space, found in spaces.items():
        path = f"minnow::{space}::" if space else "minnow::"
        names = {name for name in offered(clang, flags, path) if name.isidentifier()} - OWN - inner
        lower = lower_headers() if not space else set()
        faults += [f"{path}{name}: docs/headers.py does not find it" for name in sorted(names - found - lower)]
        faults += [f"{path}{name}: docs/headers.py finds it, and clang does not" for name in sorted(found - names)]
    return faults


def lower_headers():
    """Names that public headers only pass on."""
    tensor = headers.ROOT / "tensor"
    paths = {str(path.relative_to(headers.ROOT)) for path in [*tensor.glob("*.h"), *tensor.glob("runtime/*.h"), *tensor.glob("profile/*.h")]}
    return {entity.name for entity in headers.entities(sorted(paths - set(headers.public_headers())))}


def main():
    clang = next(filter(None, map(shutil.which, ("clang++", "clang++-14"))), None)
    if not clang:
        print("no clang here")
        sys.exit(77)
    names = {name for name in offered(clang, sys.argv[1:]) if name.isidentifier()} - OWN
    if len(names) < 200:
        sys.exit(f"clang offers only {len(names)} names: {sorted(names)}")
    public = headers.public_headers() + headers.wing_headers()
    code = "\n".join((headers.ROOT / header).read_text(encoding="utf-8") for header in public)
    code = re.sub(r"//[^\n]*|\bdetail::[\w:]+", "", code)
    words = set(re.findall(r"\w+", code))
    strangers = sorted(names - words)
    print("\n".join(f"minnow::{name} is offered, and no public header declares it: move it to minnow::detail"
                    for name in strangers) or f"{len(names)} names, all public")
    faults = not_found(clang, sys.argv[1:])
    print("\n".join(faults))
    sys.exit(1 if strangers or faults else 0)


if __name__ == "__main__":
    main()

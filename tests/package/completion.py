#!/usr/bin/env python3
"""completion.py MINNOW_H COMPILER...: what an editor offers after `minnow::` is declared in a header that is for users.

Asks clang's completion.  Exit status 77 (skipped) where clang is missing.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# Namespaces of the library's own.
OWN = {"detail", "autograd"}


def offered(clang, flags):
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "user.cpp"
        source.write_text("#include <minnow/minnow.h>\nvoid user() {\n  minnow::\n}\n")
        command = [clang, *flags, "-fsyntax-only", "-Xclang", f"-code-completion-at={source}:3:11", str(source)]
        text = subprocess.run(command, capture_output=True, text=True).stdout
    return {re.split(r" : |\n", line)[0].strip() for line in text.split("COMPLETION: ")[1:]}


def main():
    clang = next(filter(None, map(shutil.which, ("clang++", "clang++-14"))), None)
    if not clang:
        print("no clang here")
        sys.exit(77)
    umbrella = Path(sys.argv[1])
    names = {name for name in offered(clang, sys.argv[2:]) if name.isidentifier()} - OWN
    if len(names) < 200:
        sys.exit(f"clang offers only {len(names)} names: {sorted(names)}")
    headers = re.findall(r"#include <minnow/(.+)>", umbrella.read_text(encoding="utf-8"))
    code = "\n".join((umbrella.parent / header).read_text(encoding="utf-8") for header in headers)
    code = re.sub(r"//[^\n]*|\bdetail::[\w:]+", "", code)
    words = set(re.findall(r"\w+", code))
    strangers = sorted(names - words)
    print("\n".join(f"minnow::{name} is offered, and no public header declares it: move it to minnow::detail"
                    for name in strangers) or f"{len(names)} names, all public")
    sys.exit(1 if strangers else 0)


if __name__ == "__main__":
    main()

"""abi_test.py LIST LIBRARY NM...: the functions and variables that the shared libraries export are those of the list.

Inline functions, which programs have themselves, are left out: which of them a library has depends on the compiler.
`MINNOW_ACCEPT=1 ctest -R package.abi` writes the list.
"""

import difflib
import os
import pathlib
import re
import subprocess
import sys

listed, nm, *libraries = sys.argv[1:]
exported = []
for library in libraries:
    out = subprocess.run([nm, "-D", "-C", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    names = {line[2:] for line in re.findall(r"^[0-9a-f]+ ([TDBR] .*)", out, re.M)}
    exported += [pathlib.Path(library).name.split(".")[0]] + sorted(f"  {name}" for name in names)
committed = pathlib.Path(listed)
if os.environ.get("MINNOW_ACCEPT"):
    committed.write_text("\n".join(exported) + "\n")
difference = list(difflib.unified_diff(committed.read_text().splitlines(), exported, "accepted", "exported", "", "", 0, ""))
if difference:
    sys.exit("\n".join(difference) + "\nthe ABI has changed: a line with '-' breaks programs that are linked already, and needs a new "
             "minor version\nto accept it: MINNOW_ACCEPT=1 ctest -R package.abi, and commit " + listed)
print(f"{len(exported)} names")

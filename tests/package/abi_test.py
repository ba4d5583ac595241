"""abi_test.py FOLDER NM LIBRARY...: each shared library exports what its list in FOLDER has.

Lists are of functions and variables.  Inline functions, which programs have themselves, are left out: which of them a library has depends on the compiler.
`MINNOW_ACCEPT=1 ctest -R package.abi` writes the lists.
"""

import difflib
import os
import pathlib
import re
import subprocess
import sys

folder, nm, *libraries = sys.argv[1:]
changed = []
for library in libraries:
    out = subprocess.run([nm, "-D", "-C", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    exported = sorted(set(re.findall(r"^[0-9a-f]+ [TDBR] (.*)", out, re.M)))
    listed = pathlib.Path(folder, pathlib.Path(library).name.split(".")[0].replace("_shared", "") + ".txt")
    if os.environ.get("MINNOW_ACCEPT"):
        listed.write_text("\n".join(exported) + "\n")
    changed += difflib.unified_diff(listed.read_text().splitlines(), exported, str(listed), library, "", "", 0, "")
    print(f"{listed.name}: {len(exported)} names")
if changed:
    sys.exit("\n".join(changed) + "\nthe ABI has changed: a line with '-' breaks programs that are linked already, and "
             "needs a new minor version\nto accept it: MINNOW_ACCEPT=1 ctest -R package.abi, and commit the lists")

#!/usr/bin/env python3
"""library_size.py LIMIT_MB LIBRARY PROGRAM: the library without debug sections, and the shared libraries that a program linked
with it needs besides oneDNN and the system's own; fails above the limit."""

import os
import re
import subprocess
import sys
import tempfile

SYSTEM = re.compile(r"^(linux-vdso|/lib|ld-linux|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|asan|ubsan)\.so)")


def main():
    limit, library, program = float(sys.argv[1]), sys.argv[2], sys.argv[3]
    with tempfile.TemporaryDirectory() as folder:
        stripped = os.path.join(folder, "library.a")
        subprocess.run(["strip", "--strip-debug", "-o", stripped, library], check=True)
        sizes = {os.path.basename(library): os.path.getsize(stripped)}
    dynamic = subprocess.run(["readelf", "-d", program], check=True, capture_output=True, text=True).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.+?)\]", dynamic))
    for line in subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout.splitlines():
        name, _, path = line.strip().partition(" => ")
        if name in needed and not SYSTEM.match(name) and not name.startswith("libdnnl"):
            sizes[name] = os.path.getsize(path.split(" (")[0])
    total = sum(sizes.values()) / 1e6
    for name, size in sizes.items():
        print(f"{size / 1e6:6.2f} MB  {name}")
    print(f"{total:6.2f} MB  in all (limit {limit:g} MB)")
    sys.exit(1 if total > limit else 0)


if __name__ == "__main__":
    main()

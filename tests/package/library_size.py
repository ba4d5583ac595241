#!/usr/bin/env python3
"""library_size.py LIMIT_MB LIBRARY COMPILER LINK_FLAG...: fails if the library, with what it needs, is above the limit.

Counted are all of its objects linked into one stripped file (an archive repeats the names and inline functions of every
object), and the shared libraries which that file needs besides oneDNN and the system's own.
"""

import os
import re
import subprocess
import sys
import tempfile

SYSTEM = re.compile(r"^(linux-vdso|/lib|ld-linux|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s)\.so)")


def main():
    limit, library, compiler, flags = float(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]
    with tempfile.TemporaryDirectory() as folder:
        linked = os.path.join(folder, "minnow.so")
        subprocess.run([compiler, "-shared", "-s", "-o", linked, "-Wl,--whole-archive", library, "-Wl,--no-whole-archive",
                        *flags], check=True)
        sizes = {os.path.basename(library) + ", linked whole": os.path.getsize(linked)}
        dynamic = subprocess.run(["readelf", "-d", linked], check=True, capture_output=True, text=True).stdout
        places = subprocess.run(["ldd", linked], check=True, capture_output=True, text=True).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.+?)\]", dynamic))
    for line in places.splitlines():
        name, _, path = line.strip().partition(" => ")
        if name in needed and not SYSTEM.match(name) and not name.startswith("libdnnl"):
            sizes[name] = os.path.getsize(path.split(" (")[0])
    total = sum(sizes.values()) / 1e6
    for name, size in sizes.items():
        print(f"{size / 1e6:6.2f} MB  {name}")
    print(f"{total:6.2f} MB  in all (limit {limit:g} MB); the archive has {os.path.getsize(library) / 1e6:.2f} MB")
    sys.exit(1 if total > limit else 0)


if __name__ == "__main__":
    main()

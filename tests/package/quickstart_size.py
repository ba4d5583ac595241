"""quickstart_size.py LIMIT_MB QUICKSTART NM STRIP: the stripped program has at most that size; says what is in it."""

import collections
import os
import re
import subprocess
import sys
import tempfile

limit, program, nm, strip = float(sys.argv[1]), *sys.argv[2:]
parts = collections.Counter()
for line in subprocess.run([nm, "-S", "-C", program], capture_output=True, text=True, check=True).stdout.splitlines():
    if fields := re.match(r"\w+ (\w{8,}) \w (.*)", line):
        part = re.search(r"minnow::(cpu::(avx512|avx2|baseline|onednn)?|[a-z]+::)|minnow::|std::", fields[2])
        parts[part[0] if part else "other"] += int(fields[1], 16)
with tempfile.TemporaryDirectory() as folder:
    stripped = os.path.join(folder, "quickstart")
    subprocess.run([strip, "-o", stripped, program], check=True)
    size = os.path.getsize(stripped) / 1e6
for part, bytes_ in parts.most_common(12):
    print(f"{bytes_ / 1e6:6.2f} MB  {part}")
print(f"{size:6.2f} MB  in all, stripped (limit {limit:g} MB)")
sys.exit(size > limit)

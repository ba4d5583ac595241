#!/usr/bin/env python3
"""tested_dtypes.py PROGRAM: fails unless docs/tested-dtypes.txt has what tests/ops says; MINNOW_ACCEPT=1 writes it."""

import os
import subprocess
import sys
from pathlib import Path

FILE = Path(__file__).resolve().parent / "tested-dtypes.txt"


def main():
    facts = subprocess.run([sys.argv[1], "--facts"], capture_output=True, text=True, check=True).stdout
    lines = FILE.read_text(encoding="utf-8").splitlines(keepends=True)
    head = "".join(line for line in lines if line.startswith("#"))
    kept = "".join(lines)
    if os.environ.get("MINNOW_ACCEPT"):
        FILE.write_text(head + facts, encoding="utf-8")
    elif kept != head + facts:
        differ = sorted(set(facts.splitlines()) ^ set(kept[len(head):].splitlines()))
        sys.exit("docs/tested-dtypes.txt is not up to date (MINNOW_ACCEPT=1 writes it):\n" + "\n".join(differ[:10]))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""headers_alone.py COMPILER FLAG... -- HEADER...: compiles each header by itself, twice included, as <minnow/HEADER>."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor


def main():
    split = sys.argv.index("--")
    command, headers = sys.argv[1:split], sys.argv[split + 1:]

    def compile_alone(header):
        source = f"#include <minnow/{header}>\n" * 2
        done = subprocess.run([*command, "-fsyntax-only", "-x", "c++", "-"], input=source, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return header, done.returncode, done.stdout

    failures = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for header, status, output in pool.map(compile_alone, headers):
            if status:
                failures += 1
                print(f"{header} does not compile alone:\n{output}")
    print(f"{len(headers) - failures} of {len(headers)} public headers compile alone")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""startup.py LIMIT_MS PROGRAM ARGUMENT...: fails if the program's fastest run of 10 takes longer than the limit."""

import subprocess
import sys
import time


def main():
    limit, command = float(sys.argv[1]), sys.argv[2:]
    times = []
    for _ in range(10):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        times.append(1e3 * (time.perf_counter() - start))
    print(f"{min(times):.1f} ms, at most {max(times):.1f} (limit {limit:g} ms): {' '.join(command)}")
    sys.exit(1 if min(times) > limit else 0)


if __name__ == "__main__":
    main()

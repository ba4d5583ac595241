#!/usr/bin/env python3
"""Data parallel training on this machine, beside PyTorch's with gloo: images per second of the MNIST CNN.

benchmarks/distributed.py --build build/release [--torch-python PYTHON] [--rounds 3]

The processors are divided among the ranks; the batch of all ranks is the same.  Both sides in turn, medians.
"""

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def run(command, threads):
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "OMPI_MCA_btl": "self,vader",
                   "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command}\n{done.stdout}{done.stderr}")
    return [float(word) for word in done.stdout.split()[-4:]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build/release", help="minnow's build folder")
    parser.add_argument("--torch-python", help="an interpreter that has PyTorch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch", type=int, default=96)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--ranks", type=int, nargs="*", help="default: 1 to the number of processors")
    a = parser.parse_args()
    processors = len(os.sched_getaffinity(0))
    counts = a.ranks or range(1, processors + 1)
    print("| ranks x threads | minnow, images/s | hidden | all_reduce 4 B | 16 MB | PyTorch, gloo | ratio of times |")
    print("|---|---|---|---|---|---|---|")
    for ranks in counts:
        threads = max(1, processors // ranks)
        ours, theirs = [], []
        for _ in range(a.rounds):
            ours.append(run(["mpirun", "--oversubscribe", "--bind-to", "none", "-n", ranks,
                             Path(a.build) / "benchmarks/distributed", a.batch, a.steps], threads))
            if a.torch_python:
                theirs.append(run([a.torch_python, HERE / "pytorch/distributed.py", ranks, threads, a.batch, a.steps],
                                  threads)[-1])
        speed, hidden, latency, large = (statistics.median(column) for column in zip(*ours))
        peer = statistics.median(theirs) if theirs else None
        print(f"| {ranks} x {threads} | {speed:,.0f} | {hidden:.0%} | {latency * 1e6:.0f} us | {large * 1e3:.1f} ms | "
              + (f"{peer:,.0f} | {peer / speed:.2f} |" if peer else "- | - |"), flush=True)


main()

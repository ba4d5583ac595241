"""without_onednn.py BUILD [ROUNDS]: times of products and convolutions without oneDNN over those with it, run in turn."""

import collections
import os
import statistics
import subprocess
import sys

build, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
ratios, library = collections.defaultdict(list), {}
for isa in ["avx2", "avx512"]:
    # The library's own limit is by an older name before oneDNN 3.
    limit = {name: "AVX2" if isa == "avx2" else "AVX512_CORE" for name in ("DNNL_MAX_CPU_ISA", "ONEDNN_MAX_CPU_ISA")}
    for _ in range(rounds):
        times = []
        for program in ["with_onednn", "without_onednn"]:
            text = subprocess.run([os.path.join(build, "benchmarks", program), isa], text=True, capture_output=True, check=True,
                                  env=os.environ | limit | {"OMP_NUM_THREADS": "1"}).stdout
            times.append({name: float(time) for name, time in (line.split("\t") for line in text.splitlines())})
        for name in times[0]:
            ratios[name, isa].append(times[1][name] / times[0][name])
            library[name, isa] = min(times[0][name], library.get((name, isa), 1e30))
print("| | oneDNN, AVX2, us | own over it | oneDNN, AVX-512, us | own over it |\n|---|---|---|---|---|")
for name in dict.fromkeys(name for name, _ in ratios):
    row = [f"{library[name, isa]:,.0f} | {statistics.median(ratios[name, isa]):.2f}" for isa in ("avx2", "avx512")]
    print(f"| {name} | {' | '.join(row)} |")

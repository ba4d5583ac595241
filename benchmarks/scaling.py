#!/usr/bin/env python3
"""Predicts how data parallel training scales, from a model of cost; checks the model against this machine.

benchmarks/scaling.py                              the table, from the steps measured in benchmarks/results
benchmarks/scaling.py --write                      the same into docs/scaling.md, and its picture docs/scaling.svg
benchmarks/scaling.py --check build/release        measured with 1 to 4 ranks here, beside what the model says

A step is forward (a third of its time) and backward (two thirds), which reaches the layers from the last to the first, each
after the share of the arithmetic behind it.  Gradients are filled into buckets of 25 MB, and
at most a quarter of all, in that order.  A bucket of b bytes
is exchanged by n ranks in 2 (n - 1) latency + 2 b (n - 1) / n / bandwidth + b / memory: the messages of an exchange and a
gather (distributed/detail/transfer.cpp), what goes over a rank's link, and the sum.  Buckets follow each other on the link;
the step ends when backward has and the last bucket has arrived.  Links are full-duplex and not shared.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

BUCKET = 25e6
MEMORY = 8e9  # bytes a second that one thread copies in, sums and copies out
LATENCY = 5e-6
LINKS = {"25 Gbit/s": 25e9 / 8, "400 Gbit/s": 400e9 / 8}
RANKS = [8, 16, 32, 64, 128, 256, 512, 1024]


def cnn():
    """Of examples/mnist.cpp: (parameters, multiply-adds) of each layer."""
    return [(320, 9 * 32 * 26 * 26), (18496, 9 * 32 * 64 * 24 * 24), (9216 * 128 + 128, 9216 * 128), (1290, 1280)]


def resnet18():
    layers, size, width = [(7 * 7 * 3 * 64, 7 * 7 * 3 * 64 * 32 * 32)], 16, 64
    for stage in range(4):
        out = 64 << stage
        if stage:
            size //= 2
        for block in range(2):
            for before in (width if block == 0 else out, out):
                layers.append((9 * before * out, 9 * before * out * size * size))
        width = out
    return layers + [(513000, 512000)]


def transformer():
    """GPT-2 with 124 million parameters: the embedding, 12 blocks, and the head, which shares its weight."""
    tokens = 64
    block = 12 * 768 * 768 + 13 * 768
    return [(50257 * 768 + 1024 * 768, 0)] + 12 * [(block, block * tokens)] + [(0, 50257 * 768 * tokens)]


# The layers, and the row of compare.py that measures a step of one rank.
MODELS = {"MNIST CNN, B 64": (cnn, "cnn_step_adam"), "ResNet-18, B 16": (resnet18, "resnet18_step"),
          "GPT-2 124M, B 4 T 64": (transformer, "gpt2_train")}


def measured():
    """Seconds of each row in the newest table of a CPU, and its name."""
    tables = sorted(path for path in (HERE / "results").glob("*.md") if "\ncpu, " in path.read_text())
    seconds = {}
    for name, time in re.findall(r"^\| (\w+) \| ([\d.]+ \w+) \|", tables[-1].read_text(), re.M):
        number, unit = time.split()
        seconds[name] = float(number) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}[unit]
    return seconds, tables[-1].name


def exchange(size, ranks, latency, bandwidth, memory):
    return 2 * (ranks - 1) * latency + 2 * size * (ranks - 1) / ranks / bandwidth + size / memory


def step_time(layers, seconds, ranks, latency, bandwidth, memory=MEMORY, bucket=BUCKET):
    """Seconds of a step of all ranks."""
    if ranks == 1:
        return seconds
    forward, backward = seconds / 3, seconds * 2 / 3
    work = sum(flops for _, flops in layers)
    bucket = min(bucket, sum(4 * parameters for parameters, _ in layers) / 4)
    now, link, held = forward, 0.0, 0.0
    for i, (parameters, flops) in reversed(list(enumerate(layers))):
        now += backward * flops / work
        if held and held + 4 * parameters > bucket:
            link = max(link, now) + exchange(held, ranks, latency, bandwidth, memory)
            held = 0.0
        held += 4 * parameters
    if held:
        link = max(link, now) + exchange(held, ranks, latency, bandwidth, memory)
    return max(now, link)


def table():
    rows, lines = [], []
    seconds, name = measured()
    for model, (layers, row) in MODELS.items():
        for link, bandwidth in LINKS.items():
            efficiency = [seconds[row] / step_time(layers(), seconds[row], n, LATENCY, bandwidth) for n in RANKS]
            rows.append((model, link, efficiency))
    lines = ["| model | step of one rank | link | " + " | ".join(map(str, RANKS)) + " |",
             "|---|---|---|" + "---|" * len(RANKS)]
    for model, link, efficiency in rows:
        lines.append(f"| {model} | {seconds[MODELS[model][1]] * 1e3:.1f} ms | {link} | "
                     + " | ".join(f"{e:.0%}" for e in efficiency) + " |")
    return rows, lines, name


def write(rows, lines, name):
    """The table between the marks of docs/scaling.md, and the picture."""
    docs = HERE.parent / "docs"
    page = docs / "scaling.md"
    begin, end = "<!-- table -->\n", "<!-- end -->\n"
    before, rest = page.read_text().split(begin)
    steps = f"Steps: benchmarks/results/{name}.\n"
    page.write_text(before + begin + steps + "\n" + "\n".join(lines) + "\n" + end + rest.split(end)[1])
    (docs / "scaling.svg").write_text(picture(rows))


def picture(rows):
    """Efficiency over the number of ranks, as SVG."""
    width, height, left, top = 640, 360, 60, 20
    inner_width, inner_height = 380, 290
    colours = ["#1b6ca8", "#1b6ca8", "#c0392b", "#c0392b", "#2e8b57", "#2e8b57"]

    def at(k, efficiency):
        return left + inner_width * k / (len(RANKS) - 1), top + inner_height * (1 - efficiency)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">',
           f'<rect width="{width}" height="{height}" fill="white"/>']
    for percent in (0, 25, 50, 75, 100):
        x, y = at(0, percent / 100)
        out.append(f'<path d="M{x:.0f} {y:.0f}h{inner_width}" stroke="#ddd"/>'
                   f'<text x="{x - 8:.0f}" y="{y + 4:.0f}" text-anchor="end">{percent} %</text>')
    for k, ranks in enumerate(RANKS):
        x, y = at(k, 0)
        out.append(f'<text x="{x:.0f}" y="{y + 18:.0f}" text-anchor="middle">{ranks}</text>')
    out.append(f'<text x="{left + inner_width / 2:.0f}" y="{height - 8}" text-anchor="middle">ranks</text>')
    for i, (model, link, efficiency) in enumerate(rows):
        points = " ".join("{:.1f},{:.1f}".format(*at(k, e)) for k, e in enumerate(efficiency))
        dashes = ' stroke-dasharray="5 4"' if link.startswith("25 ") else ""
        y = top + 16 + 22 * i
        out.append(f'<polyline points="{points}" fill="none" stroke="{colours[i]}" stroke-width="2"{dashes}/>'
                   f'<path d="M{left + inner_width + 14} {y - 4}h24" stroke="{colours[i]}" stroke-width="2"{dashes}/>'
                   f'<text x="{left + inner_width + 42}" y="{y}" font-size="10">{model}, {link}</text>')
    return "\n".join(out + ["</svg>", ""])


def check(build, batch=24, steps=100):
    """The CNN with `batch` images and one thread on each rank.  The processors of this machine are shared by more ranks than it
    may have, so that a rank's own step is measured beside as many others that do not exchange anything."""
    program = Path(build) / "benchmarks/distributed"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OMPI_MCA_btl": "self,vader", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def run(ranks, alone):
        command = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks), str(program), str(batch * ranks), str(steps)]
        done = subprocess.run(command + (["alone"] if alone else []), env=environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stdout + done.stderr)
        images, _, latency, large = map(float, done.stdout.split()[-4:])
        return batch * ranks / images, latency, large

    print("| ranks | own step | all_reduce 4 B | 16 MB | step, measured | predicted | predicted / measured |")
    print("|---|---|---|---|---|---|---|")
    for ranks in (2, 3, 4):
        own, _, _ = run(ranks, True)
        step, word, large = run(ranks, False)
        # The model's constants, from the two measured exchanges.
        latency = word / (2 * (ranks - 1))
        bytes_per_second = (4 << 22) / (large - word)
        bandwidth = 2 * (ranks - 1) / ranks * bytes_per_second
        predicted = step_time(cnn(), own, ranks, latency, bandwidth, memory=float("inf"))
        print(f"| {ranks} | {own * 1e3:.1f} ms | {word * 1e6:.0f} us | {large * 1e3:.1f} ms | {step * 1e3:.1f} ms | "
              f"{predicted * 1e3:.1f} ms | {predicted / step:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", metavar="BUILD", help="measure with 2, 3 and 4 ranks on this machine")
    parser.add_argument("--write", action="store_true", help="write docs/scaling.md and docs/scaling.svg")
    a = parser.parse_args()
    if a.check:
        check(a.check)
        return
    rows, lines, name = table()
    print("\n".join(lines))
    if a.write:
        write(rows, lines, name)


main()

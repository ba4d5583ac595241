"""Times torchvision's networks, forward and a training step, on minnow beside PyTorch: both sides in turn, and the same
numbers checked.

    benchmarks/models.py --build build/release [--torch-python PYTHON] [--only NAME...] [--batches 1 4] [--write FILE]

The networks are traced by torch.fx to text (pytorch/traced_networks.py), which traced_networks.cpp runs.  With one thread
times are those of the processor, so that other programs change them little.  PyTorch gets what its users give it by
default, NCHW; --channels-last adds a column.  Needs torchvision.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys

import compare

HERE = pathlib.Path(__file__).resolve().parent
TRACED = HERE / "pytorch/traced_networks.py"
# Of outputs, and of losses and gradients, to the mean magnitude: normalizations by few pixels amplify rounding.
TOLERANCE = {"forward": 1e-3, "step": 5e-2, "forward-bf16": 0.1, "step-bf16": 0.25}


def difference(a, b):
    """The largest difference of numbers that two sides gave, to their size."""
    if len(a) != len(b) or not all(map(compare.is_finite, (*a, *b))):
        return float("inf")
    if len(a) == 9:  # a digest: mean, mean magnitude, elements
        return max(abs(x - y) for x, y in zip(a, b)) / max(abs(b[1]), 1e-30)
    return max(abs(x - y) / max(abs(y), 1e-30) for x, y in zip(a, b))


def measure(row, sides, arguments):
    """Times by side, minnow's ratio to the second one, and what went wrong."""
    times, values, problems = {s.label: [] for s in sides}, {}, []
    for _ in range(arguments.rounds):
        for side in sides:
            answer = side.measure(row, arguments.repeat)
            if "error" in answer:
                return {"name": row, "seconds": {}, "ratio": None, "problems": [f"{side.label}: {answer['error']}"]}
            times[side.label].append(answer["seconds"])
            values[side.label] = answer["values"]
    ratio = None
    if len(sides) > 1:
        ratio = statistics.median(a / b for a, b in zip(*(times[s.label] for s in sides[:2])))
        off = difference(*(values[s.label] for s in sides[:2]))
        if off > TOLERANCE[row.split("-", 2)[2]]:
            problems.append(f"different numbers (by {off:.2g})")
    return {"name": row, "seconds": {k: min(v) for k, v in times.items()}, "ratio": ratio, "problems": problems}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parent / "build/release")
    parser.add_argument("--torch-python", help="an interpreter that has PyTorch and torchvision")
    parser.add_argument("--only", nargs="*", help="networks")
    parser.add_argument("--batches", nargs="*", type=int, default=[1, 4, 32], help="1, 2, 4, 8, 16 or 32")
    parser.add_argument("--kinds", nargs="*", default=list(TOLERANCE), help="of " + " ".join(TOLERANCE))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3, help="how often each side runs")
    parser.add_argument("--repeat", type=int, default=3, help="samples of a side in each round")
    parser.add_argument("--channels-last", action="store_true", help="PyTorch's other layout too")
    parser.add_argument("--write", type=pathlib.Path, help="a Markdown file")
    return parser.parse_args()


def main():
    arguments = parse()
    found = compare.find_torch(arguments)
    if found is None:
        sys.exit("PyTorch is not installed here (python3 -m pip install torch torchvision)")
    python, version, _ = found
    folder = arguments.build.resolve() / "benchmark-networks"
    if not folder.exists():
        subprocess.run([python, TRACED, "--trace", folder], check=True)
    names = arguments.only or sorted(path.stem for path in folder.glob("*.txt"))
    options = ["--threads", arguments.threads, *(["--cpu-time"] if arguments.threads == 1 else [])]
    environment = {**os.environ, "OMP_NUM_THREADS": str(arguments.threads), "MKL_NUM_THREADS": str(arguments.threads)}
    ours = [arguments.build / "benchmarks/networks", "--files", folder, *options]
    sides = [compare.Side("minnow", ours, environment),
             compare.Side("PyTorch", [python, TRACED, *options], environment)]
    if arguments.channels_last:
        sides.append(compare.Side("NHWC", [python, TRACED, "--channels-last", *options], environment))
    labels = [side.label for side in sides]
    about = (f"{compare.processor()}: {arguments.threads} thread{'s' * (arguments.threads > 1)}, PyTorch {version}; the "
             f"fastest of {arguments.rounds} rounds in turn, and the median of their ratios.")
    lines = [compare.table_line(["network", *labels, "ratio"]), "|---" * (len(labels) + 2) + "|"]
    print(about, *lines, sep="\n", flush=True)
    ratios = []
    for row in (f"{name}-{batch}-{kind}" for kind in arguments.kinds for batch in arguments.batches for name in names):
        answer = measure(row, sides, arguments)
        lines.append(compare.table_line(compare.cells(answer, labels)))
        ratios += [answer["ratio"]] * (answer["ratio"] is not None)
        print(lines[-1], flush=True)
    for side in sides:
        side.close()
    if ratios:
        above = sum(ratio > 0.9 for ratio in ratios)
        lines += ["", f"Median ratio {statistics.median(ratios):.2f}, {above} of {len(ratios)} rows above 0.9."]
        print(lines[-1])
    if arguments.write:
        arguments.write.write_text("\n".join(["# torchvision's networks", "", about, "", *lines]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

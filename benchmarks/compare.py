"""Times minnow beside PyTorch (Python, and LibTorch C++): both sides in turn, medians, and the same numbers checked.

    benchmarks/compare.py --build build/release [--torch-python PYTHON] [--libtorch build/libtorch/libtorch_workloads]
    benchmarks/compare.py --build build/release --device cuda
    benchmarks/compare.py --memory                       peak memory of a process for each row, not time
    benchmarks/compare.py --start                        time and memory of a process that adds two tensors
    benchmarks/compare.py --scaling                      the steps of the CNN and of GPT with 1 thread and with --threads
    benchmarks/compare.py --deterministic                the price of set_deterministic(true) for these steps
    benchmarks/compare.py --accuracy                     time of the CNN to 99 % on MNIST, medians of 5 seeds (10 minutes)
    benchmarks/compare.py --against benchmarks/results/FILE.md      fails if a ratio is over 15 % worse than there

PyTorch is searched in --torch-python, $MINNOW_TORCH_PYTHON and python3; without it minnow runs alone.  The LibTorch program
is built from benchmarks/libtorch into BUILD/libtorch where PyTorch is installed (--no-libtorch skips it).  Rows that
read files are compared with pandas and torchvision, where --torch-python has them.
Ratio: minnow's time over the faster of the two, the median over the rounds.
"""

import argparse
import datetime
import json
import math
import os
import pathlib
import platform
import re
import signal
import statistics
import subprocess
import sys

import make_files
import studies

HERE = pathlib.Path(__file__).resolve().parent

# Relative to the larger of the value and the mean magnitude of its tensor: sums in other orders, in float32.
TOLERANCE = 2e-4
TOLERANCES = {"mlp_step_sgd": 1e-4, "mlp_step_adam": 1e-3, "cnn_step_adam": 2e-3,
              "mlp_step_adam_captured": 1e-3, "cnn_step_adam_captured": 2e-3, "cnn_step_bf16": 2e-2,
              "gpt_step_bf16": 2e-2, "resnet18_step": 2e-3, "unet_step": 2e-3, "unet_step_bf16": 2e-2, "mlp_epoch": 2e-2,
              "softmax_4096x32000_bf16": 1.6e-2, "cross_entropy_4096x32000_bf16": 1.6e-2, "matmul_8192_bf16": 3e-2,
              "conv_256x56x56_bf16": 3e-2, "cnn_epoch": 2e-2, "cnn_epoch_captured": 2e-2, "int8_linear": 1e-3,
              "gpt2_train": 2e-3, "gpt2_train_bf16": 2e-2}
# On a GPU convolutions round their operands to TF32.
GPU_TOLERANCES = {"conv_28_forward": 1e-2, "conv_28_forward_backward": 1e-2, "cnn_step_adam": 2e-2}

# Rows that read what make_files.py writes.
FILE_ROWS = {"csv_100k", "png", "png_loader"}

NO_SUCH_WORKLOAD = "there is no such workload"

STUDIES = {"start": "time and memory of a process that adds two tensors", "scaling": "1 thread against --threads",
           "deterministic": "the price of the deterministic mode", "accuracy": "time to 99 %% on MNIST"}

# A ratio may be this much above that of the table it is compared with.
MARGIN = 1.15

# Goals for a GPU of the H200's class: a text, the number, its format, and whether it is met.
# A number is computed from minnow's and PyTorch's seconds, by workload; at most 5 % slower passes as equal.
GOALS = [
    ("CNN epoch, eager", "<= 0.7 s", lambda ours, _: ours("cnn_epoch"), "{:.3f} s", lambda x: x <= 0.7),
    ("CNN epoch, captured", "<= 0.15 s", lambda ours, _: ours("cnn_epoch_captured"), "{:.3f} s", lambda x: x <= 0.15),
    ("CNN epoch, captured, beside PyTorch eager", ">= 6 times as fast",
     lambda ours, theirs: theirs("cnn_epoch") / ours("cnn_epoch_captured"), "{:.1f} times", lambda x: x >= 6),
    ("matmul 8192 bf16, beside PyTorch's cuBLAS", ">= 95 %",
     lambda ours, theirs: 100 * theirs("matmul_8192_bf16") / ours("matmul_8192_bf16"), "{:.0f} %", lambda x: x >= 95),
    ("add of 256M floats, of copy's bandwidth", ">= 90 %",
     lambda ours, _: 150 * ours("copy_256M") / ours("add_256M"), "{:.0f} %", lambda x: x >= 90),
]
FUSED = ["conv_28_forward_backward", "conv_256x56x56_bf16", "softmax_16384x1024", "softmax_4096x32000_bf16",
         "cross_entropy_8192x1000", "cross_entropy_4096x32000_bf16"]
GOALS.append(("the worst of conv, softmax, cross_entropy beside PyTorch", "as fast",
              lambda ours, theirs: min(theirs(n) / ours(n) for n in FUSED), "{:.2f} times", lambda x: x >= 0.95))


GOALS += [(f"{text}, beside PyTorch eager", "<= 1.00", lambda ours, theirs, name=name: ours(name) / theirs(name), "{:.2f}",
           lambda x: x <= 1.0)
          for text, name in (("GPT-2 124M step, B 8, T 1024, bf16", "gpt2_train_bf16"),
                             ("ResNet-18 step, B 64, 224x224", "resnet18_step"), ("LSTM step, T 100", "lstm_step"))]


def workloads_of_goals():
    """The names of the workloads that the goals are computed from."""
    names = set()
    for _, _, number, _, _ in GOALS:
        number(lambda n: names.add(n) or 1.0, lambda n: names.add(n) or 1.0)
    return names


class Side:
    """A program that answers "NAME REPEAT" with a line of JSON.  While it is not asked it is stopped: OpenMP's threads wait
    by spinning, PyTorch's for some milliseconds, and would take a core from the other side."""

    def __init__(self, label, command, environment):
        self.label, self.command, self.environment = label, [*map(str, command)], environment
        self.process = subprocess.Popen(
            [*self.command, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

    def measure(self, name, repeat):
        return {"name": name, **self.ask(f"{name} {repeat}")}

    def ask(self, request):
        """The answer to a line, or what went wrong."""
        try:
            self.process.send_signal(signal.SIGCONT)
            self.process.stdin.write(request + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
            self.process.send_signal(signal.SIGSTOP)
        except BrokenPipeError:
            line = ""
        if not line:
            return {"error": f"{self.label} has ended"}
        try:
            return json.loads(line)
        except ValueError:
            return {"error": f"{self.label} answered {line.strip()[:200]!r}"}

    def peak(self, name):
        """The peak resident size of a process that runs one row once, in MB; None if the side does not have it."""
        done = subprocess.run([*self.command, "--only", name, "--repeat", "1"], env=self.environment, capture_output=True,
                              text=True)
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        return json.loads(lines[-1]).get("peak", 0) / 1e6 if lines else None

    def close(self):
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass  # it has ended already; its rows say so
        self.process.wait()


def has_torch(python):
    try:
        done = subprocess.run([python, "-c", "import torch; print(torch.__version__, torch.utils.cmake_prefix_path)"],
                              capture_output=True, text=True, timeout=120)
    except OSError:
        return None
    return done.stdout.split() if done.returncode == 0 else None


def find_torch(arguments):
    """The interpreter that has PyTorch, its version and the folder of its CMake files."""
    for python in (arguments.torch_python, os.environ.get("MINNOW_TORCH_PYTHON"), "python3"):
        if python and (found := has_torch(python)):
            return python, *found
    return None


def build_libtorch(build, prefix):
    """The program with the LibTorch workloads; None, with a line of why, if it cannot be built."""
    folder = build / "libtorch"
    for step in (["cmake", "-S", HERE / "libtorch", "-B", folder, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}"],
                 ["cmake", "--build", folder]):
        done = subprocess.run(step, capture_output=True, text=True)
        if done.returncode:
            log = build / "libtorch.log"
            log.write_text(done.stdout + done.stderr)
            print(f"the LibTorch workloads do not build and are left out; see {log}", file=sys.stderr)
            return None
    return folder / "libtorch_workloads"


def plain_data(data, build):
    """A folder with unpacked IDX files beside the packed ones, which LibTorch cannot read."""
    if not data:
        return data
    import gzip
    source = next((p for p in (pathlib.Path(data), pathlib.Path(data) / "mnist") if list(p.glob("*ubyte*"))), None)
    if source is None or not list(source.glob("*.gz")):
        return data
    target = build / "benchmark-data"
    target.mkdir(exist_ok=True)
    for packed in source.glob("*.gz"):
        unpacked = target / packed.stem.replace(".idx", "-idx")
        if not unpacked.exists():
            unpacked.write_bytes(gzip.decompress(packed.read_bytes()))
    return str(target)


def is_finite(value):
    """A number; programs write null for NaN and infinity, Python's json reads and writes NaN."""
    return value is not None and math.isfinite(value)


def same(name, device, a, b):
    """Whether two lists of values agree, and by how much they differ at most."""
    if len(a) != len(b) or not a or not all(is_finite(value) for value in (*a, *b)):
        return False, float("inf")
    worst = 0.0
    for part in range(0, len(a), 9) if len(a) % 9 == 0 else [0]:  # digests of several tensors have nine values each
        x, y = (a[part:part + 9], b[part:part + 9]) if len(a) % 9 == 0 else (a, b)
        size = abs(y[1]) if len(y) > 1 else abs(y[0])
        worst = max([worst, *(abs(i - j) / max(abs(j), size, 1e-30) for i, j in zip(x, y))])
    tolerances = TOLERANCES if device == "cpu" else {**TOLERANCES, **GPU_TOLERANCES}
    return worst <= tolerances.get(name, TOLERANCE), worst


def time_text(seconds):
    for limit, factor, unit in ((1e-6, 1e9, "ns"), (1e-3, 1e6, "us"), (1.0, 1e3, "ms")):
        if seconds < limit:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds:.3g} s"


def processor():
    """Name, family and model: several generations have the same name."""
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
        name, family, model = (re.search(rf"^{field}\s*: (.*)", text, re.M).group(1)
                               for field in ("model name", "cpu family", "model"))
        return f"{name}, family {family}, model {model}"
    except (OSError, AttributeError):
        return platform.processor() or platform.machine()


def gpu():
    """The first GPU's name and driver."""
    try:
        done = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                              capture_output=True, text=True, timeout=60)
        return done.stdout.splitlines()[0]
    except (OSError, IndexError):
        return "unknown GPU"


def compare(name, sides, arguments):
    """One row: times by side, minnow's ratio, and what went wrong."""
    times = {s.label: [] for s in sides}
    values, variants, problems = {}, {}, []
    for _ in range(arguments.rounds):
        for side in sides:
            answer = side.measure(name, arguments.repeat)
            if answer.get("error") == NO_SUCH_WORKLOAD and side is not sides[0]:
                continue  # LibTorch reads no files
            if "error" in answer:
                problems.append(f"{side.label}: {answer['error']}")
                times[side.label].append(None)
                continue
            times[side.label].append(answer["seconds"])
            values[side.label], variants[side.label] = answer["values"], answer["variant"]
            if not all(map(is_finite, answer["values"])):
                problems.append(f"{side.label} computed NaN or infinity")
        if problems:
            break
    row = {"name": name, "seconds": {}, "variants": variants, "problems": problems, "ratio": None}
    for label, samples in times.items():
        if samples and None not in samples:
            row["seconds"][label] = statistics.median(samples)
    peers = [label for label in row["seconds"] if label != "minnow"]
    if "minnow" in row["seconds"] and peers:
        faster = min(peers, key=row["seconds"].get)
        row["ratio"] = statistics.median(m / p for m, p in zip(times["minnow"], times[faster]))
    for label in peers:
        if "minnow" in values:
            ok, worst = same(name, arguments.device, values["minnow"], values[label])
            if not ok:
                problems.append(f"minnow and {label} computed different numbers (by {worst:.2g})")
    return row


def compare_memory(names, sides):
    """Prints the peak memory of each side, and minnow's share of the smallest of the others."""
    print(table_line(["workload, peak MB", *(side.label for side in sides), "ratio"], 30))
    for name in names:
        peaks = [side.peak(name) for side in sides]
        others = [peak for peak in peaks[1:] if peak]
        ratio = f"{peaks[0] / min(others):.2f}" if peaks[0] and others else "-"
        print(table_line([name, *(f"{peak:.0f}" if peak else "-" for peak in peaks), ratio], 30), flush=True)


def cells(row, labels):
    times = [time_text(row["seconds"][s]) if s in row["seconds"] else "-" for s in labels]
    return [row["name"], *times, f"{row['ratio']:.2f}" if row["ratio"] is not None else "-", *row["problems"]]


def goals(rows):
    """A row for each goal: its text, the number, the goal, whether it is met."""
    seconds = {row["name"]: row["seconds"] for row in rows}
    lines = []
    for text, wanted, number, form, enough in GOALS:
        try:
            value = number(lambda n: seconds[n]["minnow"], lambda n: seconds[n]["PyTorch"])
        except KeyError:
            lines.append([text, "-", wanted, "not measured"])
            continue
        lines.append([text, form.format(value), wanted, "yes" if enough(value) else "NO"])
    return lines


def table_line(columns, width=0):
    first, *others = columns
    return "| " + " | ".join([f"{first:{width}}", *(f"{c:>9}" if width else c for c in others)]) + " |"


def write_report(rows, labels, about, where):
    folder = HERE / "results"
    folder.mkdir(exist_ok=True)
    machine = re.sub(r"[^a-z0-9]+", "-", where.lower()).strip("-")
    path = folder / f"{datetime.date.today()}-{machine}.md"
    lines = [f"# {datetime.date.today()}, {where}", "", about, "",
             table_line(["workload", *labels, "ratio"]), "|---" * (len(labels) + 2) + "|"]
    lines += [table_line(cells(row, labels)) for row in rows]
    if about.startswith("cuda"):
        lines += ["", table_line(["goal", "measured", "wanted", "met"]), "|---" * 4 + "|"]
        lines += [table_line(line) for line in goals(rows)]
    path.write_text("\n".join(lines) + "\n")
    print(f"written to {path}")


def ratios_of(path):
    """The ratios of a report, by row."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"--against {path}: cannot be read: {error}")
    ratios, column = {}, None
    for line in lines:
        columns = [c.strip() for c in line.strip().strip("|").split("|")]
        if columns[0] == "workload":
            column = columns.index("ratio") if "ratio" in columns else None
        elif column is not None and len(columns) > column and re.fullmatch(r"\d+\.\d+", columns[column]):
            ratios[columns[0]] = float(columns[column])
    if not ratios:
        sys.exit(f"--against {path}: it has no ratios; give a table that --write has written")
    return ratios


def regressions(rows, before, only, name):
    """A line for each row whose ratio is over MARGIN times that in the report `name`, and for each that one of them lacks.

    Rows that are newer than the report pass, unless they are asked for by `only`."""
    lines = []
    for row in rows:
        if row["name"] not in before:
            if only:
                lines.append(f"{row['name']}: no ratio in {name}")
        elif row["ratio"] is None:
            lines.append(f"{row['name']}: no ratio, {before[row['name']]:.2f} in {name}")
        elif row["ratio"] > before[row["name"]] * MARGIN:
            lines.append(f"{row['name']}: {row['ratio']:.2f}, {before[row['name']]:.2f} in {name}")
    measured = {row["name"] for row in rows}
    if not only:
        lines += [f"{row}: not measured, {before[row]:.2f} in {name}" for row in before if row not in measured]
    return lines


def default_data():
    """$MINNOW_DATA, or where ./run mnist puts the files."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "minnow/mnist"
    return os.environ.get("MINNOW_DATA") or (str(cache) if cache.exists() else "")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parent / "build/release", help="minnow's build folder")
    parser.add_argument("--only", action="append", help="a workload; may be repeated")
    parser.add_argument("--rounds", type=int, default=3, help="how often each side runs")
    parser.add_argument("--repeat", type=int, default=5, help="samples of a side in each round")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--quick", action="store_true", help="small sizes and one sample, to check that all of it works")
    parser.add_argument("--log", type=pathlib.Path, help="append each row to this file as a line of JSON")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data", default=default_data(), help="folder of the MNIST files")
    parser.add_argument("--torch-python", help="an interpreter that has PyTorch")
    parser.add_argument("--libtorch", type=pathlib.Path, help="the built program with the LibTorch workloads")
    parser.add_argument("--no-libtorch", action="store_true")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.add_argument("--memory", action="store_true", help="compare peak memory instead of time")
    for study, what in STUDIES.items():
        parser.add_argument(f"--{study}", action="store_true", help=what)
    parser.add_argument("--against", type=pathlib.Path, help="a report in benchmarks/results: fail if a ratio is 15 %% worse")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/<date>-<cpu>.md")
    return parser.parse_args()


def start_sides(arguments):
    """The programs to compare, and a line about them."""
    build = arguments.build.resolve()
    environment = {**os.environ, "OMP_NUM_THREADS": str(arguments.threads), "MKL_NUM_THREADS": str(arguments.threads)}
    files = build / ("benchmark-files-quick" if arguments.quick else "benchmark-files")
    if arguments.device == "cpu" and arguments.only is None or set(arguments.only or []) & FILE_ROWS:
        make_files.make(files, arguments.quick)
    options = ["--threads", arguments.threads, "--data", plain_data(arguments.data, build), "--device", arguments.device,
               "--files", files]
    if arguments.quick:
        options.append("--quick")
        arguments.rounds = 1
    sides = [Side("minnow", [build / "benchmarks/workloads", *options], environment)]
    torch = find_torch(arguments)
    if torch is None:
        print("PyTorch is not installed here (python3 -m pip install torch): minnow runs alone", file=sys.stderr)
        return sides, f"{arguments.device}, {arguments.threads} threads."
    python, version, prefix = torch
    sides.append(Side("PyTorch", [python, HERE / "pytorch/workloads.py", *options], environment))
    libtorch = None if arguments.no_libtorch or arguments.device != "cpu" else arguments.libtorch or build_libtorch(build, prefix)
    if libtorch:
        sides.append(Side("LibTorch", [libtorch, *options], environment))
    return sides, f"{arguments.device}, {arguments.threads} threads, PyTorch {version}; medians of {arguments.rounds} rounds in turn."


def study(arguments, names, sides):
    if arguments.memory:
        compare_memory(arguments.only or names, sides)
    if arguments.start:
        studies.start(arguments.build, HERE, sides, arguments.rounds, table_line)
    if arguments.scaling:
        studies.scaling(sides, arguments.threads, arguments, table_line, time_text)
    if arguments.deterministic:
        studies.deterministic(sides[0], arguments, table_line, time_text)
    if arguments.accuracy:
        studies.accuracy(sides, table_line, time_text)


def main():
    arguments = parse()
    before = ratios_of(arguments.against) if arguments.against else {}  # an error now, not after all rows
    sides, about = start_sides(arguments)
    labels = [s.label for s in sides]
    where = processor() if arguments.device == "cpu" else gpu()
    known = [arguments.build / "benchmarks/workloads", "--device", arguments.device, "--list"]
    names = subprocess.run(known, capture_output=True, text=True, check=True).stdout.split()
    for name in arguments.only or []:
        if name not in names:
            sys.exit(f"there is no workload '{name}'; there are: {' '.join(names)}")
    needed = workloads_of_goals() & set(names) if arguments.device != "cpu" and not arguments.only else set()
    names.sort(key=lambda name: name not in needed)  # first, and the goals after them, in case the rest takes too long
    if arguments.memory or any(getattr(arguments, study) for study in STUDIES):
        study(arguments, names, sides)
        for side in sides:
            side.close()
        return 0
    rows = []
    if not arguments.json:
        print(f"{where}: {about}")
        print(table_line(["workload", *labels, "ratio"], 30))
    for name in arguments.only or names:
        row = compare(name, sides, arguments)
        rows.append(row)
        if arguments.log:
            with arguments.log.open("a") as log:
                print(json.dumps({"device": arguments.device, "machine": where, **row}), file=log)
        if not arguments.json:
            columns = cells(row, labels)
            print(table_line(columns[:len(labels) + 2], 30), "; ".join(columns[len(labels) + 2:]), flush=True)
            if needed and len(rows) == len(needed):
                print(*(table_line(line, 56) for line in goals(rows)), sep="\n", flush=True)
    for side in sides:
        side.close()
    if arguments.json:
        print(json.dumps({"about": about, "machine": where, "rows": rows}, indent=1))
    if arguments.write:
        write_report(rows, labels, about, where)
    worse = regressions(rows, before, arguments.only, arguments.against.name) if arguments.against else []
    print(*worse, sep="\n", file=sys.stderr, end="\n" if worse else "")
    return 1 if worse or any(row["problems"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())

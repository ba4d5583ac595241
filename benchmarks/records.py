#!/usr/bin/env python3
"""Measures the rows of docs/records.md: minnow beside other programs on this machine, in turn.

    benchmarks/records.py [--only ROW] [--rounds N] [--log FILE]   measures, and appends each row to the log
    benchmarks/records.py --log FILE --write                       writes the tables of docs/records.md from the log

The peers are folders in which the program has been built as its README says; a row leaves out by name what is not there:

    --llm-c FOLDER       github.com/karpathy/llm.c: train_gpt2 with OpenMP
    --ggml FOLDER        github.com/ggml-org/ggml: build/bin/mnist-train
    --tinytorch FOLDER   github.com/keith2018/TinyTorch, for the CPU, with BLAS: examples/mnist/bin/tinytorch_example_mnist
    --torch-python PYTHON   an interpreter that has PyTorch: eager, torch.compile, and LibTorch's headers and libraries

llm.c gets random weights and tokens, since only its time is compared. Sides run one after the other, round by round.
"""

import argparse
import datetime
import gzip
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import compare

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "records.md"
GPT2 = {"words": 50257, "padded": 50304, "length": 1024, "layers": 12, "heads": 12, "width": 768}
SEEDS = 20


class Absent(Exception):
    """A peer that is not there."""


def environment(threads):
    return {**os.environ, "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}


def lines_of(command, folder, settings, enough):
    """The lines that a program prints, with the seconds since it started; it is ended when enough(lines)."""
    start, lines = time.perf_counter(), []
    with subprocess.Popen([str(c) for c in command], cwd=folder, env=environment(settings.threads), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, bufsize=0) as program:
        text = b""
        while piece := os.read(program.stdout.fileno(), 65536):
            now, text = time.perf_counter() - start, text + piece
            *whole, text = re.split(rb"[\r\n]", text)
            lines += [(now, line.decode("utf-8", "replace")) for line in whole]
            if enough(lines):
                program.kill()
                break
    if not enough(lines):
        sys.exit(f"{command[0]} ended early:\n" + "\n".join(line for _, line in lines[-5:]))
    return lines


def seconds_in(lines, pattern):
    return [float(found.group(1)) for _, line in lines if (found := re.search(pattern, line))]


def ours(settings, *arguments):
    """What build/benchmarks/records prints as seconds."""
    done = subprocess.run([settings.build / "benchmarks/records", *map(str, arguments)], env=environment(settings.threads), text=True,
                          capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"records {arguments}: {done.stderr}")
    return [float(s) for s in re.findall(r"^seconds (.*)", done.stdout, re.M)], done.stdout


def folder_of(path, program):
    if path is None or not (path / program).exists():
        raise Absent(program)
    return path


# A step of GPT-2 ----------------------------------------------------------------------------------------------------


def write_gpt2(folder):
    """Random weights and tokens in llm.c's formats."""
    import array
    import random

    rng = random.Random(0)
    tokens = array.array("H", (rng.randrange(GPT2["words"]) for _ in range(40 * 4 * 64 + 1)))
    place = folder / "dev/data/tinyshakespeare"
    place.mkdir(parents=True, exist_ok=True)
    for part in ("train", "val"):
        header = array.array("i", [20240520, 1, len(tokens)] + [0] * 253)
        (place / f"tiny_shakespeare_{part}.bin").write_bytes(header.tobytes() + tokens.tobytes())
    width, layers = GPT2["width"], GPT2["layers"]
    matrices = 12 * width * width + 13 * width
    count = (GPT2["padded"] + GPT2["length"]) * width + layers * matrices + 2 * width
    header = array.array("i", [20240326, 3, GPT2["length"], GPT2["words"], layers, GPT2["heads"], width, GPT2["padded"]] + [0] * 248)
    block = array.array("f", (rng.gauss(0, 0.02) for _ in range(1 << 16))).tobytes()
    with open(folder / "gpt2_124M.bin", "wb") as file:
        file.write(header.tobytes())
        for at in range(0, 4 * count, len(block)):
            file.write(block[:4 * count - at])


def llm_c(settings, work):
    program = folder_of(settings.llm_c, "train_gpt2") / "train_gpt2"
    if not (work / "gpt2_124M.bin").exists():
        write_gpt2(work)
    lines = lines_of(["stdbuf", "-oL", program], work, settings, lambda found: len(seconds_in(found, r"took ([\d.]+) ms")) >= 5)
    return statistics.median(seconds_in(lines, r"took ([\d.]+) ms")[1:]) / 1e3


def torch_python(settings):
    if not settings.torch_python:
        raise Absent("PyTorch")
    return settings.torch_python


def torch_gpt2(settings, *options):
    done = subprocess.run([torch_python(settings), HERE / "pytorch/records.py", "4", *options], env=environment(settings.threads),
                          text=True, capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"PyTorch: {done.stderr[-2000:]}")
    return statistics.median([float(s) for s in re.findall(r"^seconds (.*)", done.stdout, re.M)][1:])


# Epochs on MNIST ----------------------------------------------------------------------------------------------------


def digits(settings, work):
    """The uncompressed files of MNIST, as ggml and TinyTorch read them."""
    folder = work / "data"
    folder.mkdir(exist_ok=True)
    for name in ("train-images", "train-labels", "t10k-images", "t10k-labels"):
        kind = "idx3" if "images" in name else "idx1"
        plain = folder / f"{name}-{kind}-ubyte"
        if not plain.exists():
            given = Path(settings.data) / f"{name}-{kind}-ubyte"
            packed = given.with_name(given.name + ".gz")
            plain.write_bytes(gzip.decompress(packed.read_bytes()) if packed.exists() else given.read_bytes())
    return folder


def ggml(settings, work, network):
    program = folder_of(settings.ggml, "build/bin/mnist-train") / "build/bin/mnist-train"
    files = digits(settings, work)
    begins = [r"epoch 0*1/", r"epoch 0*2/"]
    lines = lines_of([program, network, work / "ggml.gguf", files / "train-images-idx3-ubyte", files / "train-labels-idx1-ubyte", "CPU"],
                     work, settings, lambda found: any(re.search(begins[1], line) for _, line in found))
    first, second = (next(at for at, line in lines if re.search(begin, line)) for begin in begins)
    return second - first


def tinytorch(settings, work):
    name = "examples/mnist/bin/tinytorch_example_mnist"
    program = folder_of(settings.tinytorch, name) / name
    digits(settings, work)
    # It tells its time every ten batches: a tenth of an epoch.
    lines = lines_of([program], work, settings, lambda found: bool(seconds_in(found, r"\[5760/60000.*Elapsed: ([\d.]+)s")))
    return seconds_in(lines, r"\[5760/60000.*Elapsed: ([\d.]+)s")[0] * 937.5 / 91


# Sizes, start, memory, compile time --------------------------------------------------------------------------------


def torch_paths(settings):
    import_of = "import torch, pathlib; print(pathlib.Path(torch.__file__).parent)"
    return Path(subprocess.run([torch_python(settings), "-c", import_of], text=True, capture_output=True, check=True).stdout.strip())


def start_commands(settings, work, side):
    """Compiler arguments, link arguments and the files that a program needs at run time beside the system's, of start.cpp."""
    if side == "minnow":
        library = settings.build / "libminnow.a"
        return [f"-I{HERE.parent / 'include'}", str(HERE / "start_all.cpp")], [str(library), "-ldnnl", "-lfmt", "-lz", "-fopenmp", "-Wl,--gc-sections"], \
            [Path("/usr/lib/x86_64-linux-gnu/libdnnl.so").resolve()]
    root = torch_paths(settings)
    libraries = [root / "lib" / name for name in ("libtorch_cpu.so", "libc10.so")]
    needed = libraries + [p for pattern in ("libtorch.so", "libgomp*", "libshm.so") for p in (root / "lib").glob(pattern)]
    return [f"-isystem{root}/include", f"-isystem{root}/include/torch/csrc/api/include", str(HERE / "libtorch/start.cpp")], \
        [*map(str, libraries), f"-Wl,-rpath,{root}/lib"], needed


def compiled(settings, work, side):
    """Seconds to compile a program that includes all of a library, its object."""
    arguments, _, _ = start_commands(settings, work, side)
    start = time.perf_counter()
    subprocess.run(["g++", "-std=c++20", "-O2", "-c", *arguments, "-o", work / f"{side}.o"], check=True)
    return time.perf_counter() - start


def linked(settings, work, side):
    """The stripped program."""
    if not (work / f"{side}.o").exists():
        compiled(settings, work, side)
    _, arguments, _ = start_commands(settings, work, side)
    subprocess.run(["g++", work / f"{side}.o", "-o", work / side, *arguments, "-s"], check=True)
    return work / side


def megabytes(settings, work, side):
    """Of the program and the libraries that it needs beside the system's."""
    _, _, needed = start_commands(settings, work, side)
    return (linked(settings, work, side).stat().st_size + sum(p.stat().st_size for p in needed)) / 1e6


def started(settings, work, side, what):
    program = work / side if (work / side).exists() else linked(settings, work, side)
    subprocess.run([program], env=environment(settings.threads), capture_output=True, check=True)  # into the system's cache
    times, peaks = [], []
    for _ in range(5):
        start = time.perf_counter()
        done = subprocess.run([program], env=environment(settings.threads), text=True, capture_output=True, check=True)
        times.append(time.perf_counter() - start)
        peaks.append(int(re.search(r"VmHWM:\s*(\d+) kB", done.stdout).group(1)) * 1.024e-3)
    return statistics.median(times) * 1e3 if what == "time" else statistics.median(peaks)


# The rows -----------------------------------------------------------------------------------------------------------


def pair(measure):
    return {"minnow": lambda s, w: measure(s, w, "minnow"), "LibTorch": lambda s, w: measure(s, w, "LibTorch")}


ROWS = {
    "gpt2": ("GPT-2, 124 million parameters: a training step of 4 x 64 tokens, float32", "s", {
        "minnow": lambda s, w: statistics.median(ours(s, "gpt2", 4)[0][1:]), "llm.c": llm_c,
        "PyTorch": lambda s, w: torch_gpt2(s), "torch.compile": lambda s, w: torch_gpt2(s, "--compile")}),
    "ggml-dense": ("ggml's dense network on MNIST, an epoch", "s", {
        "minnow": lambda s, w: statistics.median(ours(s, "ggml-dense", 3)[0]), "ggml": lambda s, w: ggml(s, w, "mnist-fc")}),
    "ggml-convolutional": ("ggml's convolutional network on MNIST, an epoch", "s", {
        "minnow": lambda s, w: statistics.median(ours(s, "ggml-convolutional", 3)[0]), "ggml": lambda s, w: ggml(s, w, "mnist-cnn")}),
    "tinytorch": ("TinyTorch's CNN on MNIST, an epoch (from a tenth of it)", "s", {
        "minnow": lambda s, w: ours(s, "tinytorch", 91)[0][0] * 937.5 / 91, "TinyTorch": tinytorch}),
    "size": ("a program that adds two tensors, with the libraries it needs", "MB", pair(megabytes)),
    "compile": ("compiling it: a file that includes all of the library", "s", pair(compiled)),
    "start": ("running it", "ms", pair(lambda s, w, side: started(s, w, side, "time"))),
    "memory": ("its peak resident size", "MB", pair(lambda s, w, side: started(s, w, side, "memory"))),
}
TARGETS = {"mnist-99.0": "99.0", "mnist-99.5": "99.5"}


def measure(name, settings, work):
    title, unit, sides = ROWS[name]
    samples, absent = {side: [] for side in sides}, []
    for _ in range(settings.rounds):
        for side, run in sides.items():
            if side in absent:
                continue
            try:
                samples[side].append(run(settings, work))
            except Absent as what:
                absent.append(side)
                print(f"{name}: {side} is left out: {what} is not there", flush=True)
    samples = {side: values for side, values in samples.items() if values}
    for side, values in samples.items():
        print(f"{name}: {side} {statistics.median(values):.3g} {unit}, worst {max(values):.3g}", flush=True)
    return {"row": name, "title": title, "unit": unit, "samples": samples}


def measure_mnist(name, settings, seeds):
    """One training for each seed: its seconds and the accuracy on the test images when it ends."""
    times, accuracies = [], []
    for seed in seeds:
        seconds, text = ours(settings, "mnist", TARGETS[name], seed)
        times.append(None if settings.untimed else seconds[0])
        accuracies.append(float(re.search(r"accuracy (.*)", text).group(1)))
        print(f"{name}: seed {seed} {seconds[0]:.2f} s {accuracies[-1]:.2f} %", flush=True)
    return {"row": name, "seeds": list(seeds), "seconds": times, "accuracies": accuracies}


def shown(value, unit):
    return f"{value:.3g} {unit}" if value < 1000 else f"{value:,.0f} {unit}"


def tables(entries):
    """The rows of the log, as Markdown; of each row the last run with most sides, and the median of minnow's in another run."""
    runs, labels = {}, {}
    for entry in entries:
        label = (entry["row"], entry["run"])
        if "samples" in entry and label in labels:  # rounds of one run that were measured apart
            for side, values in entry["samples"].items():
                labels[label]["samples"].setdefault(side, []).extend(values)
            continue
        labels[label] = entry
        runs.setdefault(entry["row"], []).append(entry)
    lines = ["| | minnow | peer | its time | ratio | minnow in another run |", "|---|---|---|---|---|---|"]
    for name in ROWS:
        if name not in runs:
            continue
        last = max(reversed(runs[name]), key=lambda entry: len(entry["samples"]))
        others_of_row, unit = [entry for entry in runs[name] if entry is not last], last["unit"]
        mine = last["samples"]["minnow"]
        others = {side: values for side, values in last["samples"].items() if side != "minnow"}
        before = statistics.median(others_of_row[-1]["samples"]["minnow"]) if others_of_row else None
        for i, (side, values) in enumerate(others.items()):
            title = last["title"] if i == 0 else ""
            own = f"{shown(statistics.median(mine), unit)}, worst {shown(max(mine), unit)}" if i == 0 else ""
            again = shown(before, unit) if before and i == 0 else ""
            lines.append(f"| {title} | {own} | {side} | {shown(statistics.median(values), unit)}, worst {shown(max(values), unit)} | "
                         f"{statistics.median(values) / statistics.median(mine):.1f} | {again} |")
    lines += ["", "| MNIST, seeds | time: median, worst of the runs that were timed | test accuracy: lowest, median | seeds that reach it |", "|---|---|---|---|"]
    for name, target in TARGETS.items():
        entries_of = runs.get(name, [])
        kept = {seed: a for entry in entries_of for seed, a in zip(entry["seeds"], entry["accuracies"])}
        times = [s for entry in entries_of for s in entry["seconds"] if s]
        if kept and times:
            accuracies = list(kept.values())
            reached = sum(a >= float(target) for a in accuracies)
            lines.append(f"| {target} %, {len(kept)} | {statistics.median(times):.3g} s, {max(times):.3g} s, {len(times)} runs | {min(accuracies):.2f} %, "
                         f"{statistics.median(accuracies):.2f} % | {reached} of {len(kept)} |")
    return "\n".join(lines)


def write_page(log):
    text = PAGE.read_text(encoding="utf-8")
    begin, end = "<!-- records -->\n", "<!-- end of records -->"
    head, _, rest = text.partition(begin)
    _, _, tail = rest.partition(end)
    entries = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    PAGE.write_text(f"{head}{begin}\n{tables(entries)}\n\n{end}{tail}", encoding="utf-8")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=HERE.parent / "build/release", help="minnow's build folder")
    parser.add_argument("--only", action="append", choices=[*ROWS, *TARGETS], help="a row; may be repeated")
    parser.add_argument("--rounds", type=int, default=3, help="how often each side runs")
    parser.add_argument("--seeds", default=f"1-{SEEDS}", help="of the rows on MNIST, FIRST-LAST")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data", default=compare.default_data(), help="folder of the MNIST files")
    parser.add_argument("--work", type=Path, help="a folder for weights and files, which is kept")
    parser.add_argument("--llm-c", type=Path)
    parser.add_argument("--ggml", type=Path)
    parser.add_argument("--tinytorch", type=Path)
    parser.add_argument("--torch-python", default=os.environ.get("MINNOW_TORCH_PYTHON"))
    parser.add_argument("--log", type=Path, help="append each row to this file as a line of JSON")
    parser.add_argument("--untimed", action="store_true", help="of the rows on MNIST keep the accuracy alone: the machine is busy")
    parser.add_argument("--run", default=str(int(time.time())), help="a name: rounds of one run may be measured apart")
    parser.add_argument("--write", action="store_true", help="write the tables of docs/records.md from --log, and measure nothing")
    return parser.parse_args()


def main():
    settings = parse()
    if settings.write:
        return write_page(settings.log)
    os.environ["MINNOW_DATA"] = settings.data
    settings.build = settings.build.resolve()
    first, _, last = settings.seeds.partition("-")
    with tempfile.TemporaryDirectory() as folder:
        work = (settings.work or Path(folder)).resolve()
        work.mkdir(parents=True, exist_ok=True)
        for name in settings.only or [*ROWS, *TARGETS]:
            row = measure_mnist(name, settings, range(int(first), int(last or first) + 1)) if name in TARGETS else \
                measure(name, settings, work)
            row.update(date=datetime.date.today().isoformat(), run=settings.run)
            if settings.log:
                with open(settings.log, "a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
    return None


if __name__ == "__main__":
    main()

"""What compare.py measures beside its rows: --start, --scaling, --deterministic, --accuracy."""

import re
import statistics
import subprocess
import sys
import time

SEEDS = 5
# The steps whose scaling and price of the deterministic mode are measured.
STEPS = ["cnn_step_adam", "gpt_step"]


def spend(command, environment):
    """Seconds of a process and the peak resident size in MB that it prints."""
    start = time.perf_counter()
    done = subprocess.run([*map(str, command)], env=environment, stdout=subprocess.PIPE, text=True)
    seconds = time.perf_counter() - start
    peak = re.search(r"VmHWM:\s*(\d+) kB", done.stdout)
    if done.returncode or not peak:
        sys.exit(f"{command[0]} failed with {done.returncode}: {done.stdout[-200:]}")
    return seconds, int(peak.group(1)) * 1.024e-3


def start(build, here, sides, rounds, line):
    """A process that makes a tensor, adds and prints."""
    commands = {"minnow": [build / "benchmarks/start"]}
    for side in sides:
        if side.label == "PyTorch":
            commands["PyTorch"] = [side.command[0], here / "pytorch/start.py"]
    print(line(["start to first result", "seconds", "resident"], 24))
    for label, command in commands.items():
        spend(command, sides[0].environment)  # its files are in the cache of the system from here on
        runs = [spend(command, sides[0].environment) for _ in range(max(5, rounds))]
        print(line([label, f"{statistics.median(r[0] for r in runs) * 1e3:.1f} ms",
                    f"{statistics.median(r[1] for r in runs):.1f} MB"], 24), flush=True)


def seconds_of(sides, name, rounds, repeat):
    """The median time of each side, measured in turn."""
    times = {key: [] for key in sides}
    for _ in range(rounds):
        for key, side in sides.items():
            answer = side.measure(name, repeat)
            if "error" in answer:
                sys.exit(f"{name}: {side.label}: {answer['error']}")
            times[key].append(answer["seconds"])
    return {key: statistics.median(samples) for key, samples in times.items()}


def with_option(side, option, value=None):
    """The same program with another option."""
    command = list(side.command)
    if value is None:
        command.append(option)
    else:
        command[command.index(option) + 1] = str(value)
    environment = dict(side.environment)
    if option == "--threads":
        environment.update(OMP_NUM_THREADS=str(value), MKL_NUM_THREADS=str(value))
    return type(side)(side.label, command, environment)


def scaling(sides, threads, arguments, line, text):
    """Steps with one thread and with more."""
    print(line(["step", "side", "1 thread", f"{threads} threads", "speedup"], 16))
    for name in arguments.only or STEPS:
        for side in sides:
            pair = {n: with_option(side, "--threads", n) for n in (1, threads)}
            times = seconds_of(pair, name, arguments.rounds, arguments.repeat)
            print(line([name, side.label, text(times[1]), text(times[threads]), f"{times[1] / times[threads]:.2f}"], 16),
                  flush=True)
            for program in pair.values():
                program.close()


def deterministic(side, arguments, line, text):
    """Steps without and with set_deterministic(true)."""
    pair = {"free": side, "deterministic": with_option(side, "--deterministic")}
    print(line(["step", "free", "determ.", "price"], 16))
    for name in arguments.only or STEPS:
        times = seconds_of(pair, name, arguments.rounds, arguments.repeat)
        print(line([name, text(times["free"]), text(times["deterministic"]),
                    f"{times['deterministic'] / times['free']:.2f}"], 16), flush=True)
    pair["deterministic"].close()


def accuracy(sides, line, text):
    """Time until the CNN has 99 % on MNIST's test images: each side once for each seed, in turn."""
    sides = [side for side in sides if side.label != "LibTorch"]
    times = {side.label: [] for side in sides}
    print(line(["seed", *times, "tests"], 6))
    for seed in range(1, SEEDS + 1):
        tests = {}
        for side in sides:
            answer = side.measure("cnn_to_99", seed)
            if "error" in answer:
                sys.exit(f"cnn_to_99: {side.label}: {answer['error']}")
            times[side.label].append(answer["seconds"])
            tests[side.label] = len(answer["values"])
        print(line([seed, *(text(samples[-1]) for samples in times.values()), str(tests)], 6), flush=True)
    medians = {label: statistics.median(samples) for label, samples in times.items()}
    print(line(["median", *map(text, medians.values()), ""], 6))
    if "PyTorch" in medians:
        print(f"ratio {medians['minnow'] / medians['PyTorch']:.2f}")

"""Times every public function and layer beside PyTorch in many shapes, layouts and dtypes, with one thread and two.

    benchmarks/sweep.py                        all rows; what stands in BUILD/sweep.jsonl is not timed again
    benchmarks/sweep.py NAME ...               these functions: conv2d, nn::Linear, sum/rows
    benchmarks/sweep.py --growth               which functions take over 13 times as long at ten times the size
    benchmarks/sweep.py --report               the table from the rows that are there, without timing
    benchmarks/sweep.py --write                the same as benchmarks/results/sweep-<date>.md
    benchmarks/sweep.py --quick                small, as a test: also that every function of docs/ has a row or a reason

The functions are described in benchmarks/sweep (table.py says how).  Both sides run in turn on the same numbers; a
row's time is the least of three samples: of the processor's time with one thread, else of the clock.  Rows above 1.2 are
timed again when all are done, and the least of both times counts, for either side.
PyTorch is searched in --torch-python, $MINNOW_TORCH_PYTHON and python3; without it minnow runs alone.
"""

import argparse
import datetime
import json
import os
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "sweep"))
import compare  # noqa: E402
import table  # noqa: E402
import layers  # noqa: E402, F401
import operations  # noqa: E402, F401
import operations_of_parts  # noqa: E402, F401
import unswept  # noqa: E402

ABOVE = 1.2
# A call that takes longer is timed once.
SLOW = 2.0
# Mean of a sample of elements, beside its mean magnitude: sums in other orders and other roundings.
TOLERANCES = {"float32": 2e-3, "float64": 1e-5, "bfloat16": 4e-2, "float16": 1e-2}


def differ(function, dtype, ours, theirs):
    """Why two digests are not of the same results; empty if they are."""
    if function.check == "none" or function.check == "wide" and dtype not in table.WIDE:
        return ""
    if len(ours) != len(theirs):
        return f"{len(ours) // 2} and {len(theirs) // 2} results"
    # What should be 0 is the rounding of the terms that cancel.
    rounding = 0 if dtype == "float64" else 1e-5 * max(filter(compare.is_finite, theirs[1::2]), default=0)
    for at, (a, b) in enumerate(zip(ours, theirs)):
        size = theirs[at | 1]
        if function.check == "size" and at % 2 == 0 or not all(map(compare.is_finite, (a, b, size))):
            continue
        if abs(a - b) > max(TOLERANCES.get(dtype, 1e-6) * max(abs(size), 1e-7), rounding):
            return f"result {at // 2}: {a:.5g} and {b:.5g}"
    return ""


class Sweep:
    """The programs of both sides."""

    def __init__(self, commands, sample):
        self.commands, self.sample = commands, sample
        self.sides = {label: self.start(label) for label in commands}

    def start(self, label):
        environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"}
        environment.update(OMP_NUM_THREADS="2", MKL_NUM_THREADS="2")
        return compare.Side(label, self.commands[label], environment)

    def ask(self, label, request):
        answer = self.sides[label].ask(request)
        if "has ended" in answer.get("error", ""):
            self.sides[label] = self.start(label)
        return answer

    def close(self):
        for side in self.sides.values():
            side.close()

    def time(self, row, threads):
        """{label: seconds} of a row, and what went wrong."""
        clock = "cpu" if threads == 1 else "wall"
        seconds, digests, counts = {}, {}, {}
        for label in self.sides:
            first = self.ask(label, "prepare " + row.request())
            if "error" in first:
                return seconds, f"{label}: {first['error']}"
            digests[label] = first["values"]
            seconds[label] = first["seconds"]
        problem = ""
        if len(digests) == 2:
            problem = differ(table.FUNCTIONS[row.function], row.dtype, *digests.values())
        for label in self.sides:
            if seconds[label] < 5 * SLOW:  # a first call may load a library
                answer = self.ask(label, f"run 1 {threads}")
                if answer.get(clock, 0) < self.sample / 10:  # the first runs wake threads and fill caches
                    answer = self.ask(label, f"run 5 {threads}")
                if "error" in answer:
                    return seconds, f"{label}: {answer['error']}"
                seconds[label] = answer[clock]
            counts[label] = max(1, round(self.sample / max(seconds[label], 1e-7)))
        for _ in range(3):
            for label in self.sides:
                if seconds[label] * 3 < SLOW:
                    answer = self.ask(label, f"run {counts[label]} {threads}")
                    seconds[label] = min(seconds[label], answer.get(clock, seconds[label]))
        return seconds, problem


def key(row, threads):
    return f"{threads} {row.request()}"


def urgency(item):
    """What is timed first: one thread, float32 and float64."""
    row, threads = item
    return threads != 1, row.dtype not in table.WIDE


def read(path):
    rows = {}
    if path.exists():
        for line in path.read_text().splitlines():
            try:
                found = json.loads(line)
                rows[found["key"]] = found
            except (ValueError, KeyError):
                pass  # cut off in the middle of a line
    return rows


def describe(row):
    layouts = {"t": "transposed", "n": "channels last", "s": "strided", "b": "broadcast"}
    shapes = [("" if spec[2] == "-" else spec[2].replace("x", ",")) for spec in row.inputs]
    shapes = [f"[{s}]" + (f" {layouts[spec[3]]}" if spec[3] in layouts else "") for s, spec in zip(shapes, row.inputs)]
    return " ".join(shapes) + (f" ({', '.join(map(str, row.numbers))})" if row.numbers else "")


def selected(arguments):
    known = {name.partition("/")[0] for name in table.FUNCTIONS} | set(table.FUNCTIONS)
    for name in arguments.names:
        if name not in known:
            sys.exit(f"there is no function '{name}' in benchmarks/sweep")
    functions = [f for f in table.FUNCTIONS.values()
                 if not arguments.names or f.name in arguments.names or f.name.partition("/")[0] in arguments.names]
    return functions


def summary(rows):
    """A line for each function: rows, median and worst ratio, and how many are above 1.2; the worst first."""
    ratios = {}
    for r in rows:
        ratios.setdefault(r["function"], []).append(r["ratio"])
    lines = [compare.table_line(["function", "rows", "median", "worst", "above 1.2"]), "|---" * 5 + "|"]
    for name, found in sorted(ratios.items(), key=lambda item: -max(item[1])):
        lines.append(compare.table_line([name, str(len(found)), f"{statistics.median(found):.2f}", f"{max(found):.2f}",
                                         str(sum(r > 1.2 for r in found))]))
    return lines


def report(rows, about):
    """The lines of the report, worst first."""
    compared = sorted((r for r in rows if r.get("ratio")), key=lambda r: -r["ratio"])
    ratios = [r["ratio"] for r in compared]
    problems = [r for r in rows if r["problem"]]
    above = {limit: sum(r > limit for r in ratios) for limit in (1.2, 2)}
    lines = [about, "",
        f"{len(compared)} rows of {len({r['function'] for r in rows})} functions (function, shapes, dtype, "
             f"layout, direction, threads), median ratio {statistics.median(ratios) if ratios else 0:.2f}; above 1.2: "
             f"{above[1.2]} ({100 * above[1.2] / max(1, len(ratios)):.1f} %), above 2: {above[2]}; "
             f"rows with a problem: {len(problems)}.", ""]
    header = ["function", "shapes", "dtype", "direction", "threads", "minnow us", "PyTorch us", "ratio"]
    lines += ["Rows above 1.2:", "", compare.table_line(header), "|---" * len(header) + "|"]
    for r in compared[:above[1.2]]:
        cells = [r["function"], r["shapes"], r["dtype"], r["direction"], r["threads"],
                 f"{r['minnow'] * 1e6:.1f}", f"{r['PyTorch'] * 1e6:.1f}", f"{r['ratio']:.2f}"]
        lines.append(compare.table_line(list(map(str, cells))))
    lines += ["", *summary(compared)] if compared else []
    if problems:
        lines += ["", "Problems:", ""]
        lines += [f"- {r['function']} {r['shapes']} {r['dtype']} {r['direction']}: {r['problem']}" for r in problems]
    return lines


def run_rows(sweep, wanted, done, log, quiet, confirms=False):
    for number, (row, threads) in enumerate(wanted, 1):
        before = done.get(key(row, threads), {})
        if before and (before.get("ratio", 0) <= ABOVE or before.get("confirmed") or not confirms):
            continue
        seconds, problem = sweep.time(row, threads)
        if confirms:
            seconds = {label: min(s, before[label]) for label, s in seconds.items()}
        result = {"key": key(row, threads), "function": row.function, "shapes": describe(row), "dtype": row.dtype,
                  "direction": row.direction, "threads": threads, **seconds, "problem": problem}
        if confirms:
            result["confirmed"] = True
        if {"minnow", "PyTorch"} <= set(seconds) and not problem.startswith(("minnow", "PyTorch")):
            result["ratio"] = seconds["minnow"] / seconds["PyTorch"]
        done[result["key"]] = result
        with log.open("a") as file:
            print(json.dumps(result), file=file)
        ratio = f"{result['ratio']:.2f}" if "ratio" in result else "-"
        if problem or not quiet:
            what = f"{row.function} {describe(row)} {row.dtype} {row.direction} {threads} threads: "
            print(f"{number}/{len(wanted)} {what}"
                  + ", ".join(f"{label} {compare.time_text(s)}" for label, s in seconds.items())
                  + f", ratio {ratio} {problem}", flush=True)


def grown(sweep, functions):
    """Prints where the time grows faster than its bound; how many.

    Memory that no longer fits into a cache makes any loop grow faster: beside PyTorch a function counts if its time
    grows over 1.3 times as fast as there, and is the longer one in the end."""
    bad = 0
    for f in functions:
        for small, large, bound in table.growth(f):
            (before, problem), (after, more) = sweep.time(small, 1), sweep.time(large, 1)
            growths = {label: after[label] / before[label] for label in before if label in after}
            ours, theirs = growths.get("minnow", 0), growths.get("PyTorch", 0)  # whose memory has the same caches
            if problem or more:
                text = problem or more
            elif ours > max(bound, 1.3 * theirs) and after["minnow"] > after.get("PyTorch", 0):
                ratio = f", ratio then {after['minnow'] / after['PyTorch']:.2f}" if "PyTorch" in after else ""
                text = f"{ours:.1f} times, {bound:g} allowed, PyTorch {theirs:.1f}{ratio}"
            else:
                continue
            bad += 1
            print(f"{f.name} {small.direction} {describe(small)} -> {describe(large)}: {text}", flush=True)
    return bad


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a function of docs/operations.md, or a layer")
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parent / "build/release",
        help="minnow's build folder")
    parser.add_argument("--program", type=pathlib.Path, help="the built program, if it is not BUILD/benchmarks/sweep")
    parser.add_argument("--torch-python", help="an interpreter that has PyTorch")
    parser.add_argument("--alone", action="store_true", help="minnow without PyTorch")
    parser.add_argument("--threads", type=int, action="append", help="1 or 2; may be repeated (default: both)")
    parser.add_argument("--sample", type=float, default=0.01, help="seconds of a sample")
    parser.add_argument("--log", type=pathlib.Path, help="the rows as lines of JSON (default: BUILD/sweep.jsonl)")
    parser.add_argument("--again", action="store_true", help="time rows again that the log has")
    parser.add_argument("--quick", action="store_true", help="few shapes, short samples: whether it works")
    parser.add_argument("--growth", action="store_true", help="how the time grows with the size")
    parser.add_argument("--report", action="store_true", help="time nothing")
    parser.add_argument("--write", nargs="?", type=pathlib.Path,
        const=HERE / f"results/sweep-{datetime.date.today()}.md",
                        help="write the report to a file (default: benchmarks/results/sweep-<date>.md)")
    return parser.parse_args()


def main():
    arguments = parse()
    functions = selected(arguments)
    commands = {"minnow": [arguments.program or arguments.build / "benchmarks/sweep"]}
    about = "minnow alone."
    if not arguments.alone and (found := compare.find_torch(arguments)):
        commands["PyTorch"] = [found[0], HERE / "pytorch/sweep.py"]
        about = f"PyTorch {found[1]}."
    log = arguments.log or arguments.build / ("sweep-quick.jsonl" if arguments.quick else "sweep.jsonl")
    if arguments.quick and log.exists():
        log.unlink()
    threads = arguments.threads or [1, 2]
    wanted = sorted(((row, t) for f in functions for row in table.rows(f, arguments.quick) for t in threads),
        key=urgency)
    done = {} if arguments.again else read(log)
    if not arguments.report:
        sweep = Sweep(commands, 0.0001 if arguments.quick else arguments.sample)
        if arguments.growth:
            bad = grown(sweep, functions)
            sweep.close()
            return 1 if bad else 0
        run_rows(sweep, wanted, done, log, arguments.quick)
        if not arguments.quick:
            run_rows(sweep, wanted, done, log, arguments.quick, confirms=True)
        sweep.close()
    rows = [done[k] for row, t in wanted if (k := key(row, t)) in done]
    where = compare.processor()
    lines = report(rows, f"{about} Both sides in turn, least of three samples, and of six for rows above 1.2; one "
                         "thread: processor time, two threads: wall time.")
    if arguments.write:
        arguments.write.write_text("\n".join([f"# Sweep of {datetime.date.today()}, {where}", "", *lines]) + "\n")
        print(f"written to {arguments.write}")
    print("\n".join(lines[:40]))
    missing = unswept.missing(HERE.parent / "docs") if arguments.quick and not arguments.names else []
    for name in missing:
        print(f"{name} is in docs/, but neither in the tables of benchmarks/sweep nor in unswept.py")
    return 1 if missing or any(r["problem"] for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())

"""benchmarks/compare.py survives wrong answers: NaN, text that is no JSON, a program that ends.

compare_test.py SOURCE_FOLDER
"""

import importlib.util
import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import types

source = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(source / "benchmarks"))
spec = importlib.util.spec_from_file_location("compare", source / "benchmarks/compare.py")
compare = importlib.util.module_from_spec(spec)
spec.loader.exec_module(compare)

ANSWERS = {"good": '{"name": "good", "variant": "", "seconds": 2, "values": [1, 1]}',
           "null": '{"name": "null", "variant": "", "seconds": 2, "values": [null, 1]}',
           "nan": '{"name": "nan", "variant": "", "seconds": 2, "values": [NaN, 1]}',
           "bad": '{"name": "bad", "variant": "", "seconds": nan, "values": []}',
           "absent": '{"name": "absent", "error": "there is no such workload"}',
           "cnn_epoch": '{"name": "cnn_epoch", "variant": "", "seconds": 0.5, "values": [1, 1]}'}
PROGRAM = f"""#!{sys.executable}
import sys
answers = {ANSWERS!r}
if "--list" in sys.argv:
    print(*answers, "last")
for line in sys.stdin if "--serve" in sys.argv else []:
    if line.startswith("last"):
        break
    print(answers[line.split()[0]], flush=True)
"""


def expect(condition, what):
    if not condition:
        sys.exit(f"compare_test.py: {what}")


with tempfile.TemporaryDirectory() as folder:
    program = pathlib.Path(folder) / "benchmarks/workloads"
    program.parent.mkdir()
    program.write_text(PROGRAM)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    arguments = types.SimpleNamespace(rounds=2, repeat=1, device="cpu")
    sides = [compare.Side(label, [program], os.environ) for label in ("minnow", "PyTorch")]
    rows = {name: compare.compare(name, sides, arguments) for name in (*ANSWERS, "last")}
    for side in sides:
        side.close()
    report = pathlib.Path(folder) / "report.md"
    worse = {}
    for ratio in ("0.86", "0.88"):
        report.write_text(f"| workload | minnow | PyTorch | ratio |\n|---|---|---|---|\n| good | 1 s | 1 s | {ratio} |\n"
                          "| bad | 1 s | 1 s | 1.00 | minnow computed NaN |\n| gone | 1 s | 1 s | 0.50 |\n")
        before = compare.ratios_of(report)
        worse[ratio] = [compare.regressions([rows[name] for name in ("good", "bad", "null")], before, only, report.name)
                        for only in (None, ["good", "bad", "null"])]

    def against(path, *options):
        """Of a comparison with the table `path`: the exit status, the rows that were measured, and the messages."""
        done = subprocess.run([sys.executable, source / "benchmarks/compare.py", "--build", folder, "--torch-python", "none",
                               "--no-libtorch", "--data", "", "--against", path, *options],
                              env={"PATH": folder}, capture_output=True, text=True)
        return done.returncode, done.stdout.count("| "), done.stderr

    good = against(report, "--only", "good")
    report.write_text("| workload | minnow |\n|---|---|\n| good | 1.00 |\n")
    bad = against(report), against(pathlib.Path(folder) / "none.md"), against(folder)
    done = subprocess.run([sys.executable, source / "benchmarks/compare.py", "--build", folder, "--torch-python", "none",
                           "--no-libtorch", "--device", "cuda", "--data", ""], env={"PATH": folder}, capture_output=True, text=True)

expect(rows["good"]["problems"] == [] and rows["good"]["ratio"] == 1, f"a good answer: {rows['good']}")
for name in ("null", "nan"):
    expect(rows[name]["problems"][0] == "minnow computed NaN or infinity", f"{name}: {rows[name]}")
    expect(rows[name]["seconds"]["minnow"] == 2, f"the time is shown beside it: {rows[name]}")
expect("minnow answered" in rows["bad"]["problems"][0], f"a bad line: {rows['bad']}")
expect("minnow has ended" in rows["last"]["problems"][0], f"a program that ends: {rows['last']}")
names = {ratio: [[line.split(":")[0] for line in lines] for lines in worse[ratio]] for ratio in worse}
expect(names["0.86"] == [["good", "bad", "gone"], ["good", "bad", "null"]],
       f"a ratio 16 % worse, one that is missing now, a row that is gone, and one that the table lacks: {worse}")
expect(names["0.88"] == [["bad", "gone"], ["bad", "null"]], f"a ratio 14 % worse is no regression: {worse}")
expect(good[0] == 1 and "good: no ratio, 0.88 in report.md" in good[2], f"a row without PyTorch: {good}")
for done_bad, what in zip(bad, ("it has no ratios", "cannot be read", "cannot be read")):
    expect(done_bad[0] == 1 and done_bad[1] == 0 and what in done_bad[2] and "Traceback" not in done_bad[2],
           f"a bad table is an error before the first row: {done_bad}")
expect(rows["absent"]["problems"] == ["minnow: there is no such workload"], f"a row that only minnow must have: {rows['absent']}")
lines = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("| ")]
goals = [goal[0].split()[0] for goal in compare.GOALS]
expect(done.returncode == 1 and lines == ["workload", "cnn_epoch", *goals, "good", "null", "nan", "bad", "absent", "last"],
       f"every row, those of the goals first, then the goals, and failure:\n{done.stdout}{done.stderr}")

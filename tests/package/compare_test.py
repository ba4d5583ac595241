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
                          "| bad | 1 s | 1 s | 1.00 |\n")
        worse[ratio] = compare.regressions([rows["good"], rows["bad"], rows["null"]], report)
    done = subprocess.run([sys.executable, source / "benchmarks/compare.py", "--build", folder, "--torch-python", "none",
                           "--no-libtorch", "--device", "cuda", "--data", ""], env={"PATH": folder}, capture_output=True, text=True)

expect(rows["good"]["problems"] == [] and rows["good"]["ratio"] == 1, f"a good answer: {rows['good']}")
for name in ("null", "nan"):
    expect(rows[name]["problems"][0] == "minnow computed NaN or infinity", f"{name}: {rows[name]}")
    expect(rows[name]["seconds"]["minnow"] == 2, f"the time is shown beside it: {rows[name]}")
expect("minnow answered" in rows["bad"]["problems"][0], f"a bad line: {rows['bad']}")
expect("minnow has ended" in rows["last"]["problems"][0], f"a program that ends: {rows['last']}")
expect([line.split(":")[0] for line in worse["0.86"]] == ["good", "bad"], f"a ratio 16 % worse, and a missing one: {worse}")
expect([line.split(":")[0] for line in worse["0.88"]] == ["bad"], f"a ratio 14 % worse is no regression: {worse}")
expect(rows["absent"]["problems"] == ["minnow: there is no such workload"], f"a row that only minnow must have: {rows['absent']}")
lines = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("| ")]
goals = [goal[0].split()[0] for goal in compare.GOALS]
expect(done.returncode == 1 and lines == ["workload", "cnn_epoch", *goals, "good", "null", "nan", "bad", "absent", "last"],
       f"every row, those of the goals first, then the goals, and failure:\n{done.stdout}{done.stderr}")

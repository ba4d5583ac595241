"""running_test.py PAGE PROGRAM SANITIZED: the commands of docs/cookbook/running.md that any machine can run.

PROGRAM: the first tutorial's, which throws and catches an error.  SANITIZED: a program with sanitizers, or "" where
none is built.
"""

import os
import re
import shutil
import subprocess
import sys

page, program, sanitized = sys.argv[1:]


def run(*command, **environment):
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, **environment), timeout=300)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


with open(page, encoding="utf-8") as file:
    scripts = re.findall(r"^```bash.*?\n(.*?)^```", file.read(), flags=re.M | re.S)
assert len(scripts) >= 6, scripts
for script in scripts:
    run("bash", "-n", "-c", script)

whole = run(program)
assert run(program, OMP_NUM_THREADS="2") == run(program, OMP_NUM_THREADS="1") == whole
if shutil.which("taskset"):
    assert run("taskset", "-c", str(min(os.sched_getaffinity(0))), program) == whole
if shutil.which("gdb"):
    told = run("gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "catch throw", "-ex", "run",
               "-ex", "backtrace", program)
    if "Operation not permitted" not in told:
        assert re.search(r"#\d+ .* in main", told), told
if sanitized:
    run(sanitized)

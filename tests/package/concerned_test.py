"""ctest takes the expression of tests/concerned.py, also where many names stand on one, and finds what it is about.

concerned_test.py SOURCE_FOLDER CTEST
"""

import subprocess
import sys
import tempfile
from pathlib import Path

source, ctest = sys.argv[1:]
TESTS = ["ops.softmax.cpu", "emulated.ops.rows_softmax", "nn.multihead_attention.cpu", "nn.linear_layers", "data.csv.reads_gzip"]
CASES = {"softmax": TESTS[:3], "read_csv": ["data.csv.reads_gzip"]}

with tempfile.TemporaryDirectory() as folder:
    Path(folder, "CTestTestfile.cmake").write_text("".join(f'add_test([=[{name}]=] "true")\n' for name in TESTS))
    for name, wanted in CASES.items():
        printed = subprocess.run([sys.executable, "-B", f"{source}/tests/concerned.py", name], capture_output=True, text=True,
                                 check=True).stdout
        result = subprocess.run([ctest, "-N", "-R", printed.splitlines()[1]], cwd=folder, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        found = [line.split(": ")[1] for line in result.stdout.splitlines() if "Test #" in line]
        if found != wanted:
            sys.exit(f"./run test {name}: of {TESTS} it takes {found}, not {wanted}\n{result.stdout}")
print("./run test NAME takes the tests that concern the name")

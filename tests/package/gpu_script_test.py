"""All stages of .ci/gpu on tests of the emulated GPU, with a false nvidia-smi, compute-sanitizer, example and ./run.

gpu_script_test.py SOURCE_FOLDER BUILD_FOLDER
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

source, build = map(Path, sys.argv[1:3])

SMI = """case "$*" in
*compute_cap,memory*) echo "name, driver_version"; echo "False GPU, 580.1" ;;
*compute_cap*) echo 8.0 ;;
*name,driver_version*) echo "False GPU, 580.1" ;;
-L) echo "GPU 0: False GPU" ;;
esac"""
SANITIZER = """while [[ $1 == --* ]]; do
  [[ $1 == --version ]] && { echo 2025.3; exit; }
  case $1 in *-exitcode | --tool | *-errors) shift ;; esac
  shift
done
exec "$@" """
COMPARE = """import sys
print("| CNN epoch, eager | <= 0.7 s | 0.5 s | yes |")
print("| add_1 | 1 ms | 1 ms | 1.00 |")
"""
MNIST = """import json, sys
with open(sys.argv[sys.argv.index("--log") + 1], "w") as log:
    for name, value in (("seconds", 0.5), ("test/accuracy", 0.99)):
        print(json.dumps({"name": name, "value": value}), file=log)"""
FAILING = """[[ $* == *list_tests* ]] && { printf 'Suite.\\n  fails_cuda\\n'; exit; }
[[ $* == *Suite.fails_cuda* ]] && echo "alone, debug ${MINNOW_CUDA_DEBUG:-off}" && exit 1
[[ $GTEST_SHARD_INDEX == 3 ]] && { echo "[  FAILED  ] Suite.fails_cuda (3 ms)"; exit 1; }
exit 0"""


def program(path, text, shell="bash"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/usr/bin/env {shell}\n{text}\n")
    path.chmod(0o755)


def expect(condition, what, output):
    if not condition:
        sys.exit(f"{what}\n{output}")


with tempfile.TemporaryDirectory() as folder:
    root = Path(folder)
    (root / ".ci").mkdir()
    (root / "out").mkdir()
    shutil.copy(source / ".ci/gpu", root / ".ci/gpu")
    program(root / "run", "echo \"MINNOW_NO_INSTALL=$MINNOW_NO_INSTALL ./run $*\"")
    (root / "benchmarks/results").mkdir(parents=True)
    (root / "benchmarks/compare.py").write_text(COMPARE)
    for name, text in {"nvidia-smi": SMI, "compute-sanitizer": SANITIZER, "cmake": "echo cmake 3.25"}.items():
        program(root / "bin" / name, text)
    tests = root / "build/gpu/tests"
    tests.mkdir(parents=True)
    for name, emulated in {"minnow_smoke": "minnow_smoke_emulated", "minnow_tests_captured": "minnow_tests_captured_emulated",
                           "minnow_tests_cuda": "minnow_tests_cuda"}.items():
        (tests / name).symlink_to(build / "tests" / emulated)
    for name in ("ops", "tensor"):  # no test of theirs is chosen here
        (tests / f"minnow_tests_{name}").symlink_to(build / "tests/minnow_tests_captured_emulated")
    examples = root / "build/gpu/examples"
    examples.mkdir()
    program(examples / "mnist", MNIST, "python3")
    program(examples / "devices", "exit 0")

    def gpu(*stages, **variables):
        emulated = {"MINNOW_CUBLASLT": "cublasLt.so.13", "MINNOW_CUDNN": "cudnn.so.9",
                    "MINNOW_CUFFT": "cufft.so.12"}  # before those of this machine
        emulated = {name: str(build / f"emulator/lib{file}") for name, file in emulated.items()}
        environment = {**os.environ, **emulated, "PATH": f"{root / 'bin'}:{os.environ['PATH']}", "OUT": str(root / "out"),
                       "MINNOW_COMMIT": "0123456", "MINNOW_DATA": "", **variables}
        done = subprocess.run([root / ".ci/gpu", *stages], env=environment, capture_output=True, text=True, timeout=900)
        return done.returncode, done.stdout + done.stderr

    def lines(output):
        return {line.split()[0]: line for line in output.splitlines() if " ok  " in line or "FAILED " in line}

    status, output = gpu()
    found = lines(output.rpartition("commit 0123456")[2])
    for stage in ("machine", "build", "smoke", "tests", "example", "benchmarks", "sanitizer", "run"):
        expect(stage in found and " ok " in found[stage], f"the stage {stage} is not ok", output)
    expect(status == 0, f"status {status}", output)
    machine = (root / "out/machine.txt").read_text()
    for text in ("False GPU", "libcudnn.so.9", "torch", "nvcc"):
        expect(text in machine, f"{text} is not said of the machine", machine)
    expect("MINNOW_NO_INSTALL=1 ./run mnist" in (root / "out/run.txt").read_text(), "./run would install", output)
    expect("cnn-eager" in output and "99.00 %" in output, "the epochs are not in the table", output)
    expect("yes" in output and "add_1" in output, "the benchmarks are not in the table", output)

    program(tests / "minnow_tests_failing", FAILING)
    (tests / "minnow_tests_captured").unlink()
    status, output = gpu("tests")
    log = (root / "out/tests.txt").read_text()
    expect(status == 1 and "FAILED" in lines(output)["tests"], "a failing test is not seen", output)
    expect("alone, debug 1" in log and "status 1" in log, "what failed does not run again alone", log)

    program(tests / "minnow_smoke", "sleep 100")
    status, output = gpu("smoke", MINNOW_GPU_SECONDS="42")
    expect(status == 1 and "cut short" in output, "a stage without time is not cut", output)
    status, output = gpu("smoke", MINNOW_GPU_SECONDS="20")
    expect(status == 1 and "no time was left" in output, "a stage without time is not left out", output)
    status, output = gpu("nosuch")
    expect(status == 2 and "there is no stage" in output, "an unknown stage is accepted", output)
print("every stage of .ci/gpu ran")

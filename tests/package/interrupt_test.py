"""Ctrl-C in the mnist example: it ends the epoch under way, saves what is trained, and ends well.

interrupt_test.py PROGRAM
"""

import os
import signal
import subprocess
import sys
import tempfile
import time

program = sys.argv[1]


def run(arguments, signal_number=None, limit=120):
    """Runs the program, sends it a signal when it trains; returns exit status and output."""
    child = subprocess.Popen([program, "--synthetic", "--model", "mlp", "--seed", "5", *arguments],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        lines = []
        if signal_number is not None:
            for line in child.stdout:  # which comes when the first epoch's line does
                lines.append(line)
                if line.startswith("parameters:"):
                    break
            time.sleep(0.1)
            child.send_signal(signal_number)
        rest, _ = child.communicate(timeout=limit)
        return child.returncode, "".join(lines) + rest
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()


def expect(condition, what, output):
    if not condition:
        sys.exit(f"{what}\nthe output was:\n{output}")


def accuracy(output):
    """The last one that is printed, in %."""
    found = [line.split("test accuracy")[1].split("%")[0].strip() for line in output.splitlines() if "test accuracy" in line]
    expect(found, "there is no test accuracy", output)
    return float(found[-1])


with tempfile.TemporaryDirectory() as folder:
    for number in (signal.SIGINT, signal.SIGTERM):
        weights = os.path.join(folder, f"{number}.safetensors")
        status, output = run(["--epochs", "10000", "--save", weights], number)
        expect(status == 0, f"exit status {status} after {number.name}", output)
        expect("interrupted: saving" in output, "it does not say that it was interrupted", output)
        expect(f"weights   {weights}" in output, "it does not say where the weights went", output)
        expect(os.path.getsize(weights) > 400_000, "the weights are too small", output)
        others = [f for f in os.listdir(folder) if not f.endswith(".safetensors")]
        expect(not others, f"a temporary file stayed: {others}", output)
        trained = accuracy(output)
        status, output = run(["--epochs", "0", "--load", weights])
        expect(status == 0 and accuracy(output) == trained, f"the weights loaded again are not those of {trained} %", output)
print("interrupted twice; the weights load again")

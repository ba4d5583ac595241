"""finetune_resume_test.py PROGRAM: a fine-tuning that is killed and started again learns with the same losses, also with
--amp; and what it refuses.

PROGRAM is examples/finetune, whose small model needs no file."""

import glob
import os
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
ARGUMENTS = ["--epochs", "12", "--length", "64", "--batch", "2", "--device", "cpu"]


class Resume(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def start(self, run, *more):
        return subprocess.Popen([PROGRAM, *ARGUMENTS, "--run", os.path.join(self.folder, run), *more], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def finish(self, child):
        output, errors = child.communicate(timeout=200)
        self.assertEqual(child.returncode, 0, output + errors)
        return output

    def history(self, run):
        with open(os.path.join(self.folder, run, "history.csv")) as file:
            return file.read()

    def killed_and_resumed(self, *more):
        self.finish(self.start("whole", *more))
        child = self.start("parts", *more)
        end = time.monotonic() + 100  # until the second epoch was saved
        while not glob.glob(os.path.join(self.folder, "parts", "**", "*00000002*"), recursive=True) and child.poll() is None:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.005)
        self.assertIsNone(child.poll(), "it had ended before it was killed")
        child.kill()
        child.communicate()
        self.assertNotIn("epoch 1:", self.finish(self.start("parts", *more)))
        whole, parts = self.history("whole"), self.history("parts")
        self.assertGreater(whole.count("train/loss"), 100)
        self.assertEqual(whole, parts)
        return whole

    def test_what_cannot_be_learned_or_written_is_said_first(self):
        data = os.path.join(self.folder, "chat.jsonl")
        for text in ("", '{"messages": [{"role": "user", "content": "hi"}]}\n'):
            with open(data, "w") as file:
                file.write(text)
            _, errors = self.start("run", "--data", data).communicate(timeout=60)
            self.assertIn(f"of {len(text.splitlines())} conversations none has an answer", errors)
        output, errors = self.start("run", "--output", os.path.join(data, "adapter")).communicate(timeout=60)
        self.assertIn("Not a directory", errors)
        self.assertNotIn("epoch", output)

    def test_a_killed_one(self):
        whole = self.killed_and_resumed()
        with open("/proc/cpuinfo") as file:
            has_bf16 = "avx512_bf16" in file.read()
        if has_bf16:  # elsewhere --amp changes nothing
            self.folder = os.path.join(self.folder, "amp")
            os.makedirs(self.folder)
            self.assertNotEqual(self.killed_and_resumed("--amp", "--pieces", "2"), whole)


unittest.main()

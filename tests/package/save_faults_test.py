"""Saving in the mnist example when the system fails, stalls, or the program is killed.

save_faults_test.py PROGRAM COMPILER...: the compiler makes the library of faults.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import training


class Faults(training.Training):
    def train(self, fault):
        """Trains for a moment and gets a signal while system calls fail."""
        child = self.start("--epochs", "10000", "--save", "x", fault=fault, preload=library)
        self.wait_for_training(child, "epoch 1/")
        child.send_signal(signal.SIGINT)
        return child

    def test_a_write_that_takes_nothing(self):
        errors = self.finish(self.train("write takes nothing"), 1)[1]
        self.assertIn("cannot write 'x'", errors)
        self.assertIn("the weights are lost", errors)
        self.assertEqual(self.files(), [])

    def test_a_full_disk(self):
        errors = self.finish(self.train("disk full"), 1)[1]
        self.assertIn("cannot write 'x'", errors)
        self.assertIn("No space left on device", errors)
        self.assertEqual(self.files(), [])

    def test_a_folder_that_is_not_flushed(self):
        errors = self.finish(self.train("folder fails"), 1)[1]
        self.assertIn("cannot flush the directory of 'x'", errors)
        self.assertIn("x", self.files())

    def stall(self):
        child = self.train("fsync stalls")
        self.assertIn("interrupted: saving", child.stderr.readline())
        time.sleep(0.5)
        return child

    def test_a_second_interrupt_ends_it_at_once(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            child = self.stall()
            child.send_signal(number)
            child.wait(timeout=20)
            self.assertEqual(child.returncode, -number)

    def test_a_killed_save_leaves_nothing_for_ever(self):
        for _ in range(2):
            child = self.stall()
            child.kill()
            child.wait()
            self.assertEqual(len(self.files()), 1, self.files())
        child = self.start("--epochs", "10000", "--save", "x")
        self.wait_for_training(child, "epoch 1/")
        child.send_signal(signal.SIGINT)
        self.finish(child, 130)
        self.assertEqual(self.files(), ["x"])


training.take_program()
compiler = [sys.argv.pop(1) for _ in range(len(sys.argv) - 1)]
with tempfile.TemporaryDirectory() as made:
    library = os.path.join(made, "faults.so")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "faulty_system.cpp")
    subprocess.run([*compiler, "-shared", "-fPIC", source, "-o", library, "-ldl"], check=True)
    unittest.main()

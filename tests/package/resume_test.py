"""--checkpoint and --resume of the mnist example: interrupted trainings end with the weights of one that was not.

resume_test.py PROGRAM
"""

import os
import re
import signal
import time
import unittest

import training

EPOCHS = ["--epochs", "2", "--batch-size", "256"]


class Resume(training.Training):
    def bytes_of(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def test_interrupted_twice(self):
        whole = self.run_to_end(*EPOCHS, "--save", "whole")[0]
        child = self.start(*EPOCHS, "--save", "parts", "--checkpoint", "c")
        for delay in (0.1, 0.3):
            self.wait_for_training(child)
            time.sleep(delay)
            child.send_signal(signal.SIGINT)
            output, errors = child.communicate(timeout=120)
            if child.returncode == 130:  # else it had ended
                self.assertRegex(errors, "^interrupted")
            child = self.start(*EPOCHS, "--save", "parts", "--checkpoint", "c", "--resume", "--workers", "1")
        output, errors = self.finish(child, 0)
        self.assertRegex(output, r"resumed   /.*/c/checkpoint-0000000", errors)
        self.assertEqual(self.bytes_of("parts"), self.bytes_of("whole"))
        figures = re.compile(r"epoch 2/2  (loss \S+  test accuracy \S+)")
        if found := figures.findall(output):  # else it ended before the second signal
            self.assertEqual(found, figures.findall(whole))

    def test_before_the_first_step_nothing_is_saved(self):
        child = self.start(*EPOCHS, "--checkpoint", "c")
        time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=120)
        if "saving" not in errors:
            self.assertEqual(os.listdir(self.path("c")) if os.path.exists(self.path("c")) else [], [])

    def test_without_a_folder(self):
        errors = self.run_to_end("--resume", status=1)[1]
        self.assertIn("--checkpoint FOLDER", errors)
        with open(self.path("file"), "w"):
            pass
        errors = self.run_to_end("--checkpoint", "file/such", status=1)[1]
        self.assertRegex(errors, r"'file/such' cannot be used as a folder  \(mnist.cpp:")

    def test_a_folder_is_made_with_those_above_it(self):
        self.run_to_end("--epochs", "1", "--checkpoint", "no/such")
        self.assertTrue(os.listdir(self.path("no/such")))


training.take_program()
unittest.main()

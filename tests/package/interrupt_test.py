"""Ctrl-C and other signals in the mnist example: trained weights are saved, and older files are not damaged.

interrupt_test.py PROGRAM
"""

import os
import signal
import time
import unittest

import training


class Interrupt(training.Training):
    def test_it_stops_at_once_and_saves(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                child = self.start("--epochs", "10000", "--save", "x.safetensors")
                self.wait_for_training(child)
                time.sleep(1)
                child.send_signal(number)
                output, errors = self.finish(child, 128 + number)
                self.assertEqual(errors.splitlines()[0], "interrupted: saving the weights (a second signal ends at once)")
                self.assertIn("weights   x.safetensors", output)
                # The interrupted epoch is not tested.
                # The signal may come between the last step of an epoch and its test.
                self.assertIn(output.count("938/938") - output.count("test accuracy"), (0, 1), output)
                self.assertGreater(os.path.getsize(self.path("x.safetensors")), 400_000)
                self.assertEqual(self.files(), ["x.safetensors"])
                self.run_to_end("--epochs", "0", "--load", "x.safetensors")

    def test_one_signal_delivered_twice_counts_once(self):
        child = self.start("--epochs", "10000")
        self.wait_for_training(child)
        time.sleep(1)
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGHUP, signal.SIGHUP):
            child.send_signal(number)
        output, errors = child.communicate(timeout=120)
        # Of pending signals the system delivers the lowest number first.
        self.assertIn(child.returncode, (128 + signal.SIGTERM, 128 + signal.SIGHUP), output + errors)
        self.assertEqual(self.files(), ["mnist.safetensors"])

    def test_before_the_first_step_files_are_unchanged(self):
        self.run_to_end("--save", "good", "--dry-run")
        with open(self.path("good"), "w") as file:
            file.write("the good weights")
        for delay in (0.05, 0.1, 0.2):
            child = self.start("--epochs", "10000", "--save", "good")
            time.sleep(delay)
            child.send_signal(signal.SIGINT)
            output, errors = child.communicate(timeout=120)
            self.assertIn(child.returncode, (-signal.SIGINT, 130), output + errors)
            if "weights" in output:
                break  # a machine so fast that it had trained by then
            with open(self.path("good")) as file:
                self.assertEqual(file.read(), "the good weights", output + errors)
        self.assertGreater(delay, 0.05)
        self.assertEqual(self.files(), ["good"])

    def test_a_closed_pipe(self):
        child = self.start("--save", "x")
        self.wait_for_training(child)
        child.stdout.close()  # mnist | head
        errors = child.stderr.read()
        child.wait(timeout=120)
        self.assertEqual(child.returncode, 128 + signal.SIGPIPE, errors)
        self.assertIn("interrupted: saving", errors)
        self.assertGreater(os.path.getsize(self.path("x")), 400_000)

    def test_nohup(self):
        child = self.start("--dry-run", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.wait_for_training(child)
        child.send_signal(signal.SIGHUP)
        self.finish(child, 0)

    def test_without_a_name_nothing_is_saved(self):
        child = self.start("--epochs", "10000", "--save", "")
        self.wait_for_training(child)
        child.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(child, 130)[1], "interrupted\n")
        self.assertEqual(self.files(), [])

    def test_weights_go_elsewhere_when_their_place_is_gone(self):
        os.mkdir(self.path("place"))
        child = self.start("--epochs", "10000", "--save", "place/x")
        self.wait_for_training(child)
        os.rmdir(self.path("place"))
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        errors = self.finish(child, 1)[1]
        self.assertIn("No such file or directory", errors)
        self.assertRegex(errors, "the weights are in .*/mnist-.*/mnist.safetensors instead")
        saved = errors.split("the weights are in ")[1].split(" instead")[0]
        self.run_to_end("--epochs", "0", "--load", saved)


training.take_program()
unittest.main()

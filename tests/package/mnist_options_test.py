"""Bad options of the mnist example: numbers out of range, paths that cannot be written.

mnist_options_test.py PROGRAM
"""

import json
import math
import os
import resource
import struct
import unittest

import training


class Options(training.Training):
    def refuse(self, *arguments, status=1):
        """The output before training starts."""
        output, errors = self.run_to_end(*arguments, status=status)
        self.assertEqual(output, "")
        return errors

    def test_numbers(self):
        ranges = {
            "--seed": ("0 to 18446744073709551615", ["-1", "18446744073709551616", "1.5", " 5", "one"]),
            "--batch-size": ("1 to 1000000", ["0", "-1", "99999999999999999999", "1e3", "64 "]),
            "--epochs": ("0 to 1000000", ["-1", "99999999999999999999", "9" * 400]),
            "--threads": ("0 to 1024", ["-1", "1000000000", "99999999999999999999"]),
            "--workers": ("-1 to 1024", ["-2", "1000000000"]),
            "--lr": ("0 to 1000", ["-1", "nan", "inf", "1e400", "abc"]),
        }
        for option, (numbers, wrong) in ranges.items():
            for value in wrong:
                with self.subTest(option, value=value):
                    output, errors = self.start(f"{option}={value}").communicate(timeout=60)
                    self.assertEqual(output, "")
                    self.assertRegex(errors, f"^mnist: {option}: .* from {numbers} \\(--help lists the options\\)\n$")
                    self.assertLess(len(errors), 140)

    def test_numbers_that_are_welcome(self):
        self.run_to_end("--dry-run", "--seed", "18446744073709551615", "--batch-size", "1000000", "--lr", "1e-4",
                        "--epochs", "1000000", "--workers", "0", "--threads", "1")

    def test_a_loss_that_is_not_finite_ends_the_training(self):
        header, data = {}, b""
        for name, shape in {"fc1.weight": [128, 784], "fc1.bias": [128], "fc2.weight": [10, 128], "fc2.bias": [10]}.items():
            begin = len(data)
            data += struct.pack("<f", float("nan")) * math.prod(shape)
            header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(data)]}
        text = json.dumps(header).encode()
        with open(self.path("nan.safetensors"), "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text + data)
        for more in ([], ["--captured", "--device", "sim"]):
            errors = self.run_to_end("--dry-run", "--load", "nan.safetensors", *more, status=1)[1]
            self.assertRegex(errors, r"FiniteCheck: loss number 1 was the first that is NaN or infinite  \(mnist.cpp:\d+\)")

    def test_places_are_tried_before_the_training(self):
        for option, ending in ("--save", ""), ("--log", ".csv"), ("--report", ""):
            os.makedirs(self.path("folder" + ending), exist_ok=True)
            file = "no/such/folder" + ending
            with self.subTest(option):
                errors = self.refuse(option, file)
                for part in (f"{file}'", "No such file or directory", "folder"):
                    self.assertIn(part, errors)
                self.assertIn("directory", self.refuse(option, "folder" + ending))
        self.assertIn("device", self.refuse("--save", "/dev/full"))
        self.assertEqual(self.files(), ["folder", "folder.csv"])

    def test_a_log_that_cannot_be_written_is_told(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50, 50))
        errors = self.run_to_end("--dry-run", "--log", "log.csv", status=1, preexec_fn=limit)[1]
        for part in ("log.csv", "File too large", "goes on without the log"):
            self.assertIn(part, errors)

    def test_a_log(self):
        for _ in range(2):
            self.run_to_end("--dry-run", "--log", "log.jsonl")
        with open(self.path("log.jsonl")) as file:
            lines = [json.loads(line) for line in file]
        names = ["train/loss", "test/accuracy", "seconds"]
        self.assertEqual([(line["step"], line["epoch"], line["name"]) for line in lines], [(20, 0, n) for n in 2 * names])

    def test_a_report(self):
        for more in ([], ["--captured", "--amp"]):
            output = self.run_to_end("--dry-run", "--report", "report.html", *more)[0]
            self.assertIn("report    report.html\n", output)
            with open(self.path("report.html")) as file:
                page = file.read()
            for part in ("Curves", "Confusion matrix", "Worst mistakes", "Layers", "Time by part", "--dry-run", "fc1: Linear"):
                self.assertIn(part, page)
            self.assertIn('"name":"train/loss of a batch","count":20,', page)
            self.assertIn('"name":"train/loss","count":1,', page)
            self.assertIn('"name":"test/accuracy","count":1,', page)

    def test_output_that_cannot_be_written_is_told(self):
        with open("/dev/full", "w") as full:
            errors = self.run_to_end("--dry-run", stdout=full, status=1)[1]
        self.assertEqual(errors, "mnist: the output could not be written\n")


training.take_program()
unittest.main()

"""Runs the mnist example as a child process, for the tests of it."""

import os
import subprocess
import sys
import tempfile
import unittest

program = None
ARGUMENTS = ["--synthetic", "--model", "mlp"]


def take_program():
    """The program under test is the first argument of the test script."""
    global program
    program = os.path.abspath(sys.argv.pop(1))


class Training(unittest.TestCase):
    """Makes a temporary folder, in which the programs run."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, *arguments, fault=None, preload=None, **options):
        environment = dict(os.environ, TMPDIR=self.folder)
        if fault:
            environment.update(MINNOW_FAULT=fault, LD_PRELOAD=preload)
        child = subprocess.Popen([program, *ARGUMENTS, *arguments], cwd=self.folder, env=environment, text=True,
                                 stderr=subprocess.PIPE, **{"stdout": subprocess.PIPE, **options})
        self.addCleanup(self.end, child)
        return child

    @staticmethod
    def end(child):
        child.kill()
        child.wait()
        for pipe in (child.stdout, child.stderr):
            if pipe:
                pipe.close()

    def wait_for_training(self, child, line_has="parameters:"):
        """Signals are noted from the moment when this line is there; with "epoch 1/" there is something to save."""
        for line in child.stdout:
            if line_has in line:
                return
        self.fail("it ended before it trained: " + child.stderr.read())

    def finish(self, child, status):
        """Returns stdout and stderr."""
        output, errors = child.communicate(timeout=120)
        self.assertEqual(child.returncode, status, f"{output}{errors}")
        return output, errors

    def run_to_end(self, *arguments, status=0, **options):
        return self.finish(self.start(*arguments, **options), status)

    def files(self):
        return sorted(os.listdir(self.folder))

"""Kills a program at random moments while it saves: the checkpoint before or the new one loads, every time.  The same
over a writer that overwrites its file must fail.

checkpoint_kill_test.py WRITER

MINNOW_KILLS is the number of kills of each kind, 20 by default.
"""

import os
import random
import subprocess
import sys
import tempfile
import time
import unittest

writer = os.path.abspath(sys.argv.pop(1))
KILLS = int(os.environ.get("MINNOW_KILLS", "20"))
MEMORY = "/dev/shm"  # where fsync takes no time, and more saves are made


class Kill(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None)
        self.addCleanup(folder.cleanup)
        self.folder = os.path.join(folder.name, "c")
        os.mkdir(self.folder + ".in_place")
        self.random = random.Random(1)

    def saves_until_killed(self, mode):
        """The last step whose save was complete."""
        child = subprocess.Popen([writer, mode, self.folder], stdout=subprocess.PIPE, text=True)
        try:
            lines = [child.stdout.readline()]
            time.sleep(self.random.uniform(0, 0.05))
        finally:
            child.kill()
        lines += child.communicate()[0].split("\n")[:-1]
        return int(lines[-1])

    def check(self, folder):
        return subprocess.run([writer, "check", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)

    def test_the_old_or_the_new_one_loads(self):
        old = 0
        for kill in range(KILLS):
            last = self.saves_until_killed("background" if kill % 2 else "save")
            done = self.check(self.folder)
            # It may be killed between the rename and the line.
            self.assertIn(done.stdout, (f"{last}\n", f"{last + 1}\n"), f"kill {kill}: {done.stderr}")
            self.assertEqual(done.stderr, "")
            old += done.stdout == f"{last}\n"
        files = os.listdir(self.folder)
        self.assertLessEqual(len(files), 5, files)  # two, one that was not removed yet, and what was being written
        print(f"{KILLS} kills, {old} times the old one")

    def test_a_writer_in_place_does_not_survive_this(self):
        lost = 0
        for _ in range(KILLS):
            self.saves_until_killed("in_place")
            lost += self.check(self.folder + ".in_place").returncode != 0
        self.assertGreater(lost, 0)
        print(f"{lost} of {KILLS} files in place are lost")

    def test_a_killed_training_ends_with_the_same_weights(self):
        def train(folder):
            return subprocess.Popen([writer, "train", folder], stdout=subprocess.PIPE, text=True)

        start = time.monotonic()
        want = train(self.folder + ".whole").communicate()[0]
        whole = time.monotonic() - start
        self.assertTrue(want)
        kills, got = 0, ""
        while not got and kills < 20 * KILLS:
            child = train(self.folder)
            if kills < KILLS:  # then it may end
                time.sleep(self.random.uniform(0, whole / 5))
                child.kill()
            got = child.communicate()[0]
            kills += 1
        self.assertEqual(got, want)
        print(f"{kills - 1} kills of a training")


unittest.main()

"""Options and files that an example cannot use are refused before it trains; a run goes on where it was.

example_options_test.py FOLDER-OF-PROGRAMS
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

FOLDER = Path(sys.argv.pop(1))
ROWS = "".join(f"{i},{i % 7},{i * 3}\n" for i in range(30))


class Options(unittest.TestCase):
    def refuse(self, program, arguments, text):
        if not (FOLDER / program).exists():  # its library is not built
            return
        with self.subTest(program, arguments=arguments):
            done = subprocess.run([FOLDER / program, *arguments], capture_output=True, text=True, timeout=60)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(text, done.stdout + done.stderr)
            self.assertNotRegex(done.stdout, "epoch|step|round")

    def test_numbers(self):
        self.refuse("serve", ["--threads", "0"], "'0' is not a whole number from 1 to 256")
        self.refuse("serve", ["--threads", "10000"], "'10000' is not a whole number from 1 to 256")
        self.refuse("serve", ["--requests", "0"], "--requests")
        self.refuse("reinforce", ["--games", "0"], "--games")
        self.refuse("gpt", ["--steps", "49"], "--steps")
        self.refuse("gpt", ["--temperature", "nan"], "--temperature: 'nan' is not a number from 0")
        self.refuse("char_lstm", ["--lr", "inf"], "--lr")
        self.refuse("char_lstm", ["--hidden", "0"], "--hidden")

    def test_texts(self):
        self.refuse("quickstart", ["--nonsense"], "takes no arguments, got --nonsense")
        for program in ("char_lstm", "gpt"):
            self.refuse(program, ["--prompt", ""], "--prompt: it has no letters")
        for program in ("vae", "dcgan"):
            self.refuse(program, ["--out", "x.txt"], "--out: 'x.txt' does not end in .png")
            self.refuse(program, ["--out", "/nonexistent/x.png"], "--out: files cannot be written into the folder '/nonexistent'")

    def test_tables(self):
        tables = {
            "a,b,price\n": "0 rows are too few",
            "a,b,price\n1,2,3\n": "1 rows are too few",
            "price\n" + "1\n" * 30: "there is no column but the target",
            "a,b,price\n" + ROWS + "1,,2\n": "'b' is missing in row 30",
            "a,b,price\n" + ROWS + "1,2,\n": "the target 'price' is missing in row 30",
            "a,b,price\n" + ROWS + "1,2,inf\n": "column 'price' has infinite values",
            "a,b,price\n" + ROWS + "-inf,2,1\n": "column 'a' has infinite values",
            "a,b,price\n" + ROWS + "1,2,cheap\n": "the target 'price' is text",
            "a,b,cost\n" + ROWS: "there is no column 'price'",
        }
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "table.csv"
            for table, text in tables.items():
                path.write_text(table)
                self.refuse("regression", ["--data", path], text)

    def test_what_is_welcome(self):
        done = subprocess.run([FOLDER / "char_lstm", "--epochs", "1", "--temperature", "0", "--letters", "5"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_run_goes_on_as_if_it_had_not_ended(self):
        with tempfile.TemporaryDirectory() as folder:
            for run, epochs in (("whole", "3"), ("parts", "1"), ("parts", "3")):
                subprocess.run([FOLDER / "char_lstm", "--hidden", "8", "--letters", "1", "--epochs", epochs, "--run", Path(folder) / run],
                               check=True, capture_output=True, timeout=60)
            whole, parts = ((Path(folder) / run / "history.csv").read_text() for run in ("whole", "parts"))
            self.assertEqual(parts, whole)


if __name__ == "__main__":
    unittest.main()

"""check.py EXPECTED COMMAND...: runs a tutorial's program and compares what it prints with the file of the site.

Texts must be the same.  Numbers may differ by 8 % (or 0.05, or 3 percentage points), since processors round in their
own ways and training enlarges that; what has a unit of time may be anything, and so may a section whose name ends in ~.
MINNOW_ACCEPT=1 writes the file instead.
Exits with 77 if the program does: what it needs is not here.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?( %| ?(?:ms|us|s|ns)\b)?")


def normal(text):
    """The text with its numbers taken out, and these: (value, unit)."""
    text = re.sub(r"\([a-z_/]+\.cpp:\d+\)", "(file)", text)  # lines change when the program does
    numbers = [(float(m.group(0)[:len(m.group(0)) - len(m.group(1) or "")]), (m.group(1) or "").strip())
               for m in NUMBER.finditer(text)]
    return re.sub(r" +", " ", NUMBER.sub(lambda m: "#" + (m.group(1) or ""), text)), numbers


def close(a, b, unit):
    if unit in ("ms", "us", "s", "ns"):
        return True
    return abs(a - b) <= max(3 if unit == "%" else 0.05, 0.08 * abs(b))


def without_measured(text):
    """The lines; of a section whose name ends in ~ one that says whether there were any."""
    out, measured = [], False
    for line in text.splitlines():
        if line.startswith("--- "):
            measured = line.endswith("~")
        elif measured:
            line = "(measured)"
            if out[-1] == line:
                continue
        out.append(line)
    return out


def difference(got, expected):
    """What is different, or None."""
    got, expected = without_measured(got), without_measured(expected)
    for number, (a, b) in enumerate(zip(got, expected), 1):
        (text_a, numbers_a), (text_b, numbers_b) = normal(a), normal(b)
        if text_a != text_b or not all(close(x, y, unit) for (x, unit), (y, _) in zip(numbers_a, numbers_b)):
            return f"line {number} is\n  {a}\nexpected\n  {b}"
    if len(got) != len(expected):
        return f"{len(got)} lines, expected {len(expected)}"
    return None


def self_test():
    assert difference("a 1.00 b\n", "a 1.03 b\n") is None
    assert difference("a 1.00 b\n", "a 1.30 b\n")
    assert difference("a 97.1 %\n", "a 99.0 %\n") is None
    assert difference("a 90 %\n", "a 99.0 %\n")
    assert difference("12.1 ms x\n", "50.1 ms x\n") is None
    assert difference("12.1 m\n", "50.1 m\n")
    assert difference("a 1\nb\n", "a 1\n")
    assert difference("a x\n", "a y\n")
    assert difference("--- a ~\n1\n2\n--- b\nx\n", "--- a ~\n3\n--- b\nx\n") is None
    assert difference("--- a ~\n--- b\nx\n", "--- a ~\n3\n--- b\nx\n")
    assert difference("--- a ~\n1\n--- b\ny\n", "--- a ~\n1\n--- b\nx\n")
    assert difference("float32[64]\n", "float64[64]\n")


def main():
    if sys.argv[1] == "--self-test":
        return self_test()
    expected = Path(sys.argv[1])
    done = subprocess.run(sys.argv[2:], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.returncode)
    if os.environ.get("MINNOW_ACCEPT"):
        expected.write_text(done.stdout)
        return None
    found = difference(done.stdout, expected.read_text())
    if found:
        sys.exit(f"{expected}: {found}\nMINNOW_ACCEPT=1 writes the file anew, if this is meant")
    return None


if __name__ == "__main__":
    main()

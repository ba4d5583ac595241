#!/usr/bin/env python3
"""Programs that must not compile.

run.py COMPILER FLAG... -- CASE...   each case is a C++ file with
  // expect: REGEX       in a comment: what the compiler must say
  // messages: N         at most so many messages for each misuse (optional)
  ... // must not compile   on each line that is the misuse
Without the marked lines the file must compile, so that a case cannot fail for another reason; with them it must not, the
compiler must complain of each of them, and the message must match. run.py --self-test COMPILER FLAG... checks the runner itself.
"""

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MARK = re.compile(r"//\s*must not compile\s*$")
# Errors, notes and their locations; not the quoted source and the include stack.
MESSAGE = re.compile(r": (error|note|warning|fatal error): |: In (instantiation|substitution) |:\s+(recursively )?required (from|by|for) ", re.M)
LIMIT = re.compile(r"//\s*messages:\s*(\d+)\s*$", re.M)
EXPECT = re.compile(r"//\s*expect:\s*(.+?)\s*$", re.M)


def compile_text(command, text):
    done = subprocess.run([*command, "-fsyntax-only", "-x", "c++", "-"], input=text, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode == 0, done.stdout


def fault(command, path):
    """What is wrong with a case; None if it is refused for the expected reason."""
    text = Path(path).read_text(encoding="utf-8")
    lines, expected = text.splitlines(), EXPECT.search(text)
    if not expected or not any(map(MARK.search, lines)):
        return "needs an 'expect:' comment and a line marked 'must not compile'"
    compiles, output = compile_text(command, "\n".join(line for line in lines if not MARK.search(line)) + "\n")
    if not compiles:
        return f"does not compile even without the misuse:\n{output}"
    compiles, output = compile_text(command, text)
    if compiles:
        return "compiles with the misuse"
    for number, line in enumerate(lines, start=1):
        # An error there, or one in a template that was instantiated from there.
        place = rf"<stdin>:{number}:\d+:\s+(error|required from|note: in instantiation)"
        if MARK.search(line) and not re.search(place, output):
            return f"says nothing of line {number}: {line.strip()}\n{output}"
    if not re.search(expected.group(1), output):
        return f"fails for another reason than /{expected.group(1)}/:\n{output}"
    limit, misuses = LIMIT.search(text), sum(1 for line in lines if MARK.search(line))
    messages = len(MESSAGE.findall(output))
    if limit and messages > int(limit.group(1)) * misuses:
        return f"takes {messages} messages for {misuses} misuses:\n{output}"
    return None


def self_test(command):
    cases = {
        "good": ("// expect: invalid conversion|cannot initialize\nint main() {\n  int* p = 1;  // must not compile\n}\n", None),
        "compiles": ("// expect: x\nint main() {\n  int p = 1; (void)p;  // must not compile\n}\n", "compiles with"),
        "half": ("// expect: .\nint main() {\n  int p = 1; (void)p;  // must not compile\n  int* q = 1;  // must not compile\n}\n",
                 "nothing of line 3"),
        "broken": ("// expect: x\nint main() { return y; }\nint z = y;  // must not compile\n", "even without"),
        "other": ("// expect: overflow\nint main() {}\nint z = y;  // must not compile\n", "another reason"),
        "wordy": ("// expect: .\n// messages: 1\nvoid f(int);\nint main() {\n  f(\"\");  // must not compile\n}\n", "messages for 1"),
        "brief": ("// expect: .\n// messages: 1\nint main() {\n  return q;  // must not compile\n}\n", None),
        "unmarked": ("// expect: x\nint main() {}\n", "needs an"),
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, (text, expected) in cases.items():
            path = Path(folder) / f"{name}.cpp"
            path.write_text(text)
            found = fault(command, path)
            if (found is None) != (expected is None) or (expected and expected not in found):
                sys.exit(f"self-test '{name}': expected {expected!r}, found {found!r}")
    print(f"the runner passes its own {len(cases)} cases")


def main():
    if sys.argv[1] == "--self-test":
        self_test(sys.argv[2:])
        return
    split = sys.argv.index("--")
    command, cases = sys.argv[1:split], sys.argv[split + 1:]
    failures = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for case, found in zip(cases, pool.map(lambda path: fault(command, path), cases)):
            print(f"{Path(case).stem}: {found or 'refused as expected'}")
            failures += found is not None
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

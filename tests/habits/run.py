#!/usr/bin/env python3
"""What someone who knows LibTorch types, compiled and not run: habits.txt says which lines do, and what the others are told.

run.py COMPILER FLAG...        all lines; --list prints the lines that are refused
"""

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
LEAST = 200  # so many must compile
LONGEST = 5  # lines of a refusal
PRELUDE = (HERE / "prelude.h").read_text(encoding="utf-8")


def habits():
    for line in (HERE / "habits.txt").read_text(encoding="utf-8").splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        if line.startswith("no "):
            code, _, expected = line[3:].rpartition("=>")
            yield code.strip(), expected.strip()
        else:
            yield line, None


def compiled(command, statements):
    """The compiler's text; each statement stands on a line of its own, called statement:NUMBER."""
    text = PRELUDE + "\n"
    for number, code in enumerate(statements, 1):
        text += f'#line {number} "statement"\nvoid habit_{number}() {{ {code} }}\n'
    done = subprocess.run([*command, "-fsyntax-only", "-fno-diagnostics-show-caret" if "clang" in command[0] else "-O0",
                           "-Wno-unused-variable", "-Wno-unused-but-set-variable", "-x", "c++", "-"],
                          input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode == 0, done.stdout


def told(output):
    """For each statement the lines of what the compiler says, without its context lines."""
    texts, current = {}, None
    for line in output.splitlines():
        if line.startswith("In file included from") or line.startswith("                 from"):
            continue
        if re.match(r"^[^ ].*In (member )?function|^[^ ].*: In instantiation|: At global scope", line):
            continue
        place = re.match(r"statement:(\d+):", line)
        if place:
            current = int(place.group(1))
        if current:
            texts.setdefault(current, []).append(line)
    return texts


def main():
    command = sys.argv[1:]
    good = [code for code, expected in habits() if expected is None]
    bad = [(code, expected) for code, expected in habits() if expected is not None]
    failures = []
    compiles, output = compiled(command, good)
    if not compiles:
        failures.append("a habit does not compile:\n" + output)
    if len(good) < LEAST:
        failures.append(f"{len(good)} habits compile, at least {LEAST} must")
    for code, expected in bad:
        refused, output = compiled([*command, "-Werror=unused-result", "-Werror=unused-value"], [code])
        lines = [line for text in told(output).values() for line in text if not re.match(r"\s+(\d+ )?\|", line)]
        if refused:
            failures.append(f"compiles: {code}")
        elif not re.search(expected, output):
            failures.append(f"{code}: not told /{expected}/:\n{output}")
        elif len(lines) > LONGEST:
            failures.append(f"{code}: {len(lines)} lines of text:\n" + "\n".join(lines))
    print("\n".join(failures) or f"{len(good)} habits compile, {len(bad)} are refused with a word")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

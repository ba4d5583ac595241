#!/usr/bin/env python3
"""Compiles, without running, what users of LibTorch type: habits.txt says which lines compile, and the errors of the others.

run.py COMPILER FLAG...
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
    done = subprocess.run([*command, "-fsyntax-only", "-Wno-unused-variable", "-Wno-unused-but-set-variable", "-x", "c++", "-"], input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode == 0, done.stdout


CONTEXT = re.compile(r"\s+(\d+ )?\||^In file included|^\s+from |.*: In (member |static |lambda )?function|.*: In lambda|^cc1plus: ")


def told(output):
    """For each statement what the compiler says of it; lines() leaves out the source that it shows."""
    texts, pending, current = {}, [], None
    for line in output.splitlines():
        if ": In instantiation of" in line or ": In substitution of" in line:
            pending, current = [line], None
            continue
        place = re.search(r"statement:(\d+):", line) if current is None or line.startswith("statement:") else None
        if place:
            current = int(place.group(1))
            texts.setdefault(current, []).extend(pending)
            pending = []
        (texts[current] if current else pending).append(line)
    return texts


def lines(text):
    return [line for line in text if not CONTEXT.match(line)]


def main():
    command = sys.argv[1:]
    good = [code for code, expected in habits() if expected is None]
    bad = [(code, expected) for code, expected in habits() if expected is not None]
    failures = []
    compiles, output = compiled(command, good)
    if not compiles:
        texts = sorted(told(output).items())
        failures += [f"does not compile: {good[n - 1]}\n" + "\n".join(lines(text)) for n, text in texts] or [output]
    if len(good) < LEAST:
        failures.append(f"{len(good)} habits compile, at least {LEAST} must")
    _, output = compiled([*command, "-Werror=unused-result", "-Werror=unused-value"], [code for code, _ in bad])
    texts = told(output)
    for number, (code, expected) in enumerate(bad, 1):
        text = texts.get(number, [])
        if not text:
            failures.append(f"compiles: {code}")
        elif not re.search(expected, "\n".join(text)):
            failures.append(f"{code}: not told /{expected}/:\n" + "\n".join(text))
        elif len(lines(text)) > LONGEST:
            failures.append(f"{code}: {len(lines(text))} lines:\n" + "\n".join(lines(text)))
    print("\n".join(failures) or f"{len(good)} habits compile, {len(bad)} are refused in at most {LONGEST} lines")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

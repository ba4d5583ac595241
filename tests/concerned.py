#!/usr/bin/env python3
"""Prints which tests concern a name of the library: the programs to build, and a regular expression for ctest -R.

concerned.py NAME...: tests that are named after it or whose source mentions it, and tests that are named after a function
or class that calls it (attention stands on softmax).  layer_norm and LayerNorm are the same name.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOT_PROGRAMS = ["support", "fuzz", "consumer", "compile_fail", "habits", "distributed", "package"]
ABOVE = ["autograd", "ops", "nn", "optim", "distributions", "training", "data", "text", "vision", "tensorboard", "onnx", "llm", "capi", "interop"]


def plain(name):
    return name.replace("_", "").lower()


def words(path):
    return {plain(word) for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}


def snake(name):
    name = re.sub(r"([A-Z])([A-Z][a-z])", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()


def callers(path, wanted):
    """The functions and classes of a source in which one of the names, or such a function, is mentioned."""
    parts = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if defined := re.match(r"(?=[A-Za-z])[^(]*?\b(?:detail::)?(?:(\w+)::)?(\w+)\((.*)", line):
            parts.append((defined[1] or defined[2], set()))
            line = defined[3]
        if parts:
            parts[-1][1].update(plain(word) for word in re.findall(r"\w+", line))
    found, sought = set(), set(wanted)
    while new := {name for name, body in parts if name not in found and sought & body}:
        found |= new
        sought |= {plain(name) for name in new}
    return found


def main():
    names = {name.split("::")[-1] for name in sys.argv[1:]}
    wanted = {plain(name) for name in names}
    folders, standing = set(), set(names)
    for sought in (wanted, None):  # their callers, and those of the callers whose names are more than a word
        sought = sought or {plain(name) for name in standing if "_" in name}
        for folder in ABOVE:
            for path in (ROOT / folder).rglob("*.cpp"):
                if found := callers(path, sought):
                    standing |= found
                    folders.add(folder)
    suites = set()
    for path in (ROOT / "tests").rglob("*.cpp"):
        folder = path.relative_to(ROOT / "tests").parts[0]
        if folder in NOT_PROGRAMS or not wanted & words(path):
            continue
        folders.add(folder)
        for suite in re.findall(r"^(?:TEST|TEST_F|TEST_P)\((\w+),", path.read_text(encoding="utf-8"), re.M):
            suites.add(rf"{folder}\.{snake(suite)}")
    folders = {folder for folder in folders if (ROOT / "tests" / folder).is_dir()}
    if not folders:
        sys.exit(f"no test mentions {' '.join(sorted(names))}")
    print(" ".join(f"minnow_tests_{folder}" for folder in sorted(folders)))
    named = "|".join(sorted(snake(name).strip("_") for name in standing))
    patterns = [rf"[._]({named})([._]|$)"]  # few parentheses: those of CMake's expressions are limited
    if suites:
        patterns.append(rf"^(emulated\.)?({'|'.join(sorted(suites))})(\.|$)")
    print("|".join(patterns))


if __name__ == "__main__":
    main()

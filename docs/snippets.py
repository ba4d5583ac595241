#!/usr/bin/env python3
"""The examples of the reference: docs/snippets/*.txt.

snippets.py source FILE.txt OUT.cpp  writes the program's part with the snippets of a file
snippets.py main OUT.cpp FILE.txt... writes the program's main(), which calls them
snippets.py check PROGRAM [FILE...]  compares what PROGRAM prints with what stands in the files; MINNOW_ACCEPT=1 writes it there
snippets.py --self-test              sees that a wrong output is found

A file has a line of text, perhaps #include lines, then the snippets: "## name", lines of C++, and after each ">" a line of what they print.  A line of
C++ that ends a statement without a semicolon is an expression: it is shown and compiled as std::cout << EXPRESSION << '\\n';
"""

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "snippets"
MARK = "\x1e"  # before the name of each snippet in the program's output


@dataclass
class Snippet:
    name: str
    file: Path
    line: int  # of its first line of C++
    lines: list = field(default_factory=list)
    output: list = field(default_factory=list)

    def code(self):
        """The lines of C++, with expressions printed."""
        shown, opened = [], False  # opened: the line before does not end a statement
        for i, line in enumerate(self.lines):
            more = i + 1 < len(self.lines) and self.lines[i + 1].startswith(" ")
            is_expression = not opened and not line.startswith(" ") and not line.endswith((";", "{", "}", ",", "(")) and not more \
                and not line.startswith("//")
            shown.append(f"std::cout << {line} << '\\n';" if is_expression else line)
            opened = more
        return shown


def read(file):
    found = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("## "):
            found.append(Snippet(line[3:].strip(), file, number + 1))
        elif found and line.startswith(">"):
            found[-1].output.append(line[2:])
        elif found and line.strip():
            found[-1].lines.append(line)
    return found


def everything():
    """All snippets by name."""
    found = {}
    for file in sorted(FOLDER.glob("*.txt")):
        for snippet in read(file):
            if snippet.name in found:
                sys.exit(f"{file.name}:{snippet.line}: {snippet.name} has a snippet in {found[snippet.name].file.name}")
            found[snippet.name] = snippet
    return found


def source(file):
    """C++ of a file's snippets, each a function, and a function that calls them."""
    text = (FOLDER / "includes.h").read_text(encoding="utf-8")
    text += "".join(re.findall(r"^#include .*\n", file.read_text(encoding="utf-8").partition("\n## ")[0], re.M))
    snippets = read(file)
    for number, snippet in enumerate(snippets):
        text += f'static void snippet_{number}() {{\n#line {snippet.line} "docs/snippets/{file.name}"\n'
        text += "\n".join(snippet.code()) + "\n}\n"
    text += f'#line 1 "{file.stem}"\nvoid snippets_of_{file.stem}();\nvoid snippets_of_{file.stem}() {{\n'
    for number, snippet in enumerate(snippets):
        text += f'  run_snippet("{snippet.name}", snippet_{number});\n'
    return text + "}\n"


def main_source(stems):
    calls = "".join(f"void snippets_of_{stem}();\n" for stem in stems) + "int main() {\n"
    return calls + "".join(f"  snippets_of_{stem}();\n" for stem in stems) + "}\n"


NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]\d+)?")


def same(printed, kept):
    """Whether two texts are the same, but for the last digits of their numbers with a point: processors round differently."""
    def text_of(lines):
        return re.sub(r"\[ +", "[", re.sub(r" +", " ", NUMBER.sub("#", lines)))  # columns are as wide as their numbers

    if text_of(printed) != text_of(kept):
        return False
    pairs = zip(NUMBER.findall(printed), NUMBER.findall(kept))
    return all(abs(float(a) - float(b)) <= 2e-4 + 2e-4 * abs(float(b)) for a, b in pairs)


def outputs(printed):
    found = {}
    for part in printed.split(MARK)[1:]:
        name, _, text = part.partition("\n")
        found[name] = [line.rstrip() for line in text.rstrip("\n").split("\n")] if text.strip("\n") else []
    return found


def faults_of(snippets, printed):
    for snippet in snippets:
        where = f"{snippet.file.name}:{snippet.line}: {snippet.name}"
        if snippet.name not in printed:
            yield f"{where}: the program does not have it"
        elif not printed[snippet.name]:
            yield f"{where} prints nothing"
        elif not same("\n".join(printed[snippet.name]), "\n".join(snippet.output)):
            yield f"{where} prints\n" + "\n".join(printed[snippet.name]) + "\nand not\n" + "\n".join(snippet.output)


def accept(file, printed):
    lines, name = [], None
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.startswith("## ") or not line.strip():
            if name:
                lines += [f"> {text}".rstrip() for text in printed[name]]
            name = line[3:].strip() if line.startswith("## ") else None
        if not line.startswith(">"):
            lines.append(line)
    lines += [f"> {text}".rstrip() for text in printed[name]] if name else []
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def self_test():
    snippet = Snippet("f", Path("f.txt"), 1, ["const int a = g(1,", "                2);", "a"], ["tensor(0.5000)"])
    if snippet.code() != ["const int a = g(1,", "                2);", "std::cout << a << '\\n';"]:
        sys.exit(f"code(): {snippet.code()}")
    for text, right in (("tensor(0.5001)", True), ("tensor(0.5010)", False), ("tensor(0.5000, 1)", False), ("", False)):
        printed = outputs(f"{MARK}f\n{text}\n")
        if any(faults_of([snippet], printed)) == right:
            sys.exit(f"'{text}' is not judged rightly")
    print("wrong outputs are found")


def main():
    command, arguments = sys.argv[1], [Path(a) for a in sys.argv[2:]]
    if command == "--self-test":
        return self_test()
    if command == "source":
        arguments[1].write_text(source(arguments[0]), encoding="utf-8")
    elif command == "main":
        arguments[0].write_text(main_source([a.stem for a in arguments[1:]]), encoding="utf-8")
    elif command == "check":
        everything()
        with tempfile.TemporaryDirectory() as folder:  # some write files
            done = subprocess.run([arguments[0].resolve()], cwd=folder, capture_output=True, text=True, check=False)
        printed, files = outputs(done.stdout), arguments[1:] or sorted(FOLDER.glob("*.txt"))
        if done.returncode != 0:
            sys.exit(f"the program ended with {done.returncode} after {list(printed)[-1:]}\n{done.stderr[-2000:]}")
        if os.environ.get("MINNOW_ACCEPT"):
            for file in files:
                accept(file, printed)
        faults = [fault for file in files for fault in faults_of(read(file), printed)]
        if faults:
            sys.exit("\n".join(faults))
        print(f"{sum(len(read(file)) for file in files)} snippets print what their pages show")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()

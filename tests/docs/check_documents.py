#!/usr/bin/env python3
"""The blocks of C++ in README.md and docs/*.md compile, and their links lead somewhere.

check_documents.py blocks COMPILER FLAG...  compiles each block, after blocks.h; names those whose library is not here
check_documents.py links                    looks links up, also those to headings
check_documents.py --self-test COMPILER FLAG...

A block is the body of a function, or declarations where it begins with one of a function or class at the margin; a comment
<!-- before: CODE --> above it, which a reader does not see, declares what the text around it takes for granted.  A block that
ends in the middle of a function ends there.
"""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# Headers of other libraries that a block may need: without them it is left out by name.
NEEDS = {"interop/eigen.h": "Eigen/Core", "interop/opencv.h": "opencv2/core/mat.hpp"}


@dataclass
class Block:
    file: str
    line: int  # of its first line of code
    before: str
    code: str


def documents():
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks_of(text, file):
    found, before, inside = [], "", None
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if inside is None and line.startswith("```cpp"):
            inside = number + 1
        elif inside is not None and line == "```":
            found.append(Block(file, inside, before, "\n".join(lines[inside - 1:number - 1])))
            inside, before = None, ""
        elif inside is None and line.startswith("<!-- before:"):
            rest = "\n".join(lines[number - 1:])
            before = rest[len("<!-- before:"):rest.index("-->")]
        elif inside is None and line.strip() and "-->" not in line and not still_comment(lines, number):
            before = ""
    return found


def still_comment(lines, number):
    """Whether a line is inside of a comment that began above it."""
    above = "\n".join(lines[:number])
    return above.rfind("<!--") > above.rfind("-->")


def source(block, number):
    """The block as a part of a program."""
    code = re.sub(r"(?m)^#include .*$|^using namespace minnow;$", "", block.code)
    missing = code.count("{") - code.count("}")
    code += "\n" + "}" * missing
    before = re.sub(r"(?m)^#include .*$|^namespace cv \{.*$", "", block.before).strip()
    before += ";" if before and not before.endswith((";", "}")) else ""
    declares = re.search(r"(?m)^int main\(|^(?!for|if|while|return|auto|else)[\w:<>&*]+ \w+\((?:const )?[\w:]+[&*]? \w*[^;]*\{$", code)
    declares = declares or re.fullmatch(r"(?:\s*//[^\n]*\n)*\s*(?:struct|class) .*^};", code.strip(), re.S | re.M) and code.count("\n};") == 1
    where = f'#line {block.line} "{block.file}"\n'
    if declares:
        body = f"{where}{code}\n"
    else:
        body = f"[[maybe_unused]] static int block() {{\n{where}{code}\nreturn 0;\n}}\n"
    return f'#line 1 "before the block in line {block.line} of {block.file}"\n' + \
        f"namespace block_{number} {{\n{before}\n{body}}}\n"


def first_lines(blocks):
    """What stands before all else: other libraries do not expect `using namespace minnow`."""
    found = [line for block in blocks for line in re.findall(r"(?m)^(?:#include|namespace cv) .*$", block.before + "\n" + block.code)]
    found = [line.replace("<dlpack/dlpack.h>", f'"{HERE.parent}/interop/dlpack_structs.h"') for line in found]
    return sorted(set(found), key=lambda line: (not line.startswith("#include \""), not line.startswith("#"), found.index(line)))


def is_here(header, compiler):
    return subprocess.run([*compiler, "-E", "-x", "c++", "-", "-o", "/dev/null"], input=f"#include <{header}>\n", text=True,
                          capture_output=True, check=False).returncode == 0


def check_blocks(blocks, compiler):
    """What does not compile, and what is left out.  Blocks with another library are programs of their own."""
    left_out, programs = [], {}
    for block in blocks:
        needed = "".join(library for header, library in NEEDS.items() if header in block.code)
        if needed and not is_here(needed, compiler):
            left_out.append(f"{block.file}:{block.line}: needs <{needed}>")
        else:
            programs.setdefault(needed, []).append(block)
    errors = ""
    for group in programs.values():
        parts = [*first_lines(group), (HERE / "blocks.h").read_text(encoding="utf-8"), *(source(b, i) for i, b in enumerate(group))]
        done = subprocess.run([*compiler, f"-I{ROOT}/examples", "-w", "-fsyntax-only", "-x", "c++", "-"], input="\n".join(parts), text=True, capture_output=True,
                              check=False)
        errors += done.stderr if done.returncode else ""
    return errors, left_out


def anchors(path):
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.S)
    found = set()
    for heading in re.findall(r"(?m)^#+ (.*)$", text):
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        while anchor in found:
            anchor += "-1"
        found.add(anchor)
    return found


def dead_links(paths):
    for path in paths:
        text = re.sub(r"```.*?```|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.S)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if target.startswith(("http:", "https:", "mailto:")):
                continue
            name, _, anchor = target.partition("#")
            other = (path.parent / name).resolve() if name else path
            if name and not other.exists():
                yield f"{path.relative_to(ROOT)}: {target} is not there"
            elif anchor and anchor not in anchors(other):
                yield f"{path.relative_to(ROOT)}: {other.relative_to(ROOT)} has no heading #{anchor}"


def self_test(compiler):
    text = "# A\n\n<!-- before: extern Tensor q; -->\n\n```cpp\nq = q + 1;\n```\n\n```cpp\nTensor f(const In& a) {\n  return *a;\n```\n"
    blocks = blocks_of(text, "a.md")
    if [b.line for b in blocks] != [6, 10] or check_blocks(blocks, compiler)[0]:
        sys.exit(f"good blocks: {blocks} {check_blocks(blocks, compiler)[0]}")
    for wrong in ("no_such_function(1);", "Tensor f(const In& a) {\n  return no_such_name;\n}"):
        if "a.md:3" not in check_blocks(blocks_of(f"text\n```cpp\n{wrong}\n```\n", "a.md"), compiler)[0] and \
                "a.md:4" not in check_blocks(blocks_of(f"text\n```cpp\n{wrong}\n```\n", "a.md"), compiler)[0]:
            sys.exit(f"a wrong block is not found: {wrong}")
    print("wrong blocks are found")


def main():
    command, compiler = sys.argv[1], sys.argv[2:]
    if command == "--self-test":
        return self_test(compiler)
    if command == "links":
        more = [ROOT / name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "tests/README.md", "emulator/README.md")]
        faults = list(dead_links([*documents(), *more]))
        if faults:
            sys.exit("\n".join(faults))
        return print("no link is dead")
    blocks = [b for path in documents() for b in blocks_of(path.read_text(encoding="utf-8"), str(path.relative_to(ROOT)))]
    errors, left_out = check_blocks(blocks, compiler)
    if errors:
        sys.exit(errors)
    print(f"{len(blocks) - len(left_out)} of {len(blocks)} blocks compile")
    for text in left_out:
        print(f"left out: {text}")


if __name__ == "__main__":
    main()

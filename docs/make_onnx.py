#!/usr/bin/env python3
"""Writes the tables of docs/onnx.md from onnx/rules_*.cpp and onnx/kernels_*.cpp: the functions that are exported, and the
operators that are read.

make_onnx.py          writes them
make_onnx.py --check  fails when they are not what it would write
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/onnx.md"
FAMILIES = {"elementwise": "elementwise", "shape": "shapes, parts, indices", "products": "products, attention",
            "images": "images", "norms": "norms", "reductions": "reductions", "recurrent": "recurrent layers",
            "layers": "layers"}
# A name that is told by functions of other names.
TOLD_BY = {"conv": "conv1d to 3d", "conv_transpose": "conv_transpose1d to 3d", "max_pool": "max pools of 1 to 3 dimensions",
           "avg_pool": "average pools of 1 to 3 dimensions", "add_scaled": "", "clamp_between": "", "copy": "copy_",
           "fill": "fill_", "slice": "indexing, narrow, split", "pow_scalar": "", "quantized_linear": "linear in int8",
           "lstm": "nn::LSTM", "gru": "nn::GRU", "rnn_tanh": "nn::RNN", "rnn_relu": "",
           "reshape": "reshape, view, flatten, squeeze, unsqueeze", "scaled_dot_product_attention": "scaled_dot_product_attention"}


def names(text):
    """The first words of the entries of a table."""
    found, depth = [], 0
    tokens = re.finditer(r'"(?:\\.|[^"\\])*"|[{}()\[\]]', text[re.search(r"\bk(?:Rules|Kernels)\[\] = ", text).end():])
    before = ""
    for token in (t.group() for t in tokens):
        if token in "{([":
            depth += 1
        elif token in "})]":
            depth -= 1
            if depth == 0:
                return found
        elif depth == 2 and before in ("{", "("):
            found.append(token.strip('"'))
        before = token
    raise ValueError("a table that does not end")


def table(kind, told=None):
    lines = [f"| | {'functions' if told else 'operators'} |", "|---|---|"]
    for path in sorted((ROOT / "onnx").glob(f"{kind}_*.cpp")):
        found = sorted({told.get(n, n) if told else n for n in names(path.read_text(encoding="utf-8"))} - {""}, key=str.lower)
        lines.append(f"| {FAMILIES[path.stem.split('_')[1]]} | {', '.join(found)} |")
    return "\n".join(lines)


def page(text):
    for mark, made in (("exported", table("rules", TOLD_BY)), ("read", table("kernels"))):
        text = re.sub(rf"(<!-- {mark}, by docs/make_onnx.py -->\n).*?(?=\n\n|\Z)", lambda m: m.group(1) + made, text, flags=re.S)
    return text.rstrip("\n") + "\n"


if __name__ == "__main__":
    old = PAGE.read_text(encoding="utf-8")
    new = page(old)
    if "--check" in sys.argv:
        if old != new:
            sys.exit("docs/onnx.md is not up to date: run docs/make.py")
    elif old != new:
        PAGE.write_text(new, encoding="utf-8")

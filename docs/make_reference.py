#!/usr/bin/env python3
"""Writes the reference: a page for each public function and class, the page of errors, and llms.txt.

make_reference.py FOLDER      writes FOLDER/reference/ROOM/NAME.md with an index of each room, FOLDER/errors.md, FOLDER/llms.txt
make_reference.py --check     fails when a page lacks what it needs, a snippet belongs to nothing, or an error has no advice
make_reference.py --self-test sees that these are found

The pages are made from the headers, docs/snippets (examples and what they print), docs/tested-dtypes.txt (what tests/ops checks),
PyTorch's names (docs/make_torch_names.py) and docs/error-advice.txt.
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

import error_messages
import headers
import make_operations
import make_torch_names
import snippets

HERE = Path(__file__).resolve().parent
NOTE = "<!-- Written by docs/make_reference.py. -->"

# Rooms: folder, title, headers.
ROOMS = [
    ("creation", "Creation and random numbers", "tensor/(create|random)|ops/random"),
    ("elementwise", "Elementwise functions", "ops/elementwise"),
    ("reductions", "Reductions", "ops/reductions"),
    ("products", "Products and linear algebra", "ops/products"),
    ("convolution", "Convolutions, pools, resampling", "ops/convolution|ops/pair"),
    ("norms", "Norms and softmax", "ops/norms"),
    ("indexing", "Indexing, sorting, searching", "ops/indexing|tensor/index"),
    ("shapes", "Shapes", "ops/shape"),
    ("signal", "Fourier transforms and signals", "ops/fft|ops/signal"),
    ("losses", "Losses", "nn/losses"),
    ("tensor", "Tensors, dtypes, errors", "tensor/(tensor|dtype|device|shape|storage|scalar|half|in|error|activation|source_location)"),
    ("files", "Files", "tensor/io"),
    ("runtime", "Devices, memory, captured steps", "tensor/runtime"),
    ("profile", "Where time and memory go", "tensor/profile"),
    ("gradients", "Gradients", "autograd"),
    ("modules", "Modules", "nn/module"),
    ("layers", "Layers", "nn/layers"),
    ("recurrent", "Recurrent layers", "nn/recurrent"),
    ("attention", "Attention and transformers", "nn/attention"),
    ("optim", "Optimizers and schedules", "optim|tensor/kernels/rules"),
    ("data", "Data", "data"),
    ("training", "Training and metrics", "training"),
    ("distributed", "Several processes", "distributed"),
    ("distributions", "Distributions", "distributions"),
    ("llm", "Language models", "llm"),
    ("onnx", "ONNX", "onnx"),
    ("tensorboard", "TensorBoard", "tensorboard"),
    ("text", "Text", "text"),
    ("vision", "Images", "vision"),
]
OPERATIONS = {"creation", "elementwise", "reductions", "products", "convolution", "norms", "indexing", "shapes", "signal", "losses"}
# Layers, optimizers and schedules need an example too; what is no layer of its own does not.
WITH_EXAMPLES = OPERATIONS | {"layers", "recurrent", "attention", "optim"}
NO_EXAMPLE = {
    "Nested", "RandomGenerator", "optim::LRFunction", "nn::AdaptiveAvgPool", "nn::AdaptiveMaxPool",
    "nn::ActivationLayer", "nn::Normalizing", "nn::DropoutLayer", "nn::PaddingLayer", "nn::BatchNorm", "optim::Optimizer",
    "optim::RuleOptimizer", "optim::Schedule", "optim::ComposedOptimizer", "optim::lr_by_group", "nn::Conv", "nn::ConvTranspose", "nn::MaxPool",
    "nn::AvgPool", "nn::LPPool", "nn::AdaptivePool", "nn::FractionalMaxPool", "nn::MaxUnpool",
}

# Functions of no tensor, which have no shapes, dtypes or gradient.
NO_TENSOR = {"slice", "default_generator", "manual_seed", "unary_functions"}


def room_of(header):
    for folder, title, pattern in ROOMS:
        if re.match(f"(?:{pattern})(?:[./_]|\\b)", header):
            return folder, title
    sys.exit(f"{header}: no room of make_reference.py has it")


@dataclass
class Page:
    name: str  # qualified
    room: str
    header: str
    entities: list = field(default_factory=list)  # overloads, forms in place, or a class
    options: list = field(default_factory=list)  # structs of options
    file: str = ""

    @property
    def kind(self):
        return self.entities[0].kind

    @property
    def is_function(self):
        return self.kind == "function"

    def comment(self):
        lines = []
        for e in self.entities:
            if e.comment and e.comment not in lines:
                lines.append(e.comment)
        return lines

    def text(self):
        return "  ".join(" ".join(line.strip() for line in comment) for comment in self.comment())

    def sentence(self):
        if of := re.search(r'<"\w+", (\w+)', self.entities[0].text):
            return f"{of.group(1)} as a layer."
        return make_operations.sentence(re.sub(r"\s+", " ", " ".join(line.strip() for line in self.comment()[0])).strip()) if self.comment() else ""


def declaration(entity, name=""):
    """As the header has it, without the line of the user and what initializes members; of an alias with its name."""
    text = entity.text
    if entity.kind == "function":
        text = text[:text.index("(")] + text[text.index("("):error_messages.closing(text, text.index("(")) + 1] + \
            (" const" if re.search(r"\) const\b", text) else "")
    text = re.sub(rf"\b{entity.name}\(", f"{name}(", text) if name else text
    text = re.sub(r",?\s*(?:minnow::)?SourceLocation \w+(?: = [\w:]+\(\))?(?=[,)])", "", text)
    return text.replace("( ", "(")


def is_hidden(e):
    return e.kind == "concept" or e.name.startswith("operator") or e.name in ("TensorOption",) or "const T& option" in e.text


def gather():
    """All pages by name."""
    everything = headers.entities()
    pages, structs = {}, {e.qualified: e for e in everything if e.kind == "class"}
    names = {e.qualified for e in everything}
    objects = {e.name for e in everything if e.kind == "class" and any(m.name == "operator()" for m in e.members)}
    own_comments(everything)
    for e in everything:
        if e.kind == "alias" and not e.comment and (template := template_of(e)):
            e.comment = template.comment
        if is_hidden(e) or e.name.endswith("Options") and e.kind in ("class", "alias"):
            continue
        if e.kind == "object" and e.text.split()[0] not in objects and not (e.comment or e.name.startswith("k")):
            continue
        name = e.qualified
        if e.kind == "function" and name.endswith("_") and name[:-1] in names and name[:-1] != "nn::quantize_dynamic":
            name = name[:-1]
        room = room_of(e.header)[0]
        page = pages.setdefault(name, Page(name, room, e.header))
        if page.entities and page.kind != e.kind and "class" in (page.kind, e.kind):
            page = pages.setdefault(f"{name} ({e.kind})", Page(f"{name} ({e.kind})", room, e.header))
        page.entities.append(e)
    add_options(pages, structs)
    for page in pages.values():  # the struct that a function returns
        giving = [p.name for p in pages.values() if p.is_function and page.kind == "class" and not page.comment()
                  and any(re.match(rf"{page.entities[0].name}\b", e.text) and e.space == page.entities[0].space for e in p.entities)]
        if giving:
            page.entities[0].comment = [f" What `{'` and `'.join(giving)}` {'give' if len(giving) > 1 else 'gives'}."]
    used = {}
    for page in sorted(pages.values(), key=lambda page: not page.is_function):
        short = re.sub(r"\W+", ".", re.sub(r"^(nn|optim|data|training|metrics|dist|distributions|vision|text|tensorboard|onnx)::", "", page.name)).strip(".")
        key = (page.room, short.lower())
        page.file = short if key not in used else f"{short}-{page.kind}"
        used[key] = page
    return pages


def arguments_of(entity):
    return entity.text.partition("(")[2].rpartition(")")[0]


def own_comments(entities):
    """A comment stands for the declarations below it that take the same parameters, or are forms of one name; not for others."""
    keep_comments(entities, lambda e, owner: e.kind == owner.kind and (e.kind == "object" or e.kind == "function" and (
        e.name.rstrip("_") == owner.name.rstrip("_") or arguments_of(e) == arguments_of(owner))))


def own_member_comments(members):
    """Of members it stands for forms of one name, and for those of one type and the same parameters, if there are any."""
    keep_comments(members, lambda e, owner: e.kind == owner.kind == "function" and (
        e.name.rstrip("_") == owner.name.rstrip("_") or
        arguments_of(e) and arguments_of(e) == arguments_of(owner) and e.text.split(e.name)[0] == owner.text.split(owner.name)[0]))


def keep_comments(entities, belongs):
    owner = None
    for e in entities:
        if owner is None or e.comment is not owner.comment:
            owner = e
        elif not belongs(e, owner):
            e.comment = []


def add_options(pages, structs):
    by_short = {}
    for name, struct in structs.items():
        by_short.setdefault(struct.name, []).append(struct)
    for page in pages.values():
        texts = " ".join(e.text for e in page.entities) + " ".join(m.text for e in page.entities if e.kind == "class" for m in e.members)
        for name in dict.fromkeys(re.findall(r"\b(\w+Options)\b", texts)):
            found = by_short.get(name, [])
            own = [s for s in found if s.space == page.entities[0].space] or found
            page.options += own[:1]
        rule = re.search(r"RuleOptimizer<detail::kernels::(\w+)", texts)
        if rule:
            kernel = next((r for r in headers.own_entities(page.header) if r.name == rule.group(1)), None)
            page.options += [m for m in kernel.members if m.name == "Options"] if kernel else []


# What a page says ---------------------------------------------------------------------------------------------------


def sentences(text):
    """Sentences and formulas: these stand behind two spaces or more."""
    return [re.sub(r"\s+", " ", s.strip()) for s in re.split(r"(?<=[.;])\s{2,}|\s{3,}(?!->)|(?<=[.;])\s(?=[A-Z0-9`({\[])", text) if s.strip()]


def introduction(header):
    return make_operations.introduction(header)


class Facts:
    """What docs/tested-dtypes.txt says of a function."""

    def __init__(self):
        self.of = {}
        for line in (HERE / "tested-dtypes.txt").read_text(encoding="utf-8").splitlines():
            if not line.startswith("#"):
                name, _, rest = line.partition(": ")
                gradient, devices, *dtypes = rest.split()
                self.of[name] = (gradient, devices.split(","), dtypes)

    def get(self, name):
        short = name.rpartition("::")[2]
        return self.of.get(short) or self.of.get(name)


ALL_DTYPES = ["float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"]
GRADIENTS = {"none": "none is recorded", "first": "the first derivative", "any": "of any order", "unchecked": "yes"}
SHAPE_WORDS = re.compile(r"->|\[[A-Z0-9., …*]+\]|\bshapes?\b|\bsizes?\b|\bbroadcast\b|\b0-dim\b|\bdimensions?\b|\bmatri|\bvectors?\b|\bone element\b", re.I)


def shapes(page):
    found = [s for s in sentences(page.text()) if re.search(r"->|: \[|\[[A-Z][\w, .]*\]", s)]
    if found:
        return " ".join(found)
    found = [s for s in sentences(introduction(page.header)) if re.search(r"->|\bbroadcast|\bshape|dimension", s)]
    if page.room == "elementwise" and "unary" in page.header:
        return "The result has the shape of x."
    if found:
        return " ".join(found)
    found = [s for s in sentences(page.text()) if SHAPE_WORDS.search(s)]
    return " ".join(found)


def dtypes(page, facts):
    known = facts.get(page.name)
    if known and known[2]:
        listed = [d for d in ALL_DTYPES if d in known[2] or d + "_" in known[2]]
        return "all" if listed == ALL_DTYPES else ", ".join(f"`{d}`" for d in listed)
    found = [s for s in sentences(page.text() + " " + introduction(page.header)) if re.search(r"DType|dtype|float|int64|integer|\bbool\b", s)]
    return " ".join(found)


def errors(page):
    found = [s for s in sentences(page.text()) if re.search(r"\b\w*Errors?\b", s)]
    found += [s for s in sentences(introduction(page.header)) if re.search(r"\b\w*Errors?\b", s) and s not in found]
    return " ".join(found)


def gradient(page, facts):
    found = [s for s in sentences(page.text()) if re.search(r"\bgradient|\bdx\b|\bd[a-z] = |derivative", s)]
    known = facts.get(page.name)
    said = GRADIENTS[known[0]] if known else ""
    return (said + ("; " if said and found else "") + " ".join(found)).strip()


def torch_names():
    """PyTorch's names of each of ours: (name, remark)."""
    result, _ = make_torch_names.sorted_out(make_torch_names.read_names()[1], make_torch_names.Minnow(), make_torch_names.Map(make_torch_names.MAP.read_text(encoding="utf-8")))
    minnow, found = make_torch_names.Minnow(), {}
    for module, (same, other, _) in result.items():
        for name in same:
            ours = minnow.find(make_torch_names.PLACES[module], name)
            found.setdefault(ours, []).append((f"{module}.{name}", ""))
        for name, ours, remark in other:
            found.setdefault(ours, []).append((f"{module}.{name}", remark or ""))
    return found


def torch_of(page, names):
    short = page.name.rpartition("::")[2]
    keys = [page.name, page.name + "_"] + [f"x.{short}", f"x.{short}_"] * (not page.entities[0].space)
    return list(dict.fromkeys(pair for key in keys for pair in names.get(key, [])))


def prose(comment):
    """A comment as Markdown: indented lines are code or formulas."""
    out, block = [], []

    def flush():
        if block:
            while block and not block[-1].strip():
                block.pop()
            least = min(len(line) - len(line.lstrip()) for line in block if line.strip())
            out.extend(["", "```cpp", *[line[least:] for line in block], "```", ""])
            block.clear()

    previous_blank = True
    for raw in comment:
        line = raw[1:] if raw.startswith(" ") else raw
        if line.startswith("    ") and (previous_blank or block):
            block.append(line)
        elif not line.strip():
            (block if block else out).append("")
        else:
            flush()
            out.append(escaped(line.strip()))
        previous_blank = not line.strip()
    flush()
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip()


def escaped(text):
    """Markdown has no meaning in comments but for `code`."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(p if p.startswith("`") else re.sub(r"([<*_|\[\]])", r"\\\1", p) for p in parts)


def cell(text):
    return escaped(text).replace("\n", " ").strip()


def link(page, here, text=None):
    target = f"{page.file}.md" if page.room == here.room else f"../{page.room}/{page.file}.md"
    return f"[`{text or page.name}`]({target})"


def related(page, pages, facts):
    """Pages that the comment names, the layer of a function and the function of a layer, then neighbours."""
    found = []
    text = page.text()
    words = dict.fromkeys(re.findall(r"(?<![\w.])[\w:]+", text))
    spaces = [page.entities[0].space, ""]
    for word in words:
        for candidate in (word.removeprefix("minnow::"), *(f"{s}::{word}" for s in spaces if s)):
            other = pages.get(candidate)
            if other and other is not page and not word.endswith("Error") and \
                    (re.search("_|::|[a-z][A-Z]|[A-Z]{2}", word) or re.search(rf"(?<![\w.]){word}\(", text)):
                found.append(other)
    short = re.sub(r"[_\d]|loss$", "", page.name.rpartition("::")[2].lower())
    for other in pages.values():
        if other is not page and re.sub(r"[_\d]|loss$", "", other.name.rpartition("::")[2].lower()) == short and other.kind in ("function", "class", "alias"):
            found.append(other)
    for other in pages.values():
        if other.header == page.header and other is not page and len(found) < 10 and other.kind == page.kind:
            found.append(other)
    return list({p.name: p for p in found}.values())[:10]


def fields_table(struct):
    rows = []
    own_member_comments(struct.members)
    for m in struct.members:
        if m.kind == "object":
            kind = re.sub(rf"\b{m.name}\b.*", "", m.text).strip().rstrip("&*")
            shown = make_operations.field(m)
            rows.append(f"| `{shown}` | `{kind}` | {cell(m.note or ' '.join(line.strip() for line in m.comment))} |")
    return ["| option | type | |", "|---|---|---|", *rows, ""] if rows else []


def member_rows(entity):
    rows = []
    own_member_comments(entity.members)
    for m in entity.members:
        if m.kind == "class" or m.name in ("begin", "end") or m.text.endswith("= delete") or " = default" in m.text:
            continue
        if m.kind == "function":
            text = " ".join(line.strip() for line in (m.comment or []))
            rows.append((declaration(m), m.note or text))
        elif m.kind == "object":
            rows.append((m.text, m.note or " ".join(line.strip() for line in m.comment)))
    return rows


def page_text(page, pages, facts, names, examples):
    first = page.entities[0]
    room_title = next(title for folder, title, _ in ROOMS if folder == page.room)
    torch = torch_of(page, names)
    out = ["---", f'title: "{page.name}"', f"description: \"{page.sentence()[:150].replace(chr(34), chr(39)).replace(chr(92), '')}\"", "---", "",
           f"# {page.name}", "", NOTE, ""]
    wing = page.header.split("/")[0]
    include = f"<minnow/{wing}/{wing}.h>" if first.header in headers.wing_headers() else "<minnow/minnow.h>"
    out += [f"[{room_title}](index.md) · `#include {include}` · `{page.header}`", ""]
    out += sum(([prose(comment), ""] for comment in page.comment()), [])
    of = re.search(r'<"\w+", (\w+)', first.text)
    if of and not page.comment():
        out += [f"{link(pages[of.group(1)], page)} as a layer.", ""]
    code = list(dict.fromkeys(declaration(e) + ";" for e in page.entities if e.kind != "enum" and (e.kind != "class" or not e.members)))
    template = template_of(first) if page.kind == "alias" else None
    if template:
        code += [declaration(m, first.name) + ";" for m in makers_of(template) if "Options" in m.text or "RuleOptimizer" not in first.text]
    if page.kind == "class":
        code = [first.text + ";", *(declaration(m) + ";" for m in makers_of(first))]
    if page.kind == "enum":
        code = [f"{first.text} {{ {', '.join(m.name for m in first.members)} }};"]
    short = first.name
    method = {"stddev": "std"}.get(short, short)
    out += ["## Signature", "", "```cpp", *code, "```", ""]
    if page.is_function and not first.space and method in METHODS:
        out += [f"Also a method of a tensor: `x.{method}(...)`." + (f" In place: `x.{method}_(...)`." if method + "_" in METHODS else ""), ""]
    rows = []
    if page.is_function and page.room in OPERATIONS and page.name not in NO_TENSOR:
        known = facts.get(page.name)
        rows = [("Shapes", cell(shapes(page))), ("Dtypes", dtypes(page, facts) if known else cell(dtypes(page, facts))),
                ("Devices", "CPU, CUDA, sim" if not known or "cuda" in known[1] else "CPU, sim"),
                ("Errors", cell(errors(page)) or "undefined operands, operands on different devices"), ("Gradient", cell(gradient(page, facts)))]
    elif said := cell(errors(page)):
        rows = [("Errors", said)]
    rows.append(("PyTorch", ", ".join(f"`{n}`" + (f" ({r})" if r else "") for n, r in torch) or "no such name"))
    out += ["| | |", "|---|---|", *[f"| {a} | {b} |" for a, b in rows if b], ""]
    if "Errors" in [r[0] for r in rows]:
        out += ["[Errors and what to do](../../errors.md) lists every message.", ""]
    out += example_text(page, examples)
    for struct in page.options:
        table = fields_table(struct)
        if table:
            out += [f"## {struct.name if struct.name != 'Options' else 'Options'}", "", *([prose(struct.comment), ""] if struct.comment else []), *table]
    if page.kind == "class":
        members = [(d, t) for d, t in member_rows(first) if not d.startswith(first.name + "(")]
        if members:
            out += ["## Members", "", "| | |", "|---|---|", *[f"| `{d.replace('|', chr(92) + '|')}` | {cell(t)} |" for d, t in members], ""]
        if first.base:
            bases = [b.replace("public ", "").strip() for b in error_messages.split(first.base)]
            known = [pages.get(f"{first.space}::{b}") or pages.get(b) for b in bases]
            shown = [link(k, page) if k else f"`{b}`" for b, k in zip(bases, known) if not b.startswith("detail::")]
            out += [f"It derives from {', '.join(shown)}.", ""] if shown else []
    others = related(page, pages, facts)
    if others:
        out += ["## See also", "", ", ".join(link(o, page) for o in others), ""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).rstrip() + "\n"


TEMPLATES = {e.qualified: e for e in headers.entities() if e.kind == "class"}


def template_of(alias):
    """The class that `using Conv2d = Conv<Pair>` names."""
    of = re.match(r"using \w+ = ([\w:]+)<", alias.text)
    return TEMPLATES.get(f"{alias.space}::{of.group(1)}") if of else None


def makers_of(entity):
    return [m for m in entity.members if m.kind == "function" and m.name == entity.name and "= delete" not in m.text
            and not re.search(rf"\(\s*(?:const )?{entity.name}&&?\s*\w*\s*\)", m.text)]


def example_text(page, examples):
    snippets_of = [examples[n] for n in (page.name, page.name + "_") if n in examples]
    out = []
    for snippet in snippets_of:
        out += ["```cpp", *snippet.code(), "```", "", "```text", *snippet.output, "```", ""]
    return ["## Example", "", *out] if out else []


METHODS = headers.methods()


def index_text(folder, title, pages):
    own = sorted((p for p in pages.values() if p.room == folder), key=lambda p: (p.header, p.name.lower()))
    out = [f"# {title}", "", NOTE, ""]
    header = None
    for page in own:
        if page.header != header:
            header = page.header
            out += ["", f"## {make_operations.title(header).replace(' (of tensor/)', '')}", ""]
            if said := introduction(header):
                out += [escaped(said), ""]
            out += ["| | |", "|---|---|"]
        out.append(f"| [`{page.name}`]({page.file}.md) | {cell(page.sentence())} |")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)) + "\n"


def errors_text():
    messages, faults = error_messages.advised(error_messages.Reader().messages(), error_messages.read_advice())
    kinds = {}
    for m in messages:
        kinds.setdefault(m.kind, {}).setdefault(m.file.split("/")[0], []).append(m)
    classes = {e.name: e for e in headers.entities(["tensor/error.h"])}
    out = ["# Errors and what to do", "", NOTE, "",
           "Each message of the library's errors, read from its sources: `<name>` stands for what the program puts there. A message begins with",
           "the operation that was called and ends its first line with yours; between it and the advice stand the operands with their dtypes,",
           "shapes and devices. All errors derive from [`Error`](reference/tensor/Error.md), a `std::runtime_error`, whose `where()` is your line.", ""]
    for kind in sorted(kinds):
        what = make_operations.sentence(" ".join(line.strip() for line in classes[kind].comment))
        out += [f"## {kind}", "", escaped(what), ""]
        for folder in sorted(kinds[kind]):
            out += [f"### {kind} of {folder}", "", "| message | what to do |", "|---|---|"]
            rows = sorted({(m.text, m.advice) for m in kinds[kind][folder]})
            out += [f"| {code_cell(text)} | {cell(advice)} |" for text, advice in rows] + [""]
    return "\n".join(out), messages, faults


def code_cell(text):
    """A message in a cell of a table, as it is."""
    text = re.sub(r"\s+", " ", text).replace("|", "\\|")
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def llms_text(pages):
    out = ["# minnow", "",
           "> A small C++20 framework for training neural networks on CPU and NVIDIA GPUs. Its names are PyTorch's: tensors, autograd, modules,",
           "> optimizers, data loaders; weights are safetensors files.", "",
           "A program includes `<minnow/minnow.h>`, says `using namespace minnow;` and links `minnow::minnow`. Options are designated",
           "initializers: `nn::Conv2d(3, 16, 3, {.stride = 2})`. A module is a struct of members made by `child(\"name\", layer)`.", "",
           "## Documents", ""]
    for path in sorted(HERE.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        title = re.search(r"^# (.*)", text, re.M)
        first = re.search(r"^# .*\n+(?:<!--.*?-->\n+)?([^\n#|`<!].*)", text)
        out.append(f"- [{title.group(1)}]({path.name})" + (f": {make_operations.sentence(first.group(1))}" if first else ""))
    out += ["- [Errors and what to do](errors.md): every message, and what to do", ""]
    for folder, title, _ in ROOMS:
        own = sorted((p for p in pages.values() if p.room == folder), key=lambda p: p.name.lower())
        out += [f"## {title}", ""]
        out += [f"- [{p.name}](reference/{folder}/{p.file}.md)" + (f": {p.sentence()}" if p.sentence() else "") for p in own] + [""]
    return "\n".join(out)


def reference_index(pages):
    out = ["# Reference", "", NOTE, "", "A page for each public function and class. The examples are compiled and run by a test, after",
           "`#include <minnow/minnow.h>` and `using namespace minnow;`; what they print stands below them.", "", "| room | |", "|---|---|"]
    for folder, title, _ in ROOMS:
        own = [p for p in pages.values() if p.room == folder]
        functions = sum(p.is_function for p in own)
        out.append(f"| [{title}]({folder}/index.md) | {functions} functions, {len(own) - functions} types |")
    out += ["| [Errors and what to do](../errors.md) | every message |", "| [PyTorch's names](../torch-names.md) | what is here, and under which name |"]
    return "\n".join(out) + "\n"


def faults_of(pages, facts, examples):
    for page in pages.values():
        if page.room in WITH_EXAMPLES and page.kind != "enum" and page.name not in NO_EXAMPLE and not example_text(page, examples):
            is_plain = page.kind == "class" and page.entities[0].text.startswith("struct") or page.kind == "object"
            if not is_plain and not (page.kind == "alias" and page.room in OPERATIONS):
                yield f"{page.name}: needs an example in docs/snippets"
        if page.is_function and page.room in OPERATIONS and page.name not in NO_TENSOR:
            for what, text in (("shapes", shapes(page)), ("dtypes", dtypes(page, facts)), ("gradient", gradient(page, facts))):
                if not text:
                    yield f"{page.name}: the comment in {page.header} says nothing of its {what}"
        if page.is_function and not page.comment() and page.room in OPERATIONS and page.name not in NO_TENSOR:
            yield f"{page.name}: has no comment in {page.header}"
    for name, snippet in examples.items():
        if name not in pages and name.rstrip("_") not in pages:
            yield f"{snippet.file.name}:{snippet.line}: no page is called {name}"


def written(folder):
    pages, facts, names, examples = gather(), Facts(), torch_names(), snippets.everything()
    texts = {"reference/index.md": reference_index(pages)}
    for room, title, _ in ROOMS:
        texts[f"reference/{room}/index.md"] = index_text(room, title, pages)
    for page in pages.values():
        texts[f"reference/{page.room}/{page.file}.md"] = page_text(page, pages, facts, names, examples)
    texts["errors.md"] = errors_text()[0]
    texts["llms.txt"] = llms_text(pages)
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return texts


def dead_links(texts):
    for name, text in texts.items():
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.S)):
            if not target.startswith("http"):
                path = (Path("/") / name).parent / target
                whole = "/".join(normal(path.parts[1:]))
                if whole not in texts and not (HERE / whole).exists():
                    yield f"{name}: {target} is not there"


def normal(parts):
    out = []
    for part in parts:
        if part == "..":
            out.pop()
        elif part != ".":
            out.append(part)
    return out


def self_test():
    messages = [error_messages.Message("ValueError", "x must be positive", "", "ops/x.cpp", 3)]
    if not error_messages.advised(messages, [])[1] or error_messages.advised(messages, [("ops/x.cpp", "x must", "", "give 1")])[1]:
        sys.exit("a message without advice is not found")
    if not error_messages.advised([], [("ops/x.cpp", "x must", "", "give 1")])[1]:
        sys.exit("a line of error-advice.txt that no message needs is not found")
    pages = {"f": Page("f", "shapes", "ops/shape/rearrange.h", [headers.Entity("function", "f", "", "Tensor f(const In& x)", "", "ops/shape/rearrange.h")])}
    faults = list(faults_of(pages, Facts(), {"g": snippets.Snippet("g", Path("g.txt"), 1)}))
    if not any("f: needs an example" in f for f in faults) or not any("no page is called g" in f for f in faults):
        sys.exit(f"a function without an example is not found: {faults}")
    if not list(dead_links({"a/b.md": "[x](../c/d.md)"})) or list(dead_links({"a/b.md": "[x](../c/d.md)", "c/d.md": ""})):
        sys.exit("a dead link is not found")
    print("what a page lacks is found")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if sys.argv[1:] == ["--check"]:
        import tempfile
        with tempfile.TemporaryDirectory() as folder:
            texts = written(Path(folder))
        faults = list(faults_of(gather(), Facts(), snippets.everything())) + errors_text()[2] + list(dead_links(texts))
        if faults:
            sys.exit("\n".join(faults))
        return print(f"{len(texts)} pages have what they need")
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    written(Path(sys.argv[1]))


if __name__ == "__main__":
    main()

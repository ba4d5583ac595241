#!/usr/bin/env python3
"""Writes docs/operations.md and docs/layers.md from the public headers: their names, parameters and comments.

make_operations.py          writes the pages
make_operations.py --check  fails when they are not what it would write
"""

import re
import sys
from dataclasses import replace
from pathlib import Path

import headers

HERE = Path(__file__).resolve().parent
NOTE = "<!-- Written by docs/make_operations.py from the headers: change those and run it. -->"
OPERATIONS = ("tensor/create.h", "tensor/random.h", "tensor/index.h", "tensor/activation.h", "ops/", "nn/.*loss.h")
NOT_LAYERS = ("tensor/(?!kernels/rules|io/)", "ops/", "nn/.*loss.h")
IN_MINNOW = ("autograd/", "tensor/io/", "training/")  # what is in no namespace of its own


def is_of(header, patterns):
    return any(re.match(pattern, header) for pattern in patterns)


def sentence(doc):
    """The first sentence of a comment."""
    end = re.search(r"(?<!e\.g)(?<!et al)(?<!\.)\.(?=\s+(?:[A-Z0-9`({\[]|[a-z_]\w*(?:, [a-z_]\w*)*:)|\s*$)", doc)
    return doc[:end.end()] if end else doc


def cell(text):
    return text.replace("|", "\\|").strip()


def field(member):
    """A field of a struct with its default, unless that is nothing: ".stride = 1"."""
    for part in headers.split(member.text):
        if found := re.search(rf"\b{member.name}(?: = (.+)|({{.+}}))?$", part):
            default = found.group(1) or found.group(2)
            return f".{member.name}" + (f" = {default}" if default and default not in ("{}", "std::nullopt", "nullptr") else "")
    return f".{member.name}"


def fields(struct):
    return ", ".join(field(m) for m in struct.members if m.kind == "object")


def found_in(space, name, by_name):
    """What a name means in a namespace: its own, or that of one around it."""
    while True:
        if found := by_name.get(f"{space}::{name}" if space else name):
            return found
        if not space:
            return None
        space = space.rpartition("::")[0]


def parameters(entity, options):
    """The names of the parameters, with their defaults; of options their fields."""
    text = entity.text[entity.text.index("("):]
    depth = 0
    for at, c in enumerate(text):
        depth += {"(": 1, ")": -1}.get(c, 0)
        if depth == 0:
            break
    shown = []
    for parameter in headers.split(text[1:at]):
        declared, _, default = (part.strip() for part in parameter.partition("="))
        if "SourceLocation" in declared or not declared or declared == "void":
            continue
        kind = re.match(r"(?:const )?([\w:]+)", declared)
        chosen = found_in(entity.space, kind.group(1), options) if kind else None
        name = re.search(r"\([*&](\w+)\)|(\w+)(?:\[\])?$", declared)
        if chosen:
            shown.append("{" + chosen + "}")
        elif name:
            shown.append((name.group(1) or name.group(2)) + (f" = {default}" if default and default != "{}" else ""))
    return ", ".join(shown)


def options_of(entities):
    """The fields of the structs of options, by their full names."""
    options = {e.qualified: fields(e) for e in entities if e.kind == "class" and e.name.endswith("Options")}
    for e in entities:
        if e.kind == "alias" and e.name.endswith("Options"):
            of = e.text.partition(" = ")[2]
            if rule := re.fullmatch(r"detail::kernels::(\w+)(<true>|<false>)?::Options", of):
                own = next(r for r in headers.own_entities(e.header) if r.name == rule.group(1))
                shown = fields(next(m for m in own.members if m.name == "Options"))
                yes = rule.group(2) == "<true>"
                options[e.qualified] = re.sub(r"\w+ \? ([^:,]+) : ([^:,]+)", lambda m: m.group(1 if yes else 2), shown)
            elif shown := found_in(e.space, of.partition("<")[0], options):
                options[e.qualified] = shown
    return options


def introduction(header):
    """The comment above the header's namespace."""
    text = (headers.ROOT / header).read_text(encoding="utf-8")
    found = re.search(r"^((?://[^\n]*\n)+)namespace minnow", text, re.M)
    return " ".join(re.sub(r"^///?", "", line).strip() for line in found.group(1).splitlines()) if found else ""


def title(header):
    name = Path(header).stem.replace("_", " ").capitalize()
    return f"{name} (of tensor/)" if header.startswith("tensor/") and not header.startswith("tensor/io/") else name


def inherited(group):
    """The comment of a declaration stands also for those below it with the same parameters; for others it does not."""
    owner = None
    for entity in group:
        arguments = entity.text.partition("(")[2]
        if entity.doc and (owner is None or entity.doc != owner.doc):
            owner = entity
        elif entity.kind != "function":
            entity.doc = ""
        elif entity.doc and entity.name not in (owner.name, owner.name + "_") and arguments != owner.text.partition("(")[2]:
            entity.doc = ""
    return group


def functions(entities, header):
    callable_types = {e.name for e in entities if any(m.name == "operator()" for m in e.members)}
    docs = {e.name: e.doc for e in entities if e.kind == "class"}
    found = []
    for e in entities:
        if e.header != header:
            continue
        if e.kind == "function":
            found.append(e)
        elif e.kind == "object" and e.text.split()[0] in callable_types:
            kind = next(t for t in entities if t.name == e.text.split()[0])
            call = next(m for m in kind.members if m.name == "operator()")
            doc = re.sub(r"^.*?As a function, (\w)", lambda m: m.group(1).upper(), docs[kind.name])
            found.append(headers.Entity("function", e.name, e.space, call.text.replace("operator()", e.name), doc, header))
    return inherited(found)


def operations():
    everything = headers.entities()
    options, methods = options_of(everything), headers.methods()
    renamed = {"stddev": "std"}
    count, sections = 0, []
    names = {e.qualified for e in everything}
    for header in headers.public_headers():
        if not is_of(header, OPERATIONS):
            continue
        rows = {}
        for e in functions(everything, header):
            base = e.qualified[:-1] if e.name.endswith("_") and e.qualified[:-1] in names else None
            if not base:
                rows.setdefault(e.qualified, []).append(e)
        enums = [e for e in everything if e.kind == "enum" and e.header == header]
        if not rows and not enums:
            continue
        lines = [f"## {title(header)}", ""]
        if text := introduction(header):
            lines += [text, ""]
        lines += ["| function | what it is | forms |", "|---|---|---|"]
        for name, overloads in rows.items():
            count += 1
            signatures = list(dict.fromkeys(f"`{name}({parameters(e, options)})`" for e in overloads
                                            if "const T& option" not in e.text))
            forms = []
            method = renamed.get(name, name)
            if method in methods:
                forms.append(f"`x.{method}`")
            if name + "_" in names:
                forms.append(f"`{name}_`")
            doc = next((e.doc for e in overloads if e.doc), "")
            lines.append(f"| {'<br>'.join(map(cell, signatures))} | {cell(sentence(doc))} | {', '.join(forms)} |")
        lines += [f"| `{enumerators(e)}` | {cell(sentence(e.doc))} | |" for e in enums]
        sections.append((header, lines))
    tensor = next(e for e in everything if e.kind == "class" and e.name == "Tensor")
    free = {e.name for e in everything if e.kind == "function" and not e.space}
    own = {}
    for m in tensor.members:
        if m.kind == "function" and m.name not in free and m.name not in ("Tensor", "operator()"):
            own.setdefault(m.name, []).append(m)
    lines = ["## Methods of Tensor alone", "", "| method | what it is |", "|---|---|"]
    seen, plain = set(), []
    for name, overloads in own.items():
        doc = next((m.doc for m in overloads), "")
        if not doc or doc in seen:  # a comment stands for one name
            plain.append(f"`x.{name}`")
            continue
        seen.add(doc)
        signatures = dict.fromkeys(f"`x.{name}({parameters(m, options)})`" for m in overloads)
        lines.append(f"| {'<br>'.join(map(cell, signatures))} | {cell(sentence(doc))} |")
    lines += ["", f"And {', '.join(plain)}."] if plain else []
    text = "\n\n".join("\n".join(lines) for _, lines in sections)
    return f"""# Operations

{NOTE}

The {count} public functions of tensors, by header: `#include <minnow/minnow.h>` has all of them. The comments in the headers
say more: shapes, dtypes, errors and gradients. Parameters in braces are options, with their defaults:
`conv2d(x, w, b, {{.stride = 2}})`. An enum is shown with its values. Under
*forms* are the method of `Tensor` and the form in place, which writes over its first operand.

{text}

{chr(10).join(lines)}
"""


def is_layer_page(e):
    hidden = ((e.kind == "concept" and not e.space) or e.name.endswith("Options") or e.name.startswith("operator")
              or e.space in (("cuda", "profile") if is_of(e.header, IN_MINNOW) else ("", "cuda", "profile")))
    return not hidden and not is_of(e.header, NOT_LAYERS)


def described(e, options):
    """The row of a class, an alias or a function."""
    name, doc = e.qualified, e.doc
    if e.kind == "function":
        return f"{name}({parameters(e, options)})", doc
    if e.kind == "enum":
        return enumerators(e), doc
    if e.kind == "alias":
        layer = re.search(r'<"\w+", (\w+)', e.text)
        chosen = found_in(e.space, e.name + "Options", options)
        if layer and doc.startswith(e.name + "("):  # its arguments
            name, doc = f"{e.space}::{doc}", ""
        if layer:
            doc = doc or f"`{layer.group(1)}` as a layer."
        if "RuleOptimizer" in e.text or chosen and "Schedule<" in e.text:
            first = "params" if "RuleOptimizer" in e.text else "optimizer"
            return f"{name}({first}, {'{' + chosen + '}' if chosen else 'options'})", doc
        return name, doc
    makers = [m for m in e.members if m.kind == "function" and m.name == e.name and "&&" not in m.text
              and not re.search(rf"\(\s*const {e.name}&\s*\w*\s*\)", m.text)]
    if makers:
        return f"{name}({next(filter(None, (parameters(m, options) for m in makers)), '')})", doc
    shown = fields(e) if e.text.startswith("struct") else ""
    return name + ("{" + shown + "}" if shown else ""), doc


def enumerators(e):
    return f"{e.qualified}::{{{', '.join(m.name for m in e.members)}}}"


def members(e, options):
    """The rows of a class's members whose own comment says more than errors, and one row of the others."""
    if e.kind != "class":
        return []
    aggregate = e.text.startswith("struct") and not any(m.name == e.name for m in e.members)
    seen, rows, plain = set(), {}, {}
    for m in e.members:
        is_constructor = m.name in (e.name, "explicit")
        hidden = m.name in ("begin", "end") or " override" in m.text or m.text.endswith("= delete")
        if m.kind == "function" and not is_constructor:
            signature = f".{m.name}({parameters(m, options)})" if m.name != "operator()" else f"({parameters(m, options)})"
            if m.doc and m.doc not in seen and not re.match(r"\w*Errors?\b", m.doc):
                rows.setdefault(m.name, []).append(f"| `{cell(signature)}` | {cell(sentence(m.doc))} |")
            elif not hidden and m.name != "operator()":
                plain[m.name] = f"`.{m.name}()`"
        elif m.kind == "object" and not aggregate:
            plain[m.name] = f"`.{m.name}`"
        seen.add(m.doc)  # a comment stands for one member
    others = [shown for name, shown in plain.items() if name not in rows]
    return sum(rows.values(), []) + ["| | and " + ", ".join(others) + " |"] * bool(others)


def with_templates_named(everything):
    """Entities in which `using Conv2d = Conv<Pair>` and its like stand for the template, as one: Conv1d/2d/3d."""
    templates = {e.qualified: e for e in everything if e.kind == "class" and e.doc}
    aliases = {}
    for e in everything:
        of = e.kind == "alias" and re.fullmatch(r"using ((\w+?)\dd) = \2<.*>", e.text)
        if of and f"{e.space}::{of.group(2)}" in templates:
            aliases.setdefault(f"{e.space}::{of.group(2)}", []).append(e)
    hidden = {id(alias) for group in aliases.values() for alias in group}
    for e in everything:
        if group := aliases.get(e.qualified) if e.kind == "class" else None:
            name = "/".join([group[0].name, *(alias.name[-2:] for alias in group[1:])])
            yield replace(e, name=name, members=[replace(m, name=name) if m.name == e.name else m for m in e.members])
        elif id(e) not in hidden:
            yield e


def layers():
    everything = headers.entities()
    options = options_of(everything)
    everything = list(with_templates_named(everything))
    floors = {}
    for e in everything:
        if is_layer_page(e) and (e.doc or e.kind in ("alias", "class", "enum")):
            folder = "optim" if "kernels/rules" in e.header else e.header.split("/")[0]
            header = "optim/optimizers.h" if "kernels/rules" in e.header else e.header
            floors.setdefault(folder, {}).setdefault(header, []).append(e)
    parts = []
    for folder, families in floors.items():
        lines = ["## " + ("files" if folder == "tensor" else folder)]
        for header in sorted(families):
            rows = {}  # overloads with one comment are one row
            for e in inherited(families[header]):
                signature, doc = described(e, options)
                if doc or e.kind == "enum":
                    row = f"| `{cell(signature)}` | {cell(sentence(doc))} |"
                    rows.setdefault((signature.partition("(")[0], doc), [row, *members(e, options)])
            rows = sum(rows.values(), [])
            if rows:
                intro = introduction(header)
                lines += ["", f"### {title(header)}", ""] + [intro, ""] * bool(intro) + ["| | |", "|---|---|", *rows]
        parts.append("\n".join(lines))
    text = "\n\n".join(parts)
    return f"""# Gradients, layers, optimizers, data, files

{NOTE}

What the folders beside and above the operations declare, by header; losses are in [operations.md](operations.md). The first constructor
of each class is shown; parameters in braces are options, with their defaults: `nn::Conv2d(3, 16, 3, {{.stride = 2}})`. Rows that begin
with a dot are members of the class above them.

{text}
"""


def main():
    pages = {HERE / "operations.md": operations(), HERE / "layers.md": layers()}
    silent = re.findall(r"^\| (`.*`) \|  \|", "\n".join(pages.values()), re.M)
    if silent:
        sys.exit("\n".join(f"{name}: write a comment above its declaration" for name in silent))
    stale = [path for path, text in pages.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if "--check" not in sys.argv[1:]:
        for path in stale:
            path.write_text(pages[path], encoding="utf-8")
    elif stale:
        sys.exit(f"{', '.join(path.name for path in stale)}: not up to date; run docs/make_operations.py")


if __name__ == "__main__":
    main()

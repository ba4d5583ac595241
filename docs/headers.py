"""What the public headers declare: names, signatures and doc comments.  Public are the headers that minnow.h includes
(tests/package/umbrella.py), without the namespaces of the library's own."""

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OWN = {"detail", "autograd", "kernels", "raw"}  # namespaces of the library's own


@dataclass
class Entity:
    kind: str  # function, class, alias, enum, enumerator or object
    name: str
    space: str  # "", "nn", "nn::init", ...
    text: str  # the declaration, without what follows { or =
    doc: str
    header: str
    base: str = ""  # of a class
    members: list = field(default_factory=list)  # of a class: what is public in it, as entities; of an enum: its enumerators
    comment: list = field(default_factory=list)  # all lines of the comment
    note: str = ""  # the ///< behind a field

    @property
    def qualified(self):
        return f"{self.space}::{self.name}" if self.space else self.name


def public_headers():
    umbrella = (ROOT / "include/minnow/minnow.h").read_text(encoding="utf-8")
    return re.findall(r"#include <minnow/(.+)>", umbrella)


def wing_headers():
    """Those of the libraries over minnow, which minnow.h does not include."""
    found = []
    for wing in ("distributed", "distributions", "onnx", "llm", "tensorboard", "text", "vision"):
        umbrella = (ROOT / wing / f"{wing}.h").read_text(encoding="utf-8")
        found += re.findall(rf"#include <minnow/({wing}/.+)>", umbrella) or [f"{wing}/{wing}.h"]
    return found


def closing(text, at):
    """The end of the braces that open at `at`, of literals and comments free text."""
    depth = 0
    for i in range(at, len(text)):
        if text[i] == "{":
            depth += 1
        elif text[i] == "}":
            depth -= 1
            if depth == 0:
                return i + 1
    raise ValueError(f"braces do not match: {text[at:at + 80]}")


def blanked(text):
    """The text with literals, comments and preprocessor lines as spaces; comments that begin a line stay."""
    def spaces(match):
        return re.sub(r"[^\n]", " ", match.group())

    def is_comment(match):
        line_start = text.rfind("\n", 0, match.start()) + 1
        return match.group().lstrip().startswith("//") and not text[line_start:match.start()].strip() and \
            "///<" not in match.group()

    pattern = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|(?m:^[ \t]*//[^\n]*)|//[^\n]*|/\*.*?\*/|(?m:^[ \t]*#(?:\\\n|[^\n])*)'
    return re.sub(pattern, lambda m: m.group() if is_comment(m) else spaces(m), text, flags=re.S)


class Parser:
    def __init__(self, header, text):
        self.header, self.source, self.entities = header, text, []
        self.text = blanked(text)
        self.scope(0, len(text), "", None, True)

    def scope(self, at, end, space, owner, public):
        """Reads the declarations of a namespace or class."""
        doc, fresh = [], False  # fresh: the comment stands directly above
        start = None
        depth = 0
        while at < end:
            c = self.text[at]
            if start is None:
                if c.isspace():
                    if re.match(r"\n[ \t]*\n", self.text[at:at + 200]):
                        doc, fresh = [], False
                    at += 1
                    continue
                if self.text.startswith("//", at):
                    line_end = self.text.index("\n", at)
                    line = self.source[at:line_end].lstrip("/")
                    doc = doc + [line] if fresh else [line]
                    fresh, at = True, line_end
                    continue
                label = re.match(r"(public|private|protected)\s*:", self.text[at:at + 20])
                if owner is not None and label:
                    public, at, doc = label.group(1) == "public", at + label.end(), []
                    continue
                if c in "};":
                    at += 1
                    continue
                start, depth, fresh = at, 0, False
            if self.text.startswith("//", at):  # inside of a declaration
                at = self.text.index("\n", at)
                continue
            if c in "([":
                depth += 1
            elif c in ")]":
                depth -= 1
            elif depth == 0 and c in ";{":
                head = " ".join(self.source_of(start, at).split())
                after = at + 1
                if c == "{":
                    after = closing(self.text, at)
                    opened = self.opened(head, at + 1, after - 1, space, owner, public, doc)
                    if not opened and re.search(r"(\w|>|=|\])\s*$", head) and "(" not in head.replace("operator()", ""):
                        at = after  # an initializer: the declaration goes on
                        continue
                    if not opened:
                        self.declare(head, space, owner, public, doc)
                else:
                    self.declare(head, space, owner, public, doc, self.note_behind(at))
                at, start = after, None
                continue
            elif c == "{":
                at = closing(self.text, at)
                continue
            at += 1

    def source_of(self, start, end):
        """Without comments, but with literals."""
        shown = "".join(s if t == s or s in "\"'" or not t.isspace() or self.in_literal(start + i) else " "
                        for i, (s, t) in enumerate(zip(self.source[start:end], self.text[start:end])))
        return re.sub(r"(?m)^\s*//[^\n]*", "", shown)

    def in_literal(self, at):
        line = self.source.rfind("\n", 0, at) + 1
        before = self.source[line:at]
        return "//" not in before and (before.count('"') % 2 == 1 or before.count("'") % 2 == 1)

    def opened(self, head, begin, end, space, owner, public, doc):
        if match := re.match(r"(?:inline )?namespace(?: ([\w:]+))?$", head):
            parts = [p for p in (match.group(1) or "detail").split("::") if p != "minnow"]
            if not OWN & set(parts):
                self.scope(begin, end, "::".join([space] * bool(space) + parts), None, True)
            return True
        plain = without_template(head)
        if match := re.match(r"(?:class|struct) (?:\[\[\w+\]\] )?(\w+)(?: final)?(?:<[^>]*>)?(?: : (.*))?$", plain):
            made = Entity("class", match.group(1), space, plain, text_of(doc), self.header, match.group(2) or "", comment=doc)
            if owner is not None:
                owner.members.append(made)
            else:
                if not any(e.name == made.name and e.space == space for e in self.entities):  # a specialization
                    self.entities.append(made)
            self.scope(begin, end, space, made, plain.startswith("struct"))
            return True
        if match := re.match(r"enum (?:class )?(?:\[\[\w+\]\] )?(\w+)", head):
            if owner is None:
                listed = re.sub(r"//[^\n]*", "", self.text[begin:end])
                members = [Entity("enumerator", re.match(r"\w+", part).group(), space, part, "", self.header) for part in split(listed)]
                self.entities.append(Entity("enum", match.group(1), space, head, text_of(doc), self.header, members=members, comment=doc))
            return True
        return False

    def note_behind(self, at):
        """The text of the ///< behind a declaration, also on the lines below it."""
        line = self.source[at + 1:self.source.find("\n", at)]
        found = re.match(r"\s*///< (.*)", line)
        return found.group(1) if found else ""

    def declare(self, head, space, owner, public, doc, note=""):
        head = without_template(head)
        head = re.sub(r"\[\[\w+\]\]\s*|\b(?:inline|constexpr|explicit|static|virtual|friend|extern)\s+", "", head)
        kind = name = None
        if match := re.match(r"using (\w+) = (.*)", head):
            kind, name = "alias", match.group(1)
        elif match := re.match(r"using (?:[\w]+::)*(\w+)$", head):
            kind, name = "alias", match.group(1)
        elif match := re.match(r"concept (\w+)", head):
            kind, name = "concept", match.group(1)
        elif re.match(r"(typedef|static_assert|class|struct|enum|using|return|template)\b", head):
            return
        elif match := re.match(r"[^(=]*?(operator\s*\(\)|operator\s*\S+?|~?\b\w+)\s*\(", head):
            kind, name = "function", match.group(1)
        elif match := re.match(r"[\w:<>,&* ]+?\b(\w+)(?:\[\w*\])?(?:\s*=.*|\{.*)?$", (split(head) or [""])[0]):
            kind, name = "object", match.group(1)
        if kind is None or name.startswith("~") or (name.startswith("operator") and name != "operator()") or "->" in head:
            return
        if owner is None and re.search(rf"::{re.escape(name)}\s*\(", head):  # the definition of a member
            return
        names = [name]
        if kind == "object":  # double a = 0, b = 1;
            names += [re.match(r"\w+", part).group() for part in split(head)[1:] if re.match(r"\w+", part)]
        for each in names:
            made = Entity(kind, each, space, head, text_of(doc), self.header, comment=doc, note=note)
            if owner is None:
                self.entities.append(made)
            elif public:
                owner.members.append(made)


def split(text):
    """The parts between commas that are in no brackets or literals."""
    parts, depth, literal = [""], 0, False
    for i, c in enumerate(text):
        if text[i - 1:i + 2] == f"'{c}'":  # a character
            parts[-1] += c
            continue
        if c == '"' and text[i - 1] != "\\":
            literal = not literal
        if not literal:
            depth += {"(": 1, "[": 1, "{": 1, "<": 1, ")": -1, "]": -1, "}": -1, ">": -1}.get(c, 0)
        if c == "," and depth == 0 and not literal:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts if part.strip()]


def without_template(head):
    """A declaration without "template <...> requires ..."."""
    while head.startswith("template"):
        depth = 0
        for at in range(len("template"), len(head)):
            depth += {"<": 1, ">": -1}.get(head[at], 0)
            if depth == 0 and head[at] == ">":
                break
        head = head[at + 1:].strip()
    if head.startswith("requires"):
        head = re.sub(r"^requires\s*(?:\((?:[^()]|\([^()]*\))*\)|[\w:]+(?:<(?:[^<>]|<[^<>]*>)*>)?(?:\s*(?:&&|\|\|)\s*[\w:!]+(?:<(?:[^<>]|<[^<>]*>)*>)?)*)\s*", "", head)
    return head


def text_of(lines):
    """The first paragraph, without formulas below its first sentence."""
    text = ""
    for line in lines:
        if not line.strip() or (text.endswith(".") and line.startswith("   ")):
            break
        text = f"{text} {' '.join(line.split())}".strip()
    return text


def entities(headers=None):
    found = []
    if headers is None:  # an optimizer is declared beside its rule
        rules = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("tensor/kernels/rules/*.h"))
        headers = public_headers() + wing_headers() + rules
    for header in headers:
        found += Parser(header, (ROOT / header).read_text(encoding="utf-8")).entities
    return found


def own_entities(header):
    """Those of the library's own namespaces too."""
    text = (ROOT / header).read_text(encoding="utf-8")
    return Parser(header, re.sub(r"namespace (minnow::)?detail(::\w+)?", r"namespace \1shown", text)).entities


def methods(name="Tensor"):
    """The public members of Tensor."""
    names = set()
    for header, owner in (("tensor/tensor.h", name), ("tensor/methods.h", "Methods")):
        for entity in own_entities(header):
            if entity.kind == "class" and entity.name == owner:
                names |= {m.name for m in entity.members}
    return names

"""The messages of the errors that the library throws, read from its sources: their class, text and advice.

An expression that makes a message is read as text: literals stay, what a program computes is a <name>.  A text that a function
or lambda is given is that of each of its callers; a function that returns a text stands for it."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ADVICE = ROOT / "docs" / "error-advice.txt"
FOLDERS = ("tensor", "autograd", "ops", "nn", "optim", "data", "training", "vision", "text", "distributions", "tensorboard", "onnx", "llm",
           "capi", "distributed", "interop")
CLASS = re.compile(r"\b((?:Shape|DType|Device|Index|Value|Autograd|Format|Io|OutOfMemory|Backend)Error)\s*(?=[({])")
LITERAL = re.compile(r'"((?:\\.|[^"\\])*)"')
DEEPEST = 5  # calls


@dataclass(frozen=True)
class Message:
    kind: str  # the class
    text: str
    advice: str
    file: str
    line: int


def without_comments(text):
    """Comments as spaces; literals stay."""
    pattern = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|//[^\n]*|/\*.*?\*/'
    text = re.sub(r'R"(\w*)\(.*?\)\1"', lambda m: '"' + " " * (len(m.group()) - 2) + '"' if "\n" not in m.group() else
                  re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m.group()) if m.group()[0] == "/" else m.group(), text, flags=re.S)


def skip_literal(text, at):
    """Behind the literal at `at`, or `at`."""
    if text[at] == '"':
        found = LITERAL.match(text, at)
        return found.end() if found else at
    if text[at] == "'" and not text[at - 1].isalnum() and (match := re.compile(r"'(?:\\.|[^'\\])'").match(text, at)):
        return match.end()
    return at


def closing(text, at):
    """The bracket that closes the one at `at`."""
    depth = 0
    while at < len(text):
        if (behind := skip_literal(text, at)) != at:
            at = behind
            continue
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at
        at += 1
    return len(text) - 1


def split(text, separator=","):
    """The parts between separators that are in no brackets or literals."""
    parts, start, at, depth = [], 0, 0, 0
    while at < len(text):
        if (behind := skip_literal(text, at)) != at:
            at = behind
            continue
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(text[at], 0)
        if depth == 0 and text.startswith(separator, at) and text[at:at + 2] not in ("++", "+=", "::") and text[at - 1:at + 1] != "::":
            parts.append(text[start:at])
            start = at + 1
        at += 1
    return [part.strip() for part in [*parts, text[start:]]]


@dataclass
class Function:
    name: str
    parameters: list
    begin: int  # of its name
    body: int
    end: int
    file: "File"

    def text(self):
        return self.file.text[self.body:self.end]


class File:
    DEFINITION = re.compile(r"(?:\b(?P<lambda>\w+) = \[[^\]\n]*\]\s*(?=\()|\b(?P<name>~?\w+)\s*(?=\())")
    WORDS = {"if", "for", "while", "switch", "catch", "return", "sizeof", "requires", "decltype", "static_assert", "alignas", "noexcept"}

    def __init__(self, path):
        self.path = str(path.relative_to(ROOT))
        self.text = without_comments(path.read_text(encoding="utf-8"))
        self.includes = set(re.findall(r"#include <minnow/(.+)>", self.text))
        self.functions = list(self.find_functions())

    def find_functions(self):
        for match in self.DEFINITION.finditer(self.text):
            name = match.group("lambda") or match.group("name")
            if name in self.WORDS:
                continue
            end = closing(self.text, match.end())
            behind = re.compile(r"\s*(?:const|noexcept|override|mutable|requires [\w<>:, ]+|-> [\w:<>&*, ]+|\s)*(?::(?!:)[^;{]*)?\s*\{").match(self.text, end + 1)
            if behind:
                parameters = [re.sub(r"\s*=.*", "", p, flags=re.S) for p in split(self.text[match.end() + 1:end])]
                names = [(re.findall(r"\w+", p) or [""])[-1] for p in parameters]
                yield Function(name, names, match.start(), behind.end() - 1, closing(self.text, behind.end() - 1), self)

    def around(self, at):
        """The functions around a place, the innermost first."""
        return sorted((f for f in self.functions if f.body < at < f.end), key=lambda f: -f.body)


class Reader:
    def __init__(self):
        paths = [p for folder in FOLDERS for p in sorted((ROOT / folder).rglob("*")) if p.suffix in (".h", ".cpp", ".cu", ".cuh")]
        self.files = [File(path) for path in paths]
        self.by_name = {}
        for file in self.files:
            for function in file.functions:
                self.by_name.setdefault(function.name, []).append(function)
        self.constants = {}
        for file in self.files:
            for name, value in re.findall(r"constexpr (?:std::string_view|char|const char\*) (k\w+)(?:\[\])?\s*(?:=|\{)\s*((?:\"(?:\\.|[^\"\\])*\"\s*)+)", file.text):
                self.constants[name] = "".join(LITERAL.findall(value))
        self.calls = {}
        for file in self.files:
            for match in re.finditer(r"\b(\w+)\s*\(", file.text):
                self.calls.setdefault(match.group(1), []).append((file, match.start(), match.end() - 1))

    # An expression as text ---------------------------------------------------------------------------------------------

    def evaluate(self, expression, file, at, env, depth=0):
        """The text of an expression at a place; `env` has the texts of parameters."""
        expression = expression.strip()
        if depth > 12 or not expression:
            return ""
        while expression.startswith("(") and closing(expression, 0) == len(expression) - 1:
            expression = expression[1:-1].strip()
        question = split(expression, "?")
        if len(question) > 1:
            rest = "?".join(question[1:])
            parts = split_choice(rest)
            if parts:
                texts = [self.evaluate(part, file, at, env, depth + 1) for part in parts]
                texts = list(dict.fromkeys(t for t in texts if t.strip()))
                return " / ".join(texts) if len(texts) < 2 or all(len(t) < 70 for t in texts) else texts[0] if "\n" in "".join(texts) else " / ".join(texts)
        terms = split(expression, "+")
        if len(terms) > 1:
            return "".join(self.evaluate(term, file, at, env, depth + 1) for term in terms)
        if expression[0] == '"':
            literals = re.fullmatch(r'(?:"(?:\\.|[^"\\])*"\s*)+', expression)
            if literals:
                return unescaped("".join(LITERAL.findall(expression)))
        if re.fullmatch(r"'(?:\\.|.)'", expression):
            return unescaped(expression[1:-1])
        call = re.fullmatch(r"([\w:.>\-\[\]]*?)(\w+)\s*\((.*)\)(?:\.c_str\(\)|\.str\(\))?", expression, re.S)
        if call and closing(expression, call.start(3) - 1) == call.end(3):
            return self.evaluate_call(call, file, at, env, depth)
        braces = re.fullmatch(r"std::string(?:_view)?\{(.*)\}", expression, re.S)
        if braces:
            return self.evaluate(braces.group(1), file, at, env, depth + 1)
        name = re.sub(r"(?:\.c_str\(\)|\.str\(\)|\.what\(\))$", "", expression)
        if re.fullmatch(r"\w+", name):
            return self.variable(name, file, at, env, depth)
        return placeholder(expression)

    def evaluate_call(self, call, file, at, env, depth):
        owner, name, inside = call.groups()
        arguments = split(inside)
        if name in ("string", "string_view", "c_str", "move", "String"):
            return self.evaluate(arguments[0], file, at, env, depth + 1)
        if name == "format" and arguments[0].startswith('"'):
            values = [self.evaluate(a, file, at, env, depth + 1) or placeholder(a) for a in arguments[1:]]
            values = iter([v if v else "<...>" for v in values])
            text = unescaped("".join(LITERAL.findall(arguments[0])))
            text = re.sub(r"\{\{", "\x00", text)
            text = re.sub(r"\{[^{}]*\}", lambda _: next(values, "<...>"), text)
            return text.replace("\x00", "{").replace("}}", "}")
        if name == "message":
            text, advice = self.parts_of_message(arguments)
            text = self.evaluate(text, file, at, env, depth + 1)
            return f"<op>: {text}" + (f"\n{self.evaluate(advice, file, at, env, depth + 1)}" if advice else "")
        if name in ("op_or",):
            return "<op>"
        if name == "dtype_hint":
            return "convert one of them, e.g. a.to(float32)"
        if not owner or owner in ("raw::", "detail::"):
            own = [f for f in file.functions if f.name == name and f.end < at]
            known = own[-1:] or [f for f in self.by_name.get(name, []) if not f.file.path.endswith(".h") or f.file is file][:1]
            for function in known:
                returned = returns(function)
                if returned and depth < DEEPEST:
                    given = dict(zip(function.parameters, (self.evaluate(a, file, at, env, depth + 1) for a in arguments)))
                    return self.evaluate(returned[-1], function.file, function.end, given, depth + 1)
        return placeholder(call.group())

    @staticmethod
    def parts_of_message(arguments):
        """The text and the advice of message([op,] text, operands, advice)."""
        if len(arguments) >= 3 and re.match(r'"|fmt::format|std::string\(', arguments[1]) or len(arguments) == 4:
            return arguments[1], arguments[3] if len(arguments) > 3 else ""
        return arguments[0], arguments[2] if len(arguments) > 2 else ""

    def variable(self, name, file, at, env, depth):
        if name in env:
            return env[name]
        if name in self.constants:
            return unescaped(self.constants[name])
        around = file.around(at)
        for function in around or []:
            own = file.text[function.body:at]
            found = list(re.finditer(rf"\b(?:std::string|auto|std::string_view|const char\*)&? (?:\w+, )?{name}\s*(?=[=({{;])", own))
            if found:
                start = function.body + found[-1].end()
                end = statement_end(file.text, start)
                value = file.text[start:end].strip()
                value = value[1:] if value.startswith("=") else value[1:-1] if value[:1] in "({" and value else ""
                text = self.evaluate(value, file, start, env, depth + 1) if value.strip() else ""
                for more in re.finditer(rf"\b{name} \+?= ", file.text[end:at]):
                    begin = end + more.end()
                    text += self.evaluate(file.text[begin:statement_end(file.text, begin)], file, begin, env, depth + 1)
                return text or f"<{name}>"
        return placeholder(name)

    # What is thrown ----------------------------------------------------------------------------------------------------

    def messages(self):
        found = {}
        for file in self.files:
            for match in CLASS.finditer(file.text):
                before = file.text[max(0, match.start() - 30):match.start()]
                if re.search(r"(?:class|explicit|catch \((?:const )?|friend)\s*$|~$", before) or file.path == "tensor/error.h":
                    continue
                inside = file.text[match.end() + 1:closing(file.text, match.end())]
                if not inside.strip() or re.match(r"const \w+Error&|std::string(_view)? \w+,", inside):
                    continue
                argument = split(inside)[0]
                for text in self.texts(argument, file, match.start(), {}, 0):
                    message = parted(match.group(1), text, file, match.start())
                    found.setdefault((message.kind, message.text, message.advice), message)
        return list(found.values())

    def texts(self, argument, file, at, env, depth):
        """The texts of an argument: one, or those of the callers whose parameter it is."""
        alone = self.evaluate(argument, file, at, env)
        if says_something(alone):
            return [alone]
        around = file.around(at)
        names = set(re.findall(r"(?<![\w.\"])[a-z]\w*\b(?!\()", LITERAL.sub('""', argument)))
        names |= {n for name in names for n in self.words_of_local(name, file, at, around)}
        asked = [f for f in around if names & set(f.parameters) - {"op", "where", "name", "shape", "dtype"} and f.name not in env]
        if asked and depth < DEEPEST:
            function = asked[0]
            wanted = [p for p in function.parameters if p in names]
            if any(is_text_parameter(function, p) for p in wanted):
                results = []
                for other, start, opened in self.callers(function):
                    given = split(other.text[opened + 1:closing(other.text, opened)])
                    if len(given) > len(function.parameters):
                        continue
                    values = dict(zip(function.parameters, given))
                    env_of_call = {}
                    choices = [{}]
                    for parameter in function.parameters:
                        if parameter in values and is_text_parameter(function, parameter):
                            options = self.texts(values[parameter], other, start, {function.name: ""}, depth + 1)
                            choices = [{**c, parameter: o} for c in choices for o in options][:60]
                    for choice in choices:
                        env_of_call = {**choice}
                        results.append(self.evaluate(argument, file, at, {**env, **env_of_call}))
                if results:
                    return list(dict.fromkeys(results))
        return [alone]

    def callers(self, function):
        """Calls of a function: in its file, and in those that include the header which declares it."""
        header = function.file.path if function.file.path.endswith(".h") else self.declaring(function)
        for file, start, opened in self.calls.get(function.name, []):
            if (file, start) == (function.file, function.begin) or is_declaration(file.text, start):
                continue
            if file is function.file:
                yield file, start, opened
            elif header and header in file.includes | {file.path} and not any(f.name == function.name for f in file.functions):
                yield file, start, opened

    def declaring(self, function):
        folder = function.file.path.rpartition("/")[0]
        stem = function.file.path.rpartition("/")[2]
        for file in self.files:
            where, _, name = file.path.rpartition("/")
            near = where in (folder, folder + "/detail", folder.removesuffix("/detail"))
            if name.endswith(".h") and (near or stem.startswith(name[:-2])) and \
                    re.search(rf"[\w>&*\]] {function.name}\([^;{{]*\)[^;{{]*;", file.text):
                return file.path
        return None

    @staticmethod
    def words_of_local(name, file, at, around):
        for function in around[:1]:
            own = file.text[function.body:at]
            found = list(re.finditer(rf"\b(?:std::string|auto|std::string_view) {name}\s*=", own))
            if found:
                start = function.body + found[-1].end()
                return set(re.findall(r"(?<![\w.\"])[a-z]\w*\b(?!\()", LITERAL.sub('""', file.text[start:statement_end(file.text, start)])))
        return set()


def says_something(text):
    """Whether the first line has words of its own, not only what others put in, and the last is not put in."""
    if re.search(r"\n<(?:hint|advice|what|text)>$", text):
        return False
    first = re.sub(r"^<op>: ", "", text.strip().split("\n")[0])
    return len(re.findall(r"[a-z]{2,}", re.sub(r"<[^<>]*>", " ", first))) >= 3


def statement_end(text, at):
    while at < len(text):
        if (behind := skip_literal(text, at)) != at:
            at = behind
            continue
        if text[at] in "([{":
            at = closing(text, at)
        elif text[at] in ";)":
            return at
        at += 1
    return at


def split_choice(text):
    """A and B of "A : B"."""
    depth, at = 0, 0
    while at < len(text):
        if (behind := skip_literal(text, at)) != at:
            at = behind
            continue
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(text[at], 0)
        if depth == 0 and text[at] == ":" and text[at + 1:at + 2] != ":" and text[at - 1] != ":":
            return text[:at], text[at + 1:]
        at += 1
    return None


def is_text_parameter(function, name):
    head = function.file.text[function.begin:function.body]
    return re.search(rf"\b(?:std::string_view|std::string|char\*|auto)\b&?\s*{name}\b", head) is not None and name not in ("op", "path", "key")


def is_declaration(text, at):
    before = text[max(0, at - 60):at]
    return re.search(r"(?:\bvoid|\bstd::string|\]\]|\bbool|\bTensor|\bauto|\w[&*>])\s+(?:\w+::)?$", before) is not None and "return" not in before[-8:] \
        and "throw" not in before[-8:]


def returns(function):
    found = []
    text = function.text()
    for match in re.finditer(r"\breturn\b", text):
        found.append(text[match.end():statement_end(text, match.end())])
    return found


def unescaped(text):
    return text.replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\").replace("\\'", "'")


def placeholder(expression):
    names = [n for n in re.findall(r"[A-Za-z_]\w*", LITERAL.sub("", expression))
             if n not in ("std", "to_string", "str", "string", "size", "detail", "raw", "value", "fmt", "format", "name_of", "c_str", "get", "static_cast",
                          "int", "int64_t", "join", "names", "what")]
    return f"<{names[-1].rstrip('_')}>" if names else "<...>"


def parted(kind, text, file, at):
    """The message without the operation and the operands: what is wrong, and what to do."""
    lines = [line for line in text.split("\n") if line.strip()] or [""]
    first = re.sub(r"^(?:<op_?>|<name>|<o>|<whose>|<function>)?(?:::\w+)?\s*: ", "", lines[0].strip())
    first = re.sub(r"^[\w:<>]+: (?=\S)", "", first)
    advice = [line.strip() for line in lines[1:] if not line.startswith(" ")]
    details = [line.strip() for line in lines[1:] if line.startswith(" ")]
    if not advice and details:
        pass
    return Message(kind, first, "; ".join(advice), file.path, file.text[:at].count("\n") + 1)


def read_advice():
    """Lines of docs/error-advice.txt: file, beginning of the text, the text to show or "", and the advice."""
    found = []
    for line in ADVICE.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            place, *rest = line.split(" => ")
            file, _, beginning = place.partition(": ")
            found.append((file, beginning, rest[0] if len(rest) > 1 else "", rest[-1]))
    return found


def advised(messages, advice):
    """The messages with text and advice from the table, and what is wrong: messages without advice or text, unused lines."""
    used, done, faults = set(), {}, []
    for m in messages:
        for line in advice:
            file, beginning, text, what = line
            if m.file == file and m.text.startswith(beginning) and (text or not m.advice):
                used.add(line)
                m = replace(m, text=text or m.text, advice=what)
                break
        if not m.advice.strip() or not re.search(r"[a-z]{2}", re.sub(r"<[^<>]*>", "", m.advice + m.text)):
            faults.append(f"{m.file}:{m.line}: {m.kind} '{m.text}' says not what to do: say so there, or in docs/error-advice.txt")
        if not re.search(r"[a-z]{2}", re.sub(r"<[^<>]*>", "", m.text)):
            faults.append(f"{m.file}:{m.line}: {m.kind} '{m.text}' cannot be read: give its text in docs/error-advice.txt")
        done.setdefault((m.kind, m.text, m.advice), m)
    faults += [f"docs/error-advice.txt: no message needs the line of {file}: {beginning}" for file, beginning, *rest in advice
               if (file, beginning, *rest) not in used]
    return list(done.values()), faults


if __name__ == "__main__":
    for m in Reader().messages():
        print(f"{m.kind} | {m.text} | {m.advice} | {m.file}:{m.line}")

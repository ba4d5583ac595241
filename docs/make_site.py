#!/usr/bin/env python3
"""Builds the site of the documentation, build/site/html, from the pages of docs/ and the programs of examples/.

make_site.py [FOLDER]       builds it there (build/site), with mkdocs-material, which is installed into FOLDER/venv
make_site.py --serve        builds it and shows it at http://localhost:8000
make_site.py --self-test

Exits with 77 if mkdocs is missing and cannot be installed.  In the pages of docs/site, tutorials and cookbook a line

{{ code FILE REGION }}     is the code between "// [REGION]" and "// [end]" of examples/FILE without lines that end in
                           "// [hidden]"; {{ code FILE }} is all of it
{{ output FILE SECTION }}  is what the program printed after section("SECTION"), from examples/FILE; or all of it
{{ recipes FILE }}         are the recipes of examples/FILE: "// # Title", text, and the code between "// [" and "// ]"
{{ bench FILE ROW ... }}   are rows of a table in benchmarks/results
{{ page FILE FROM TO }}    is a part of another page: from the heading FROM up to the heading TO
{{ toc PAGE TITLE }}       are links to the recipes of a page of the cookbook
"""

import html.parser
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import urllib.parse
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"
FOLDERS = [a for a in sys.argv[1:] if not a.startswith("--")]
SITE = Path(FOLDERS[0]).resolve() if FOLDERS else ROOT / "build" / "site"
PAGES, HTML, VENV = SITE / "pages", SITE / "html", SITE / "venv"
RECIPE_LINES = 20
ABOVE = ("CONTRIBUTING.md", "CHANGELOG.md")

# The menu: a title and a page, a title and a list, or a page; "folder/" is all that is in a folder.  Pages that are not
# there are left out.
NAV = [
    ("Home", ["index.md", ("Install", "install.md"), ("Quick start", "quickstart.md"), ("What is there", "overview.md"),
              ("From LibTorch", "from-libtorch.md"), ("In your project", "in-your-project.md"),
              ("Platforms", "platforms.md"), ("Packages", "packages.md"), ("Changes", "CHANGELOG.md")]),
    ("Tutorials", ["tutorials/index.md"] + [f"tutorials/{name}.md" for name in (
        "tensors", "gradients", "first-network", "mnist", "data", "checkpoints", "speed", "deploy")]),
    ("Cookbook", ["cookbook/index.md"] + [f"cookbook/{name}.md" for name in (
        "training", "models", "data", "inspect", "deploy", "running")]),
    ("Guides", ["tensors.md", "data.md", "training.md", "files.md", "devices.md", "gpus.md", "captured-steps.md",
                "mixed-precision.md", "int8.md", "several-processes.md", ("Many machines", "scaling.md"),
                "profiling.md", "debugging.md", "interop.md", ("Language models", "llm.md"), ("ONNX", "onnx.md"),
                ("C, Fortran and Python", "c-and-python.md"), "running.md", ("Performance", "performance.md"),
                ("Differences from PyTorch", "differences-from-pytorch.md"), ("PyTorch's names", "torch-names.md")]),
    ("Reference", ["reference/", ("All operations", "operations.md"),
                   ("All layers, optimizers, data, files", "layers.md")]),
    ("Errors", "errors.md"),
    ("Records", "records.md"),
    ("Contributing", ["CONTRIBUTING.md", ("Design", "design.md"), ("Glossary", "glossary.md"),
                      ("Add an operation", "adding-an-op.md"), ("Add a device", "adding-a-device.md"),
                      ("Add a mode", "adding-a-mode.md")]),
]


def stop(message):
    sys.exit(f"make_site.py: {message}")


# --- pages -----------------------------------------------------------------------------------------------------------


def fence(language, code):
    return f"```{language}\n{code.rstrip()}\n```"


def dedent(lines):
    return textwrap.dedent("\n".join(lines)).strip("\n")


def language(path):
    return {".cpp": "cpp", ".h": "cpp", ".py": "python", ".sh": "bash"}.get(path.suffix, "text")


def code(name, region=None):
    path = EXAMPLES / name
    lines = path.read_text().splitlines()
    if region is not None:
        mark = re.compile(rf"\s*(//|#) \[{re.escape(region)}\]$")
        begin = next((i for i, line in enumerate(lines) if mark.match(line)), None)
        if begin is None:
            stop(f"{path} has no region [{region}]")
        end = next(i for i in range(begin, len(lines)) if re.match(r"\s*(//|#) \[end\]$", lines[i]))
        lines = [line for line in lines[begin + 1:end] if not line.endswith("// [hidden]")]
    return fence(language(path), dedent(lines))


def output(name, section=None):
    path = EXAMPLES / name
    if section is None:
        return fence("{ .text .output }", path.read_text())
    parts = re.split(r"^--- (\S+)(?: ~)?\n", path.read_text(), flags=re.M)
    sections = dict(zip(parts[1::2], parts[2::2]))
    if section not in sections:
        stop(f"{path} has no section '{section}', but {', '.join(sections)}")
    return fence("{ .text .output }", sections[section].strip("\n"))


def recipes(name):
    """The recipes of a file: a heading, text and at most RECIPE_LINES lines of code each."""
    lines = (EXAMPLES / name).read_text().splitlines()
    out = []
    starts = [i for i, line in enumerate(lines) if line.startswith("// # ")] + [len(lines)]
    for start, end in zip(starts, starts[1:]):
        title, text, shown, i = lines[start][5:], [], [], start + 1
        while lines[i].startswith("//") and lines[i] != "// [":
            text.append(lines[i][3:])
            i += 1
        inside, block = False, []
        for line in lines[i:end]:
            mark = line.strip()
            if mark.endswith("// [hidden]"):
                continue
            if mark == "// [":
                inside, block = True, []
            elif mark == "// ]":
                inside = False
                shown += dedent(block).splitlines()
            elif inside:
                block.append(line)
        if inside or not shown or len(shown) > RECIPE_LINES:
            stop(f"{name}: '{title}' shows {len(shown)} lines; a recipe has 1 to {RECIPE_LINES}")
        out += [f"## {title}", "\n".join(text), fence("cpp", "\n".join(shown))]
    if not out:
        stop(f"{name} has no recipes")
    return "\n\n".join(out)


def bench(name, *rows):
    path = ROOT / "benchmarks" / "results" / name
    lines = path.read_text().splitlines()
    table = {line.split("|")[1].strip(): line for line in lines if line.startswith("|")}
    out = [table["workload"], "|---|---:|---:|---:|"]
    for row in rows:
        key, _, title = row.partition("=")
        if key not in table:
            stop(f"{path} has no row '{key}'")
        cells = table[key].split("|")[1:5]
        out.append("|".join(["", title.replace("_", " ") or key, *cells[1:], ""]))
    where = next(line for line in lines if "medians of" in line)
    return "\n".join(out) + f"\n\n{where.rstrip('.')} (`benchmarks/results/{name}`)."


def part(name, begin, end=None):
    text = (ROOT / name).read_text()
    begin, end = begin.replace("_", " "), end and end.replace("_", " ")
    headings = {m.group(1): m.start() for m in re.finditer(r"^#+ (.*)$", text, re.M)}
    if begin not in headings or (end and end not in headings):
        stop(f"{name} has no heading '{begin}' or '{end}', but {', '.join(headings)}")
    return text[headings[begin]:headings[end] if end else len(text)].strip()


def toc(page, title):
    """The headings of a page of the cookbook, as a list of links."""
    text = paste((ROOT / "docs" / "cookbook" / f"{page}.md").read_text())
    links = [f"- [{name}]({page}.md#{anchor(name)})" for name in re.findall(r"^## (.*)$", text, re.M)]
    return f"## {title.replace('_', ' ')}\n\n" + "\n".join(links)


def anchor(heading):
    """As the site's slugify makes it."""
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading.lower()))


PASTE = {"code": code, "output": output, "recipes": recipes, "bench": bench, "page": part, "toc": toc}


def paste(text):
    def replace(match):
        what, *arguments = match.group(1).split()
        return PASTE[what](*arguments)

    return re.sub(r"^\{\{ (.*) \}\}$", replace, text, flags=re.M)


def without_lambdas(text):
    """Lambdas in the text, [](auto x) {...}, are no links."""
    parts = re.split(r"(```.*?```|`[^`\n]*`)", text, flags=re.S)
    return "".join(part if part.startswith("`") else part.replace("[](", "\\[\\](") for part in parts)


def links_of_site(text):
    """Of a page in docs/: what is linked above docs/ is a page here, or else a file of the sources."""
    def replace(match):
        name, path = match.groups()
        return f"[{name}]({path})" if path in ABOVE else name if name == path else f"{name} (`{path}`)"

    return re.sub(r"\[([^\]]*)\]\(\.\./([^)]*)\)", replace, text)


def put(name, text):
    path = PAGES / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def gather():
    """Writes all pages to build/site/pages."""
    shutil.rmtree(PAGES, ignore_errors=True)
    PAGES.mkdir(parents=True)
    maker = ROOT / "docs" / "make_reference.py"
    if maker.exists():
        subprocess.run([sys.executable, "-B", maker, PAGES], check=True)
    for path in sorted((ROOT / "docs").glob("*.md")):
        put(path.name, links_of_site(without_lambdas(path.read_text())))
    for name in ABOVE:
        put(name, (ROOT / name).read_text().replace("](docs/", "]("))
    for path in sorted((ROOT / "docs" / "site").glob("*.md")):
        put(path.name, paste(path.read_text()))
    shutil.copytree(ROOT / "docs" / "site" / "assets", PAGES / "assets")
    for folder in ("tutorials", "cookbook"):
        for path in sorted((ROOT / "docs" / folder).glob("*.md")):
            # Before the many pages of the reference in a search.
            put(f"{folder}/{path.name}", "---\nsearch:\n  boost: 3\n---\n" + paste(path.read_text()))
    shutil.copytree(ROOT / "docs" / "pictures", PAGES / "pictures")
    for path in (ROOT / "docs").glob("*.svg"):
        shutil.copy(path, PAGES)


def folder_nav(folder):
    """The pages of a folder, the index first, and its folders as lists, in the order in which the index links them."""
    index = folder / "index.md"
    text = index.read_text() if index.exists() else ""
    pages = [str(p.relative_to(PAGES)) for p in sorted(folder.glob("*.md")) if p != index]
    folders = sorted((p for p in folder.iterdir() if p.is_dir()), key=lambda p: (text.find(f"({p.name}/"), p.name))
    first = [str(index.relative_to(PAGES))] if text else []
    return first + pages + [{title_of(p): folder_nav(p)} for p in folders]


def title_of(folder):
    index = folder / "index.md"
    heading = re.search(r"^# (.*)$", index.read_text(), re.M) if index.exists() else None
    return heading.group(1) if heading else folder.name


def listed(entries):
    """All pages of the menu."""
    for entry in entries:
        value = next(iter(entry.values())) if isinstance(entry, dict) else entry
        yield from listed(value) if isinstance(value, list) else [value]


def nav(entries):
    out = []
    for entry in entries:
        title, value = entry if isinstance(entry, tuple) else (None, entry)
        if isinstance(value, list):
            value = nav(value)
            if value:
                out.append({title: value})
        elif value.endswith("/"):
            if (PAGES / value).is_dir():
                out += folder_nav(PAGES / value)
        elif (PAGES / value).exists():
            out.append({title: value} if title else value)
    return out


# --- the site --------------------------------------------------------------------------------------------------------


def mkdocs_python():
    """A Python that has mkdocs-material in the version of requirements.txt, which is installed if need be."""
    requirements = ROOT / "docs" / "requirements.txt"
    python, done = VENV / "bin" / "python", VENV / "installed.txt"
    if not done.exists() or done.read_text() != requirements.read_text():
        shutil.rmtree(VENV, ignore_errors=True)
        steps = [[sys.executable, "-m", "venv", VENV],
                 [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", requirements]]
        for step in steps:
            if subprocess.call(step):
                print("mkdocs-material cannot be installed: that needs python3-venv and PyPI", file=sys.stderr)
                sys.exit(77)
        done.write_text(requirements.read_text())
    return python


def build():
    python = mkdocs_python()
    menu = nav(NAV)
    missing = {str(path.relative_to(PAGES)) for path in PAGES.rglob("*.md")} - set(listed(menu))
    if missing:
        stop(f"add these pages to NAV: {', '.join(sorted(missing))}")
    config = SITE / "mkdocs.yml"
    config.write_text(json.dumps({"INHERIT": str(ROOT / "docs" / "mkdocs.yml"), "docs_dir": str(PAGES),
                                  "site_dir": str(HTML), "nav": menu}))
    done = subprocess.run([python, "-m", "mkdocs", "build", "--strict", "--clean", "-f", config], text=True,
                          stderr=subprocess.PIPE, env=dict(os.environ, NO_MKDOCS_2_WARNING="1"))  # no advertisement
    if done.returncode:
        stop(f"mkdocs found something\n{done.stderr}")


class Links(html.parser.HTMLParser):
    """What a page has: anchors, links, and files that a browser loads with it."""

    def __init__(self):
        super().__init__()
        self.anchors, self.links, self.loaded = set(), set(), set()

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.anchors.update(attrs[name] for name in ("id", "name") if attrs.get(name))
        if tag == "a" and attrs.get("href"):
            self.links.add(attrs["href"])
        elif tag == "link" and attrs.get("rel") in ("stylesheet", "icon", "preconnect", "preload"):
            self.loaded.add(attrs["href"])
        elif attrs.get("src"):
            self.loaded.add(attrs["src"])


def faults_of_links():
    """Links that lead to no page or anchor, and what pages load from elsewhere; and how much was looked at."""
    pages = {}
    for path in HTML.rglob("*.html"):
        pages[path] = Links()
        pages[path].feed(path.read_text())
    faults = []
    for path, page in pages.items():
        for link in page.links | page.loaded:
            url = urllib.parse.urlsplit(link)
            if url.scheme == "data" or (path.name == "404.html" and url.path.startswith("/")):
                continue
            if url.scheme or url.netloc:
                if link in page.loaded:
                    faults.append(f"{path}: loads {link}")
                continue
            target = (path.parent / urllib.parse.unquote(url.path)).resolve() if url.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                faults.append(f"{path}: {link} is not there")
            elif url.fragment and target in pages:
                if urllib.parse.unquote(url.fragment) not in pages[target].anchors:
                    faults.append(f"{path}: {link} has no such anchor")
    for path in HTML.rglob("*.css"):
        faults += [f"{path}: loads {link}" for link in re.findall(r"url\(['\"]?(https?:[^)]*)\)", path.read_text())]
    links = sum(len(page.links) for page in pages.values())
    return faults, f"{len(pages)} pages, {links} links, none dead: {HTML}/index.html"


def self_test():
    """Faults of the site are found."""
    global HTML
    for text, fault in (('<a href="there.html#a">', None), ('<a href="https://example.org">', None),
                        ('<a href="missing.html">', "is not there"), ('<a href="there.html#b">', "no such anchor"),
                        ('<img src="https://example.org/x.png">', "loads"),
                        ('<script src="//example.org/x.js"></script>', "loads")):
        with tempfile.TemporaryDirectory() as folder:
            HTML = Path(folder)
            (HTML / "there.html").write_text('<h1 id="a">')
            (HTML / "page.html").write_text(text)
            found = faults_of_links()[0]
            if (fault is None) != (not found) or (fault and fault not in found[0]):
                stop(f"{text} gives {found}")
    if without_lambdas("[](int) `[](int)`") != "\\[\\](int) `[](int)`":
        stop("without_lambdas")


def main():
    if "--self-test" in sys.argv:
        return self_test()
    gather()
    build()
    faults, summary = faults_of_links()
    if faults:
        stop("\n".join(sorted(faults)))
    print(summary)
    if "--serve" in sys.argv:
        os.chdir(HTML)
        print("http://localhost:8000", flush=True)
        http.server.ThreadingHTTPServer(("localhost", 8000), http.server.SimpleHTTPRequestHandler).serve_forever()
    return None


if __name__ == "__main__":
    main()

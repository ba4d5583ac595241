"""The report of a training in a browser: its script runs without an error, and texts of the user stay texts.

report.py PROGRAM FOLDER: the program writes the reports into the folder, where the pictures of them stay.  Without
chromium only the pages are read.
"""

import base64
import html.parser
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

program, folder = (os.path.abspath(path) for path in sys.argv[1:3])
chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WINDOWS = {"wide": ["--window-size=1200,2600"],
           "dark": ["--window-size=1200,2600", "--blink-settings=preferredColorScheme=0"]}


class Page(html.parser.HTMLParser):
    """Tags that are open, and addresses."""

    def __init__(self, text):
        super().__init__()
        self.open, self.addresses, self.scripts, self.tags = [], [], 0, {}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        self.addresses += [value for name, value in attributes if name in ("src", "href")]
        if tag not in ("meta", "img", "br", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open}"
        self.open.pop()


def read(name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def png_size(data):
    """Checks each chunk and the pixels; (width, height, channels)."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, []
    while at < len(data):
        (length,) = struct.unpack(">I", data[at:at + 4])
        kind, body = data[at + 4:at + 8], data[at + 8:at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0] == zlib.crc32(kind + body)
        chunks.append((kind, body))
        at += 12 + length
    assert [kind for kind, _ in chunks] == [b"IHDR", b"IDAT", b"IEND"]
    width, height, depth, color = struct.unpack(">IIBB", chunks[0][1][:10])
    channels = {0: 1, 2: 3}[color]
    assert depth == 8 and len(zlib.decompress(chunks[1][1])) == height * (1 + width * channels)
    return width, height, channels


def browse(page, *options):
    """What chromium prints, and what it complains of."""
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr", "--v=0",
             f"--user-data-dir={profile}", "--virtual-time-budget=3000", *options, "file://" + os.path.join(folder, page)],
            capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        os.makedirs(folder, exist_ok=True)
        subprocess.run([program, folder], check=True)

    def test_pages_are_whole_and_need_no_network(self):
        for name in ("full.html", "hard.html"):
            with self.subTest(name):
                text = read(name)
                page = Page(text)
                self.assertEqual(page.open, [])
                self.assertTrue(all(address.startswith("data:image/png;base64,") for address in page.addresses))
                self.assertEqual(set(re.findall(r"https?://[^'\"]*", text)),
                                 {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"})  # names, not places
                self.assertEqual(page.tags["script"], 2)
                self.assertNotIn("i", page.tags)
        self.assertLess(len(read("hard.html")), 150_000)

    def test_curves_are_json(self):
        for name, count in (("full.html", 5), ("hard.html", 21)):
            curves = json.loads(re.search(r'id="curves">(.*?)</script>', read(name), re.S)[1])
            self.assertEqual(len(curves), count)
            for curve in curves:
                self.assertEqual(len(curve["steps"]), len(curve["values"]))
                self.assertEqual(len(curve["steps"]), len(curve["epochs"]))
                self.assertEqual(curve["steps"], sorted(set(curve["steps"])))

    def test_pictures(self):
        page = Page(read("full.html"))
        self.assertEqual(len(page.addresses), 12)
        for address in page.addresses:
            self.assertEqual(png_size(base64.b64decode(address.split(",")[1], validate=True)), (28, 28, 1))

    @unittest.skipUnless(chromium, "chromium is missing")
    def test_a_browser_draws_it(self):
        for name, charts in (("full.html", 4), ("hard.html", 10)):
            with self.subTest(name):
                dom, complaints = browse(name, "--dump-dom")
                self.assertEqual(complaints, [])
                self.assertIn(f'data-drawn="{charts}"', dom)
                self.assertEqual(dom.count("<svg "), charts)
                self.assertFalse(re.search(r'="[^"]*(NaN|Infinity|undefined)[^"]*"', dom.split('class="charts"')[1]))
                self.assertNotIn("<script>alert", dom)
                if name == "full.html":
                    self.assertIn("&lt;script&gt;alert(1)&lt;", dom)
                    self.assertIn("2 of 9 are NaN or infinite, from step 300 on", dom)

    @unittest.skipUnless(chromium, "chromium is missing")
    def test_log_scale_and_values_under_the_pointer(self):
        use = """<script>for (const box of document.querySelectorAll("input")) box.click();
            for (const plot of document.querySelectorAll(".plot"))
              plot.dispatchEvent(new PointerEvent("pointermove", {clientX: plot.getBoundingClientRect().left + 300}));
            </script></body>"""
        for name in ("full", "hard"):
            with open(os.path.join(folder, f"used-{name}.html"), "w", encoding="utf-8") as file:
                file.write(read(name + ".html").replace("</body>", use))
            dom, complaints = browse(f"used-{name}.html", "--window-size=1200,2600", "--dump-dom")
            self.assertEqual(complaints, [])
            drawn = dom.split('class="charts"')[1]
            self.assertEqual(drawn.count('class="tip" style='), drawn.count("<svg "))
            self.assertFalse(re.search(r'="[^"]*(NaN|Infinity|undefined)[^"]*"', drawn))
            if name == "full":
                self.assertRegex(drawn, r"<div>step \d+, epoch \d</div>.*train/loss 0.\d+")
                self.assertIn('text-anchor="end">0.1</text>', drawn)  # of a log scale

    @unittest.skipUnless(chromium, "chromium is missing")
    def test_pictures_of_it(self):
        for name in ("full", "hard"):
            for window, options in WINDOWS.items():
                path = os.path.join(folder, f"{name}-{window}.png")
                browse(name + ".html", *options, f"--screenshot={path}")
                self.assertGreater(os.path.getsize(path), 20_000)

    @unittest.skipUnless(chromium, "chromium is missing")
    def test_a_narrow_page_is_not_wider_than_its_window(self):
        """In a frame of 400 pixels, since windows are wider."""
        tell = "<script>parent.postMessage(`${document.documentElement.scrollWidth} of ${innerWidth}`, '*')</script></body>"
        for name in ("full", "hard"):
            with open(os.path.join(folder, f"measured-{name}.html"), "w", encoding="utf-8") as file:
                file.write(read(name + ".html").replace("</body>", tell))
            with open(os.path.join(folder, f"frame-{name}.html"), "w", encoding="utf-8") as file:
                file.write("<title></title><script>onmessage = event => document.title = event.data</script>"
                           f'<iframe src="measured-{name}.html" style="width:400px;height:4000px;border:0"></iframe>')
            browse(f"frame-{name}.html", "--window-size=500,4100", f"--screenshot={os.path.join(folder, name)}-400.png")
            self.assertIn("<title>400 of 400</title>", browse(f"frame-{name}.html", "--dump-dom")[0])

if not chromium:
    print("chromium is missing: the pages are read, but not drawn (apt-get install chromium)")
sys.argv[1:] = []
unittest.main()

#!/usr/bin/env python3
"""Runs cmake/fetch_mnist.sh against a local server that works, disconnects, sends other content, refuses, or is not running.

fetch_mnist_test.py SCRIPT"""

import gzip
import hashlib
import http.server
import os
import random
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path

SCRIPT = Path(sys.argv.pop(1)).resolve()
NAMES = ["train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"]
CONTENT = {name: random.Random(name).randbytes(40000) for name in NAMES}
PACKED = {name: gzip.compress(content) for name, content in CONTENT.items()}


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves PACKED by the server's `mode`, and records each request as (name, first byte requested)."""

    def do_GET(self):
        name, mode = self.path.strip("/"), self.server.mode
        start = int(self.headers.get("Range", "bytes=0-").split("=")[1].split("-")[0])
        self.server.requests.append((name, start))
        body = PACKED[name]
        if mode == "missing":
            self.send_error(404)
            return
        if mode in ("endless", "huge"):
            self.send_response(200)
            if mode == "huge":
                self.send_header("Content-Length", str(10**12))
            self.end_headers()
            self.close_connection = True
            try:
                while True:
                    self.server.sent += self.wfile.write(bytes(1 << 16))
            except OSError:
                return
        if mode == "wrong":
            body = gzip.compress(b"something else")
        elif mode == "page":
            body = b"<html>please log in</html>"
        if mode == "no-range" or start == 0:
            start = 0
            self.send_response(200)
        elif start >= len(body):
            self.send_error(416)
            return
        else:
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        part = body[start:]
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        tries = sum(request[0] == name for request in self.server.requests)
        if mode == "always-truncated":
            part = part[:100] if start == 0 else b""
        elif mode in ("truncated", "no-range") and tries == 1:
            part = part[:len(part) // 2]
        self.wfile.write(part)
        self.close_connection = True

    def log_message(self, *_):
        pass


class FetchMnist(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.mode, self.server.requests, self.server.sent = "good", [], 0
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = Path(folder.name) / "deep" / "mnist"
        self.sums = Path(folder.name) / "sums"
        self.sums.write_text("".join(f"{hashlib.sha256(CONTENT[name]).hexdigest()} {name}\n" for name in NAMES))
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def fetch(self, mode, status=0, options=()):
        """Runs the script; returns its stderr."""
        self.server.mode = mode
        environment = {"PATH": os.environ["PATH"], "MINNOW_MNIST_URL": self.url, "MINNOW_FETCH_WAIT": "0"}
        done = subprocess.run([SCRIPT, *options, self.dir, self.sums], env=environment, capture_output=True, text=True,
                              timeout=60)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr

    def assert_all_there(self):
        for name in NAMES:
            self.assertEqual(gzip.decompress((self.dir / name).read_bytes()), CONTENT[name])
        self.assertEqual(sorted(NAMES), sorted(p.name for p in self.dir.iterdir() if p.name != ".lock"))

    def assert_refused(self, message, text):
        """Expects one line with the reason, and no file with the final name."""
        self.assertRegex(message, text)
        self.assertEqual(message.count("\n"), 1)
        self.assertFalse([p for p in self.dir.glob("*.gz") if not p.name.startswith(".")])

    def test_good_and_only_once(self):
        self.fetch("good")
        self.assert_all_there()
        self.assertEqual(self.server.requests, [(name, 0) for name in NAMES])
        self.fetch("missing")
        self.assertEqual(len(self.server.requests), len(NAMES))

    def test_truncated_is_resumed(self):
        self.fetch("truncated")
        self.assert_all_there()
        expected = []
        for name in NAMES:
            expected += [(name, 0), (name, len(PACKED[name]) // 2)]
        self.assertEqual(self.server.requests, expected)

    def test_truncated_without_ranges_starts_again(self):
        self.fetch("no-range")
        self.assert_all_there()

    def test_always_truncated_gives_up_and_is_resumed_by_the_next_call(self):
        self.assert_refused(self.fetch("always-truncated", status=1), "did not arrive whole")
        self.server.requests.clear()
        self.fetch("good")
        self.assert_all_there()
        self.assertEqual(self.server.requests[0], (NAMES[0], 100))

    def test_wrong_content(self):
        self.assert_refused(self.fetch("wrong", status=1), "not the file it should be")
        self.assertFalse(list(self.dir.glob(".*.part")))

    def test_a_page_instead_of_a_file(self):
        self.assert_refused(self.fetch("page", status=1), "did not arrive whole and right")

    def test_404(self):
        self.assert_refused(self.fetch("missing", status=1), "HTTP error")
        self.assertEqual(len(self.server.requests), 1)

    def test_refused_connection(self):
        self.url = "http://127.0.0.1:1"
        self.assert_refused(self.fetch("good", status=1), "cannot reach")

    def test_a_broken_part_is_thrown_away(self):
        self.dir.mkdir(parents=True)
        (self.dir / f".{NAMES[0]}.part").write_bytes(b"x" * 500)
        (self.dir / f".{NAMES[1]}.part").write_bytes(b"x" * len(PACKED[NAMES[1]]))
        self.fetch("good")
        self.assert_all_there()

    def test_a_damaged_file_is_replaced(self):
        self.fetch("good")
        (self.dir / NAMES[2]).write_bytes(b"damaged")
        self.fetch("good")
        self.assert_all_there()

    def test_a_folder_that_cannot_be_made(self):
        self.dir.parent.write_text("a file")
        self.assertIn("cannot make the folder", self.fetch("good", status=1))

    def test_a_server_that_never_ends(self):
        for mode in ("endless", "huge"):
            with self.subTest(mode):
                self.server.sent = 0
                self.assert_refused(self.fetch(mode, status=1), "more than 16 MB")
                self.assertLess(self.server.sent, 40 << 20)
                self.assertFalse(list(self.dir.glob(".*.part")))

    def test_only_a_check(self):
        self.assertIn("is missing", self.fetch("good", status=1, options=["--check"]))
        self.assertFalse(self.dir.exists())
        self.fetch("good")
        self.server.requests.clear()
        self.assertEqual(self.fetch("missing", options=["--check"]), "")
        for packed, plain in ((NAMES[0], NAMES[0][:-3]), (NAMES[1], NAMES[1][:-3].replace("-idx", ".idx"))):
            (self.dir / packed).unlink()
            (self.dir / plain).write_bytes(CONTENT[packed])
        self.fetch("missing", options=["--check"])
        (self.dir / NAMES[2]).write_bytes(PACKED[NAMES[2]][:-1])
        self.assertIn(f"{NAMES[2]} is not the file", self.fetch("missing", status=1, options=["--check"]))
        self.assertEqual(self.server.requests, [])

    def test_a_wrong_file_that_would_be_read_first(self):
        self.dir.mkdir(parents=True)
        (self.dir / NAMES[0][:-3]).write_bytes(b"x")
        self.assertIn("is not the file it should be", self.fetch("good", status=1))


if __name__ == "__main__":
    unittest.main()

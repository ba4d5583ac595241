#!/usr/bin/env python3
"""inspect_test.py MINNOW_INSPECT GOLDEN: what the program prints of good and bad files, and its exit status."""

import json
import math
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path


def safetensors(tensors, metadata):
    header, data = {"__metadata__": metadata}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def checkpoint(tensors, metadata):
    """What Checkpoint::save() writes: checksums of the header, first of all, and of each tensor."""
    sums = {f"crc32 {name}": f"{zlib.crc32(content):08x}" for name, (_, _, content) in tensors.items()}
    file = bytearray(safetensors(tensors, {"crc32": "00000000", **sums, **metadata}).replace(b'": ', b'":'))
    (length,) = struct.unpack_from("<Q", file)
    length -= length + 8 + sum(len(content) for _, _, content in tensors.values()) - len(file)
    file[:8] = struct.pack("<Q", length)
    file[34:42] = f"{zlib.crc32(file[8:8 + length]):08x}".encode()
    return file


def main():
    program, golden = sys.argv[1], Path(sys.argv[2])

    def run(*arguments, status=0):
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=50)
        assert done.returncode == status, (arguments, done)
        return done.stdout if status == 0 else done.stderr

    def expect(text, *parts):
        for part in parts:
            assert part in text, f"{part!r} is not in\n{text}"

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.safetensors"
        values = struct.pack("<7f", 1, 3, 0, 0, math.nan, math.inf, -math.inf)
        path.write_bytes(safetensors({"layer.w": ("F32", [7], values), "none": ("I64", [0, 2], b""), "a\x1b[2J\u009b2Jé": ("U8", [1], b"\7")},
                                     {"format": "pt"}))
        text = run(path)
        expect(text, "layer.w", "float32", "[7]", " 28 ", "min 0 max 3 mean 1 std 1.22474 zeros 2 NaN 1 Inf 2", "[0, 2]",
               "metadata format: pt", "3 tensors, 29 bytes", "a?[2J?2Jé")
        assert text.index("layer.w") < text.index("none") < text.index("a?"), "the order of the file"
        names = run("--names", path)
        expect(names, "layer.w", "3 tensors, 29 bytes")
        assert "min" not in names
        path.write_bytes(path.read_bytes()[:-1])
        expect(run(path, status=1), "FormatError", str(path), "expected")
        expect(run(Path(folder) / "gone", status=1), "IoError", "No such file")
        saved = checkpoint({"model.w": ("F32", [2], bytes(8)), "step": ("I64", [], bytes(8))}, {"part model": ""})
        path.write_bytes(saved)
        text = run(path)
        expect(text, "model.w", "metadata part model", "2 tensors, 16 bytes")
        assert "crc32" not in text
        saved[-1] = 1
        path.write_bytes(saved)
        expect(run(path, status=1), "is damaged", "'step'", "checksum")
        expect(run("--names", path), "2 tensors, 16 bytes")
        pickle = Path(folder) / "x.pt"
        pickle.write_bytes(b"PK\3\4" + bytes(100))
        expect(run(pickle, status=1), "FormatError", "torch.save")
        expect(run(status=2), "minnow-inspect [--names] FILE")
        expect(run("--help"), "minnow-inspect [--names] FILE")
        expect(run("--nmes", path, status=2), "minnow-inspect [--names] FILE")
        large = Path(folder) / "large.safetensors"
        text = json.dumps({"big": {"dtype": "F32", "shape": [2_500_000_000], "data_offsets": [0, 10_000_000_000]}}).encode()
        with large.open("wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            file.truncate(8 + len(text) + 10_000_000_000)
        expect(run("--names", large), "big", "[2500000000]", "1 tensors, 10000000000 bytes")
    expect(run(golden / "reference_module.safetensors"), "0.weight", "[3, 2, 3, 3]", "9 tensors")


if __name__ == "__main__":
    main()

"""Files for the workloads that read files, the same for every library.

table.csv: numbers of four to six digits.  images/CLASS/NNN.png: RGB, smooth with noise, filtered by row as encoders do.
"""

import argparse
import pathlib
import random
import struct
import zlib

COLUMNS = 8


def table(rows):
    draw = random.Random(1)
    yield ",".join(f"x{i}" for i in range(COLUMNS))
    for _ in range(rows):
        yield ",".join(f"{draw.uniform(-100, 100):.4f}" for _ in range(COLUMNS))


def image(seed, side):
    """The bytes of a PNG file; rows are filtered by Sub and Up in turn."""
    draw = random.Random(seed)
    filtered, above = bytearray(), bytes(3 * side)
    for y in range(side):
        row = bytes((x + y * (c + 1) + (draw.getrandbits(3))) & 255 for x in range(side) for c in range(3))
        before = above if y % 2 else bytes(3) + row[:-3]
        filtered.append(2 if y % 2 else 1)
        filtered += bytes((a - b) & 255 for a, b in zip(row, before))
        above = row
    chunks = (b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(filtered, 6)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks)


def make(folder, quick):
    rows, images, side = (200, 4, 16) if quick else (100_000, 64, 224)
    paths = [folder / f"images/{i % 2}/{i:03}.png" for i in range(images)]
    if paths[-1].exists():  # it is written last
        return
    for path in paths[:2]:
        path.parent.mkdir(parents=True, exist_ok=True)
    (folder / "table.csv").write_text("\n".join(table(rows)) + "\n")
    for i, path in enumerate(paths):
        path.write_bytes(image(i, side))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true", help="few and small files")
    arguments = parser.parse_args()
    make(arguments.folder, arguments.quick)

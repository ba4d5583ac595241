#!/usr/bin/env python3
"""Writes images.safetensors: PNG and JPEG files of every kind, and their pixels as Pillow decodes them.  Needs Pillow and
torchvision beside PyTorch.  Run by hand; the tests read the file only."""
import io

import numpy as np
import torch
from book import Book
from PIL import Image
from torchvision.utils import make_grid

BOOK = Book("images")
RNG = np.random.default_rng(0)


def smooth(height, width, channels):
    y, x, c = np.mgrid[0:height, 0:width, 0:channels]
    return ((np.sin(y / 3 + c) + np.cos(x / 4 - c)) * 60 + 128).astype(np.uint8)


def planes(image):
    array = np.array(image)
    array = array[..., None] if array.ndim == 2 else array
    return torch.from_numpy(array.copy()).permute(2, 0, 1).to(torch.uint8).contiguous()


def file(name, image, kind, unchanged=None, **options):
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    put(name, stream.getvalue(), unchanged)


def put(name, data, unchanged=None):
    image = Image.open(io.BytesIO(data))
    image.load()
    BOOK.put(f"{name}/file", torch.tensor(list(data), dtype=torch.uint8))
    rgb = image.convert("RGBA").convert("RGB") if image.mode in ("P", "LA", "PA") else image.convert("RGB")
    BOOK.put(f"{name}/unchanged", planes(unchanged if unchanged is not None else image))
    BOOK.put(f"{name}/rgb", planes(rgb))


def interlaced(image):
    """Pillow writes no Adam7: by hand, without filters."""
    import struct
    import zlib

    array = np.array(image)
    height, width, _ = array.shape
    data = b""
    for y0, x0, dy, dx in ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)):
        part = array[y0::dy, x0::dx]
        if part.size:
            data += b"".join(b"\0" + row.tobytes() for row in part)

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 1)) +
            chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b""))


def main():
    rgb, grey = Image.fromarray(smooth(13, 17, 3)), Image.fromarray(smooth(13, 17, 1)[..., 0])
    rgba = Image.fromarray(np.dstack([smooth(13, 17, 3), RNG.integers(0, 256, (13, 17), dtype=np.uint8)]))
    file("png_rgb", rgb, "PNG")
    file("png_grey", grey, "PNG")
    file("png_rgba", rgba, "PNG")
    file("png_grey_alpha", rgba.convert("LA"), "PNG")
    palette = rgb.quantize(7)
    file("png_palette", palette, "PNG", unchanged=palette.convert("RGB"))
    file("png_transparent", palette, "PNG", unchanged=None, transparency=2)
    with_alpha = Image.open(io.BytesIO(bytes(BOOK.tensors["png_transparent/file"].tolist()))).convert("RGBA")
    BOOK.tensors["png_transparent/unchanged"] = planes(with_alpha)
    bits = Image.fromarray((RNG.integers(0, 2, (9, 11)) * 255).astype(np.uint8)).convert("1")
    file("png_bits", bits, "PNG", unchanged=bits.convert("L"))
    deep = Image.fromarray(RNG.integers(0, 65536, (5, 6), dtype=np.uint16))
    stream = io.BytesIO()
    deep.save(stream, "PNG")
    high = Image.fromarray((np.array(deep) >> 8).astype(np.uint8))
    BOOK.put("png_deep/file", torch.tensor(list(stream.getvalue()), dtype=torch.uint8))
    BOOK.put("png_deep/unchanged", planes(high))
    BOOK.put("png_deep/rgb", planes(high.convert("RGB")))
    put("png_interlaced", interlaced(rgb))
    file("jpeg_rgb", rgb, "JPEG")
    file("jpeg_fine", rgb, "JPEG", quality=95, subsampling=0)
    file("jpeg_progressive", rgb, "JPEG", progressive=True)
    file("jpeg_grey", grey, "JPEG")
    cmyk = rgb.convert("CMYK")
    file("jpeg_cmyk", cmyk, "JPEG", unchanged=None)
    data = bytes(BOOK.tensors["jpeg_cmyk/file"].tolist())
    BOOK.tensors["jpeg_cmyk/unchanged"] = planes(Image.open(io.BytesIO(data)).convert("RGB"))
    BOOK.put("png_rgb/grey", planes(rgb.convert("L")))

    images = torch.rand(5, 1, 4, 3, generator=torch.Generator().manual_seed(1)) * 3 - 1
    BOOK.put("grid/in", images)
    BOOK.put("grid/plain", make_grid(images, nrow=3))
    BOOK.put("grid/normalized", make_grid(images, nrow=2, padding=1, normalize=True, pad_value=0.5))
    BOOK.put("grid/each", make_grid(images, nrow=8, normalize=True, scale_each=True))
    BOOK.put("grid/range", make_grid(images, normalize=True, value_range=(-0.5, 0.5)))
    BOOK.put("grid/one", make_grid(images[0]))
    BOOK.close()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()

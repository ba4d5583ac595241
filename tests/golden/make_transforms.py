#!/usr/bin/env python3
"""Writes transforms.safetensors with torchvision.transforms.v2.functional.  Needs torchvision beside PyTorch.  Run by hand; the
tests read the file only."""
import torch
from book import Book
from torchvision.transforms import InterpolationMode
from torchvision.transforms.v2 import functional as F

BOOK = Book("transforms")
MODES = {"nearest": InterpolationMode.NEAREST, "bilinear": InterpolationMode.BILINEAR}


def main():
    random = torch.Generator().manual_seed(0)
    images = {"float": torch.rand(3, 9, 7, generator=random), "bytes": torch.randint(0, 256, (3, 9, 7), generator=random).byte(),
              "batch": torch.rand(2, 3, 6, 8, generator=random)}
    for name, x in images.items():
        BOOK.put(f"{name}/in", x)
        for height, width in ((4, 3), (18, 14), (5, 20), (9, 7), (1, 1)):
            for antialias in (True, False):
                # PyTorch's own code for bytes fails for some sizes.
                y = F.resize(x.float(), [height, width], antialias=antialias)
                y = y.round().clamp(0, 255).byte() if name == "bytes" else y
                BOOK.put(f"{name}/resize {height} {width} {int(antialias)}", y)
        for mode, interpolation in MODES.items():
            for degrees in (31, -90, 180, 12.5):
                BOOK.put(f"{name}/rotate {degrees} {mode}", F.rotate(x, degrees, interpolation=interpolation))
            BOOK.put(f"{name}/affine {mode}",
                     F.affine(x, 17, [1.5, -1], 1.25, [10, -5], interpolation=interpolation))
        for factor in (0, 0.5, 1.7):
            BOOK.put(f"{name}/brightness {factor}", F.adjust_brightness(x, factor))
            BOOK.put(f"{name}/contrast {factor}", F.adjust_contrast(x, factor))
            BOOK.put(f"{name}/saturation {factor}", F.adjust_saturation(x, factor))
        for factor in (-0.5, -0.1, 0.3):
            BOOK.put(f"{name}/hue {factor}", F.adjust_hue(x, factor))
        BOOK.put(f"{name}/grey", F.rgb_to_grayscale(x, 1))
        BOOK.put(f"{name}/center 4 5", F.center_crop(x, [4, 5]))
        BOOK.put(f"{name}/flip", F.vertical_flip(x))
    BOOK.put("float/normalize", F.normalize(images["float"], [0.4, 0.5, 0.6], [0.2, 0.3, 0.4]))
    BOOK.put("float/to bytes", F.to_dtype(images["float"], torch.uint8, scale=True))
    BOOK.put("bytes/to float", F.to_dtype(images["bytes"], torch.float32, scale=True))
    BOOK.close()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()

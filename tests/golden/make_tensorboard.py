#!/usr/bin/env python3
"""Golden values of histograms as torch.utils.tensorboard writes them (PyTorch 2.15; it needs the package tensorboard)."""
import torch
from book import Book, randn
from torch.utils.tensorboard.summary import make_histogram


def bins():
    """SummaryWriter.default_bins."""
    v, positive = 1e-12, []
    while v < 1e20:
        positive.append(v)
        v *= 1.1
    return [-x for x in reversed(positive)] + [0] + positive


def case(book, name, values):
    made = make_histogram(values.numpy().astype(float), bins())
    book.put(f"{name}/in0", values)
    book.put(f"{name}/sums", torch.tensor([made.min, made.max, made.num, made.sum, made.sum_squares], dtype=torch.float64))
    book.put(f"{name}/limits", torch.tensor(list(made.bucket_limit), dtype=torch.float64))
    book.put(f"{name}/counts", torch.tensor(list(made.bucket), dtype=torch.float64))


def main():
    book = Book("tensorboard")
    case(book, "normal", randn("normal", 200))
    case(book, "matrix", randn("matrix", 5, 7).double().abs() * 1e-3)
    case(book, "integers", torch.arange(-5, 20))
    case(book, "zeros", torch.zeros(3))
    case(book, "one", torch.tensor([2.5]))
    case(book, "bytes", torch.tensor([0, 0, 1, 255], dtype=torch.uint8))
    case(book, "edges", torch.tensor(bins()[800::97], dtype=torch.float64))
    case(book, "widest", torch.tensor([bins()[0], bins()[-1], 1e-13, -1e-13], dtype=torch.float64))
    book.close()


main()

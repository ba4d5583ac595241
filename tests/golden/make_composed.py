"""Golden values of matrix functions and others that are made of products and reductions (PyTorch 2.15)."""
import torch
from book import Book, randn

L = torch.linalg


def positive(a):
    return a @ a.mT + torch.eye(a.shape[-1], dtype=a.dtype)


def spread(a):
    return a * a - 0.7 * a + torch.eye(*a.shape[-2:], dtype=a.dtype)


def matrices(book):
    square = {"": (randn("linalg", 3, 3),), ":batch": (randn("linalg", 2, 1, 4, 4, dtype=torch.float64),)}
    tall = {":tall": (randn("linalg", 4, 3),), ":wide": (randn("linalg", 2, 3, 5, dtype=torch.float64),)}
    factors = {suffix: (a[0] + 3 * torch.eye(a[0].shape[-1]), randn("linalg b", a[0].shape[-1], 2, dtype=a[0].dtype))
               for suffix, a in square.items()}
    factor = {suffix: a[:1] for suffix, a in factors.items()}  # PyTorch's gradient has numbers in the other triangle
    functions = {
        "pinv/atol": (lambda a: L.pinv(spread(a), atol=1, rtol=0.1), tall),
        "pinv/rtol": (lambda a: L.pinv(spread(a), rtol=0.3), tall),
        "pinv/hermitian": (lambda a: L.pinv(spread(a) + spread(a).mT, hermitian=True), square),
        "matrix_exp": (L.matrix_exp, square), "matrix_exp/3": (lambda a: L.matrix_exp(3 * a), square),
        "cholesky_solve": (lambda a, b: torch.cholesky_solve(b, torch.tril(a)), factors),
        "cholesky_solve/upper": (lambda a, b: torch.cholesky_solve(b, torch.triu(a), upper=True), factors),
        "cholesky_inverse": (lambda a: torch.cholesky_inverse(torch.tril(a)), factor),
        "cholesky_inverse/upper": (lambda a: torch.cholesky_inverse(torch.triu(a), upper=True), factor),
        "logdet": (lambda a: torch.logdet(positive(a)), square)}
    for name, (function, cases) in functions.items():
        for suffix, inputs in cases.items():
            book.case(name + suffix, function, *inputs)


def transforms(book):
    fft, real, complex_ = torch.fft, torch.view_as_real, torch.view_as_complex
    z, x = randn("complex", 2, 3, 4, 2), randn("real", 3, 4, 5)
    book.case("fft2/sizes", lambda t: real(fft.fft2(complex_(t), (5, 2))), z)
    book.case("ifft2/sizes", lambda t: real(fft.ifft2(complex_(t), (5, 2), (0, 1))), z)
    book.case("rfft2/sizes", lambda t: real(fft.rfft2(t, (5, 7))), x)
    book.case("irfft2/sizes", lambda t: fft.irfft2(complex_(t), (2, 9)), z)
    book.case("fftn/sizes", lambda t: real(fft.fftn(complex_(t), (2, 5))), z)
    book.case("ifftn/sizes", lambda t: real(fft.ifftn(complex_(t), (4, 2), (2, 0), "ortho")), z)
    book.case("rfftn/sizes", lambda t: real(fft.rfftn(t, (-1, 4), (0, 2))), x)
    book.case("irfftn/sizes", lambda t: fft.irfftn(complex_(t), (2, 2, 5)), z)


def segments(book):
    data, batch = randn("segments", 7, 2), randn("segments", 2, 6, 3)
    lengths, of_batch = torch.tensor([2, 0, 4, 1]), torch.tensor([[1, 5], [4, 2]])
    for reduce in ("sum", "prod", "mean", "max", "min"):
        for name, initial in (("", None), (",initial", 0.5)):
            book.case(f"segment_reduce/{reduce}{name}",
                      lambda x, n: torch.segment_reduce(x, reduce, lengths=n, initial=initial), data, lengths)
        book.case(f"segment_reduce/{reduce},1",
                  lambda x, n: torch.segment_reduce(x, reduce, lengths=n, axis=1), batch, of_batch)

    def of_groups(x, index, dim):  # torch_scatter's softmax, by a mask of each group
        index = index.expand_as(x)
        same = torch.stack([index == k for k in range(int(index.max()) + 1)])
        every = torch.where(same, x, -torch.inf).softmax(dim + 1)
        return torch.where(same, every, 0).sum(0)

    few = torch.tensor([2, 0, 2, 2, 0, 3, 3])
    book.case("scatter_softmax/0", lambda x, i: of_groups(x, i, 0), data, few[:, None])
    book.case("scatter_softmax/-1", lambda x, i: of_groups(x, i, 1), data.T.contiguous() * 30, few)


def main():
    book = Book("composed")
    matrices(book)
    transforms(book)
    segments(book)
    book.close()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()

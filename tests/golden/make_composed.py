"""Golden values of matrix functions and others that are made of products and reductions (PyTorch 2.15)."""
import torch
from book import Book, randn, rng

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


def forms(book):
    x, y = randn("forms", 3, 4, 5), randn("forms", 4, 5)
    ints = torch.tensor([[7, -7, 6], [-6, 0, 5]]), torch.tensor([[2], [-3]])
    for mode in ("trunc", "floor"):
        for name, pair in (("", (x, y)), (":int64", ints), (":uint8", [t.abs().to(torch.uint8) for t in ints])):
            book.case(f"div/{mode}{name}", lambda a, b: torch.div(a, b, rounding_mode=mode), *pair, grad=False)
    q = torch.tensor([0.0, 0.3, 0.5, 0.81, 1.0])
    for way in ("linear", "lower", "higher", "midpoint", "nearest"):
        book.case(f"quantile/{way}", lambda t: torch.quantile(t, 0.3, 1, interpolation=way), x)
        book.case(f"quantile/{way},q", lambda t, q: torch.quantile(t, q, 1, interpolation=way), x, q)
    book.case("quantile/all", torch.quantile, x, q)
    book.case("quantile/all,keep", lambda t, q: torch.quantile(t, q, keepdim=True), x, q)
    book.case("quantile/0,keep", lambda t, q: torch.quantile(t, q, 0, keepdim=True), x, q)
    book.case("quantile/-1,0-dim", lambda t, q: torch.quantile(t, q, -1), x, q[1])


def layers(book):
    F = torch.nn.functional
    weight, bias = randn("bilinear weight", 2, 5, 3), randn("bilinear bias", 2)
    a, b = randn("bilinear a", 2, 4, 5), randn("bilinear b", 2, 4, 3)
    book.case("bilinear", F.bilinear, a, b, weight, bias)
    book.case("bilinear/no bias", F.bilinear, a[0], b[0], weight)
    images, volumes = randn("fractional", 2, 3, 9, 7), randn("fractional", 2, 2, 6, 7, 5)
    for name, x, dims in (("2d", images, 2), ("3d", volumes, 3)):
        function = getattr(F, f"fractional_max_pool{name}")
        samples = torch.rand(2, x.size(1), dims, generator=rng(name))
        kernel, sizes = ((3, 2), (4, 3)) if dims == 2 else ((2, 3, 1), (3, 2, 4))
        book.case(f"fractional_max_pool{name}/size", lambda t, s: function(
            t, kernel, output_size=sizes, return_indices=True, _random_samples=s.detach()), x, samples)
        book.case(f"fractional_max_pool{name}/ratio", lambda t, s: function(
            t, 2, output_ratio=(0.7, 0.5, 0.4)[:dims], return_indices=True, _random_samples=s.detach()), x, samples)
        book.case(f"fractional_max_pool{name}/values", lambda t, s: function(
            t, kernel, output_size=sizes, _random_samples=s.detach()), x, samples)
        book.case(f"fractional_max_pool{name}/1", lambda t, s: function(
            t, 2, output_size=1, return_indices=True, _random_samples=s.detach()), x, samples)
    rows, classes = randn("linear ce", 4, 6), torch.tensor([2, 0, 1, 2])
    w, c = randn("linear ce w", 3, 6), randn("linear ce b", 3)
    book.case("linear_cross_entropy", lambda x, w, t, b: F.linear_cross_entropy(x, w, t, linear_bias=b), rows, w, classes, c)
    book.case("linear_cross_entropy/wide", lambda x, w, t: F.linear_cross_entropy(x, w, t, reduction="none"), rows,
              randn("linear ce wide", 3, 2, 6), torch.tensor([[2, 0], [1, 1], [0, 2], [2, 2]]))


def main():
    book = Book("composed")
    matrices(book)
    transforms(book)
    segments(book)
    forms(book)
    layers(book)
    book.close()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()

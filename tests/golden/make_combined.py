"""Golden values of operations that are made of others, of single images, and of antialiasing (PyTorch 2.15)."""
import torch
import torch.nn.functional as F
from book import Book, randn

NAN, INF = float("nan"), float("inf")


def real(t):
    return torch.view_as_real(t)


def complex_(f):
    return lambda t: real(f(torch.view_as_complex(t)))


def main():
    book = Book("combined")
    case = book.case
    x, y = randn("x", 3, 4, 5), randn("y", 4, 5, 2)
    case("diff", torch.diff, x)
    case("diff/2,1", lambda t: torch.diff(t, 2, 1), x)
    case("diff/bool", torch.diff, x > 0, grad=False)
    case("diff/9,0", lambda t: torch.diff(t, 9, 0), x)
    case("tensordot/2", torch.tensordot, x, y)
    case("tensordot/0", lambda a, b: torch.tensordot(a, b, 0), x[0], y[0])
    case("tensordot/lists", lambda a, b: torch.tensordot(a, b, ([0, 2], [1, 0])), randn("z", 5, 2, 4), randn("w", 4, 5, 3))
    case("kron", torch.kron, x[0], y[0])
    case("kron/ranks", torch.kron, x[0, 0], y)
    case("cross", torch.linalg.cross, randn("c", 4, 3), randn("d", 4, 3))
    case("cross/0,broadcast", lambda a, b: torch.linalg.cross(a, b, dim=0), randn("c", 3, 4), randn("d", 3, 1))
    case("trace", torch.trace, x[0])
    for k, a, b in ((0, -2, -1), (1, 0, 2), (-2, 2, 1)):
        case(f"diag_embed/{k},{a},{b}", lambda t: torch.diag_embed(t, k, a, b), x[0])
    case("hstack", lambda a, b: torch.hstack([a, b]), x, randn("h", 3, 2, 5))
    case("hstack/vectors", lambda a, b: torch.hstack([a, b]), x[0, 0], x[0, :, 0])
    case("vstack", lambda a, b: torch.vstack([a, b]), x[0], randn("v", 2, 5))
    case("vstack/vectors", lambda a, b: torch.vstack([a, b]), x[0, 0], x[0, 1])

    for q in (0, 0.3, 0.5, 1):
        case(f"quantile/{q}", lambda t: torch.quantile(t, q, 1), x)
    case("quantile/all", lambda t: torch.quantile(t, 0.7), x)
    case("quantile/0.25,keep", lambda t: torch.quantile(t, 0.25, 0, keepdim=True), x)
    case("quantile/0.5:nan", lambda t: torch.quantile(t, 0.5, 1), torch.tensor([[1.0, NAN, 2], [4, 3, 1]]), grad=False)
    holes = torch.tensor([[1.0, NAN, 3, 2], [NAN, NAN, NAN, 5], [4, 3, 2, 1]])
    case("nanmedian/all", torch.nanmedian, holes)
    case("nanmedian/1", lambda t: torch.nanmedian(t, 1), holes)
    case("nanmedian/0,keep", lambda t: torch.nanmedian(t, 0, True), x)
    case("nanmedian/1:none", lambda t: torch.nanmedian(t, 1)[0], torch.full((2, 3), NAN), grad=False)

    few = torch.tensor([[3, 1, 2], [1, 1, 2], [3, 1, 2], [1, 0, 5], [1, 1, 2]])
    for name, t in (("int64", few), ("float32", few / 2)):
        for dim in (0, 1):
            case(f"unique/{dim}:{name}", lambda t: torch.unique(t, return_inverse=True, return_counts=True, dim=dim), t, grad=False)
    case("unique/1:volume", lambda t: torch.unique(t, return_inverse=True, return_counts=True, dim=1),
         few[:, None].expand(5, 4, 3).contiguous().float(), grad=False)
    case("unique/2:box", lambda t: torch.unique(t, return_inverse=True, return_counts=True, dim=2),
         (randn("box", 2, 2, 6) > 0).float(), grad=False)
    case("unique/0:none", lambda t: torch.unique(t, return_inverse=True, return_counts=True, dim=0), torch.zeros(0, 3), grad=False)
    mixed, values = x[0, 0], randn("values", 2, 3)
    case("searchsorted/sorter", lambda s, v: torch.searchsorted(s, v, sorter=torch.argsort(s)), mixed, values, grad=False)
    case("isin", torch.isin, few, torch.tensor([5, 1, 9]), grad=False)
    case("isin/float32", torch.isin, torch.tensor([1.0, NAN, 2, -0.0]), torch.tensor([[NAN, 0.0], [2, 3]]), grad=False)
    case("isin/nan", torch.isin, torch.tensor([1.0, 2, NAN, INF]), torch.tensor([NAN, 1, NAN, NAN]), grad=False)
    case("isin/infinity", torch.isin, torch.tensor([1.0, NAN, INF]), torch.tensor([NAN, INF, NAN, 1]), grad=False)
    case("isin/none", torch.isin, few, torch.zeros(0, dtype=torch.int64), grad=False)

    tall, wide = randn("tall", 5, 3), randn("wide", 2, 3, 4)
    case("lstsq/tall", lambda a, b: torch.linalg.lstsq(a, b).solution, tall, randn("b", 5, 2))
    case("lstsq/wide", lambda a, b: torch.linalg.lstsq(a, b).solution, wide, randn("b", 2, 3, 2))
    for n in (0, 1, 2, 5, -2):
        case(f"matrix_power/{n}", lambda a: torch.linalg.matrix_power(a, n), randn("m", 2, 3, 3), grad=n != 0)

    z = randn("complex", 2, 3, 4, 2)
    for name in ("fftn", "ifftn"):
        f = getattr(torch.fft, name)
        case(f"{name}/all", complex_(f), z)
        case(f"{name}/0,2", complex_(lambda t: f(t, dim=(0, 2), norm="ortho")), z)
    case("rfftn/all", lambda t: real(torch.fft.rfftn(t)), x)
    case("rfftn/2,0", lambda t: real(torch.fft.rfftn(t, dim=(2, 0), norm="forward")), x)
    case("irfftn/all", lambda t: torch.fft.irfftn(torch.view_as_complex(t)), z)
    case("irfftn/2,0", lambda t: torch.fft.irfftn(torch.view_as_complex(t), dim=(2, 0), norm="ortho"), z)
    for name in ("fftshift", "ifftshift"):
        case(f"{name}/0,2", lambda t: getattr(torch.fft, name)(t, dim=(0, 2)), x)

    image = randn("image", 2, 3, 9, 7)
    for mode in ("bilinear", "bicubic"):
        for corners in (False, True):
            case(f"antialias/{mode}{',corners' if corners else ''}", lambda t: F.interpolate(
                t, size=(4, 11), mode=mode, align_corners=corners, antialias=True), image)
        case(f"antialias/{mode},factor", lambda t: F.interpolate(
            t, scale_factor=(0.4, 0.6), mode=mode, antialias=True), image)

    one = image[0]
    case("single/conv2d", F.conv2d, one, randn("k", 4, 3, 3, 2), randn("kb", 4))
    case("single/conv1d", F.conv1d, one[0], randn("k", 4, 9, 3))
    case("single/conv3d", F.conv3d, image, randn("k", 4, 2, 2, 3, 2))
    case("single/conv_transpose2d", lambda t, w: F.conv_transpose2d(t, w, stride=2), one, randn("kt", 3, 2, 3, 2))
    case("single/max_pool2d", lambda t: F.max_pool2d(t, 2, return_indices=True), one)
    case("single/avg_pool2d", lambda t: F.avg_pool2d(t, 2), one)
    case("single/lp_pool2d", lambda t: F.lp_pool2d(t.abs(), 2, 2), one)
    case("single/adaptive_avg_pool2d", lambda t: F.adaptive_avg_pool2d(t, (2, 3)), one)
    case("single/adaptive_max_pool2d", lambda t: F.adaptive_max_pool2d(t, (2, 3), return_indices=True), one)

    case("logcumsumexp/infinite", lambda t: torch.logcumsumexp(t, 0), torch.tensor([1.0, INF, 2]))
    book.close()


if __name__ == "__main__":
    main()

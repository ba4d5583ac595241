"""Golden values of norms, attention, losses, resampling, adaptive pools, ctc_loss and Fourier transforms (PyTorch 2.15)."""
import torch
import torch.nn.functional as F
from book import Book, randn

NAN, INF = float("nan"), float("inf")


def layer_norm():
    book = Book("layer_norm")
    x, weight, bias = (randn("layer_norm " + name, *shape) for name, shape in
                       {"x": (2, 3, 5), "weight": (5,), "bias": (5,)}.items())
    norm = lambda x, weight=None, bias=None: F.layer_norm(x, x.shape[-1:], weight, bias)
    book.case("last", norm, x, weight, bias)
    book.case("last/no bias", norm, x, weight)
    book.case("last/alone", norm, x * 3 + 2)
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        # Of halves PyTorch's gradients are less exact: it keeps mean and deviation in half precision.
        exact = dtype == torch.float64
        book.case(f"last/{dtype}", norm, *(t.to(dtype) for t in (x, weight, bias)), grad=exact)
    book.case("last/long", norm, randn("layer_norm", 3, 700), randn("layer_norm weight", 700))
    book.case("last/equal", norm, torch.full((2, 3), 7.0), torch.tensor([1.0, 2, 3]))
    book.case("last/no rows", norm, torch.zeros(0, 5), weight, bias)
    book.case("last/empty rows", norm, torch.zeros(3, 0), torch.zeros(0), torch.zeros(0))
    book.case("last/nan", norm, torch.tensor([[1.0, NAN, 2], [INF, 1, 2], [3, 1, 2]]), grad=False)
    book.case("bias", lambda x, bias: F.layer_norm(x, (5,), None, bias), x, bias)
    book.case("two", lambda x, *affine: F.layer_norm(x, (3, 5), *affine), x, randn("layer_norm weight", 3, 5),
              randn("layer_norm bias", 3, 5))
    book.case("eps", lambda x: F.layer_norm(x, (5,), eps=0.5), x)
    rms = lambda x, weight=None: F.rms_norm(x, x.shape[-1:], weight)
    book.case("rms", rms, x, weight)
    book.case("rms/alone", rms, x * 3 + 2)
    book.case("rms/torch.float64", rms, x.double(), weight.double())
    book.case("rms/eps", lambda x, weight: F.rms_norm(x, (5,), weight, 0.5), x, weight)
    book.close()


def batch_norm():
    book = Book("batch_norm")
    x, weight, bias = (randn("batch_norm " + name, *shape) for name, shape in
                       {"x": (4, 3, 2, 5), "weight": (3,), "bias": (3,)}.items())
    mean, var = torch.tensor([0.5, -1, 2]), torch.tensor([0.5, 1, 4])
    train = lambda x, weight=None, bias=None: F.batch_norm(x, None, None, weight, bias, True)
    evaluate = lambda x, weight=None, bias=None: F.batch_norm(x, mean.to(x.dtype), var.to(x.dtype), weight, bias)
    book.case("train", train, x, weight, bias)
    book.case("train/alone", train, x * 3 + 2)
    book.case("train/no bias", train, x, weight)
    book.case("train/rows", train, randn("batch_norm rows", 37, 3), weight, bias)
    book.case("train/sequence", train, x[:, :, 0], weight, bias)
    book.case("train/volume", train, x[:, :, :, :4].reshape(4, 3, 2, 2, 2), weight, bias)
    book.case("train/last", train, x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2), weight, bias)
    book.case("eval", evaluate, x, weight, bias)
    book.case("eval/alone", evaluate, x)
    for dtype in (torch.float64, torch.float16, torch.bfloat16):
        # PyTorch keeps statistics of halves in half precision, so that training is less exact, and gradients are.
        case = [t.to(dtype) for t in (x, weight, bias)]
        if dtype == torch.float64:
            book.case(f"train/{dtype}", train, *case)
        book.case(f"eval/{dtype}", evaluate, *case, grad=dtype == torch.float64)
    book.case("train/eps", lambda x: F.batch_norm(x, None, None, None, None, True, eps=0.5), x)

    def running(x, mean, var, momentum):
        mean, var = mean.clone(), var.clone()
        y = F.batch_norm(x, mean, var, None, None, True, momentum)
        return torch.cat([y.flatten(), mean, var])
    book.case("running", lambda x: running(x, mean, var, 0.1), x, grad=False)
    book.case("running/momentum", lambda x: running(x, mean, var, 0.7), x, grad=False)
    book.case("instance", lambda x, *affine: F.instance_norm(x, None, None, *affine), x, weight, bias)
    book.case("instance/alone", lambda x: F.instance_norm(x, eps=0.1), x[:, :, 0])
    y = randn("group_norm", 3, 6, 2, 2)
    of_six = randn("group_norm weight", 6), randn("group_norm bias", 6)
    for groups in (1, 2, 6):
        book.case(f"group/{groups}", lambda x, *affine: F.group_norm(x, groups, *affine), y, *of_six)
    book.case("group/alone", lambda x: F.group_norm(x, 3), y)
    book.case("group/rows", lambda x: F.group_norm(x, 2), y[:, :, 0, 0].contiguous())
    book.close()


def attention():
    book = Book("attention")
    f = F.scaled_dot_product_attention
    q, k, v = randn("attention q", 2, 3, 4, 5), randn("attention k", 2, 3, 6, 5), randn("attention v", 2, 3, 6, 2)
    keep = randn("attention mask", 4, 6) > -0.5
    keep[:, 0] = True
    book.case("plain", f, q, k, v)
    book.case("plain/torch.float64", f, q.double(), k.double(), v.double())
    book.case("plain/two", f, q[0, 0], k[0, 0], v[0, 0])
    book.case("plain/three", f, q[0], k[0], v[0])
    book.case("causal", lambda *t: f(*t, is_causal=True), q, k, v)
    book.case("causal/square", lambda *t: f(*t, is_causal=True), k, k.flip(2), v)
    book.case("causal/tall", lambda *t: f(*t, is_causal=True), k, q, v[:, :, :4])
    book.case("scale", lambda *t: f(*t, scale=0.3), q, k, v)
    book.case("mask", f, q, k, v, keep)
    book.case("added", f, q, k, v, randn("attention added", 2, 1, 4, 6))
    book.case("shared", lambda *t: f(*t, enable_gqa=True), randn("attention shared", 2, 6, 4, 5), k, v)
    added = randn("attention added", 1, 1, 4, 6)
    added[..., 1, :], added[..., 2, 3:] = -INF, -INF
    book.case("added/none", f, q, k, v, added)
    none = keep.clone()
    none[1] = False
    book.case("mask/none", f, q, k, v, none, grad=False)
    book.close()


def losses():
    book = Book("losses")
    x, target = randn("loss x", 5, 4) * 2, torch.tensor([1, 0, 3, 3, 2])
    weight = torch.tensor([0.5, 1, 2, 0.1])
    ignoring = torch.tensor([1, -100, 3, -100, 2])
    probabilities = torch.softmax(randn("loss p", 5, 4), 1)
    for r in ("mean", "sum", "none"):
        book.case(f"cross_entropy/{r}", lambda t, y: F.cross_entropy(t, y, reduction=r), x, target)
        book.case(f"cross_entropy/weight,{r}", lambda t, y: F.cross_entropy(t, y, weight, reduction=r), x, target)
        book.case(f"cross_entropy/ignore,{r}", lambda t, y: F.cross_entropy(t, y, reduction=r), x, ignoring)
        book.case(f"cross_entropy/smooth,{r}",
                  lambda t, y: F.cross_entropy(t, y, label_smoothing=0.1, reduction=r), x, target)
        book.case(f"cross_entropy/all,{r}", lambda t, y: F.cross_entropy(
            t, y, weight, ignore_index=3, label_smoothing=0.2, reduction=r), x, target)
        book.case(f"cross_entropy/probabilities,{r}", lambda t, y: F.cross_entropy(t, y, reduction=r), x, probabilities)
        book.case(f"cross_entropy/probabilities,all,{r}", lambda t, y: F.cross_entropy(
            t, y, weight, label_smoothing=0.2, reduction=r), x, probabilities)
        book.case(f"nll_loss/{r}", lambda t, y: F.nll_loss(t, y, reduction=r), x, target)
        book.case(f"nll_loss/weight,ignore,{r}",
                  lambda t, y: F.nll_loss(t, y, weight, ignore_index=3, reduction=r), x, target)
        y = randn("loss y", 5, 4)
        book.case(f"mse_loss/{r}", lambda t, y: F.mse_loss(t, y, reduction=r), x, y)
        book.case(f"l1_loss/{r}", lambda t, y: F.l1_loss(t, y, reduction=r), x, y)
        book.case(f"smooth_l1_loss/{r}", lambda t, y: F.smooth_l1_loss(t, y, beta=0.7, reduction=r), x, y)
        book.case(f"binary_cross_entropy_with_logits/{r}",
                  lambda t, y: F.binary_cross_entropy_with_logits(t, y, reduction=r), x, probabilities)
    book.case("binary_cross_entropy_with_logits/weights",
              lambda t, y: F.binary_cross_entropy_with_logits(t, y, weight, pos_weight=weight + 1), x, probabilities)
    book.put("weight", weight)
    images, map_target = randn("loss images", 2, 3, 2, 2), torch.tensor([[[0, 1], [2, 0]], [[1, 1], [-100, 2]]])
    book.case("cross_entropy/images", F.cross_entropy, images, map_target)
    book.case("cross_entropy/one", F.cross_entropy, x[0], target[0])
    book.case("cross_entropy/all ignored", F.cross_entropy, x[:2], torch.tensor([-100, -100]))
    book.case("cross_entropy/large", F.cross_entropy, torch.tensor([[1e4, 0], [-1e4, 1e4]]), torch.tensor([1, 0]))
    book.close()


def likelihood_losses():
    book = Book("likelihood_losses")
    x, y = randn("loss x", 5, 4), randn("loss y", 5, 4)
    p, q = torch.sigmoid(x), torch.softmax(y, 1)
    logs, var = torch.log_softmax(x, 1), randn("loss var", 5, 4).abs()
    edges = torch.tensor([0.0, 0, 1, 1, 0.5, 0]), torch.tensor([0.0, 1, 0, 1, 1, 0.3])
    few, counts = torch.tensor([[0.0, 0.5, 0.5, 0]] * 5), torch.tensor([[0.25, 1, 2, 7], [0.5, 1.5, 3, 20]])
    weight = torch.tensor([0.5, 1, 2, 0.1])
    book.put("weight", weight)
    # At a count of 0 PyTorch's gradient of Stirling's approximation is NaN.
    for r in ("mean", "sum", "none"):
        book.case(f"huber/{r}", lambda t, y: F.huber_loss(t, y, reduction=r, delta=0.7), 2 * x, y)
        book.case(f"bce/{r}", lambda t, y: F.binary_cross_entropy(t, y, reduction=r), p, q)
        book.case(f"bce/weight,{r}", lambda t, y: F.binary_cross_entropy(t, y, weight, reduction=r), p, q)
        book.case(f"kl_div/{r}", lambda t, y: F.kl_div(t, y, reduction=r), logs, q)
        book.case(f"kl_div/log,{r}", lambda t, y: F.kl_div(t, y, reduction=r, log_target=True), logs, q.log())
        book.case(f"gaussian/{r}", lambda t, y, v: F.gaussian_nll_loss(t, y, v, reduction=r), x, y, var)
        book.case(f"gaussian/full,{r}",
                  lambda t, y, v: F.gaussian_nll_loss(t, y, v, full=True, eps=0.5, reduction=r), x, y, var)
        book.case(f"poisson/{r}", lambda t, y: F.poisson_nll_loss(t, y, reduction=r), x[:2], counts)
        book.case(f"poisson/full,{r}", lambda t, y: F.poisson_nll_loss(t, y, full=True, reduction=r), x[:2], counts)
        book.case(f"poisson/rate,{r}", lambda t, y: F.poisson_nll_loss(
            t, y, log_input=False, full=True, eps=1e-3, reduction=r), p[:2], counts)
    book.case("huber/delta 1", F.huber_loss, 2 * x, y)
    book.case("bce/edges", lambda t, y: F.binary_cross_entropy(t, y, reduction="none"), *edges)
    book.case("kl_div/batchmean", lambda t, y: F.kl_div(t, y, reduction="batchmean"), logs, q)
    book.case("kl_div/log,batchmean",
              lambda t, y: F.kl_div(t, y, reduction="batchmean", log_target=True), logs, q.log())
    # At a probability of 0 PyTorch's gradient for the target is NaN.
    book.case("kl_div/zeros", lambda t: F.kl_div(t, few, reduction="none"), logs)
    book.put("few", few)
    book.case("gaussian/rows", F.gaussian_nll_loss, x, y, var[:, 0])
    book.case("gaussian/columns", F.gaussian_nll_loss, x, y, var[:, :1])
    book.close()


def margin_losses():
    book = Book("margin_losses")
    x, a, b = (randn("margin " + name, 5, 4) for name in "xab")
    flags = (randn("margin flags", 5, 4) > 0).long()  # the tests make them 1 and -1, too
    classes = torch.tensor([1, 0, 3, 3, 2])
    several = torch.tensor([[3, 0, -1, 1], [-1, 0, 1, 2], [0, 1, 2, 3], [2, -1, -1, -1], [1, 1, -1, 0]])
    weight = torch.tensor([0.5, 1, 2, 0.1])
    book.put("weight", weight)
    for r in ("mean", "sum", "none"):
        book.case(f"soft_margin/{r}", lambda t, y: F.soft_margin_loss(t, 2 * y - 1, reduction=r), x, flags)
        book.case(f"hinge_embedding/{r}",
                  lambda t, y: F.hinge_embedding_loss(t, 2 * y - 1, 0.7, reduction=r), x, flags)
        book.case(f"margin_ranking/{r}",
                  lambda s, t, y: F.margin_ranking_loss(s, t, 2 * y - 1, 0.3, reduction=r), a, b, flags)
        book.case(f"cosine_embedding/{r}",
                  lambda s, t, y: F.cosine_embedding_loss(s, t, 2 * y - 1, 0.1, reduction=r), a, b, flags[:, 0])
        book.case(f"triplet_margin/{r}", lambda *t: F.triplet_margin_loss(*t, reduction=r), x, a, b)
        book.case(f"triplet_margin/swap,{r}",
                  lambda *t: F.triplet_margin_loss(*t, margin=2.5, p=3, eps=0.1, swap=True, reduction=r), x, a, b)
        book.case(f"multilabel_margin/{r}", lambda t, y: F.multilabel_margin_loss(t, y, reduction=r), x, several)
        book.case(f"multilabel_soft_margin/{r}",
                  lambda t, y: F.multilabel_soft_margin_loss(t, y.to(t.dtype), reduction=r), x, flags)
        book.case(f"multilabel_soft_margin/weight,{r}",
                  lambda t, y: F.multilabel_soft_margin_loss(t, y.to(t.dtype), weight, reduction=r), x, flags)
        book.case(f"multi_margin/{r}", lambda t, y: F.multi_margin_loss(t, y, reduction=r), x, classes)
        book.case(f"multi_margin/weight,{r}", lambda t, y: F.multi_margin_loss(
            t, y, p=2, margin=0.7, weight=weight, reduction=r), x, classes)
    book.case("cosine_embedding/one", lambda s, t, y: F.cosine_embedding_loss(s, t, 2 * y - 1), a[0], b[0], flags[0, 0])
    book.case("multilabel_margin/one", F.multilabel_margin_loss, x[0], several[0])
    book.case("multi_margin/one", F.multi_margin_loss, x[0], classes[0])
    book.case("multi_margin/one of one", lambda t, y: F.multi_margin_loss(t, y, reduction="none"), x[0], classes[:1])
    pairwise = F.pairwise_distance
    book.case("pairwise_distance/2", pairwise, a, b)
    book.case("pairwise_distance/2,keep", lambda s, t: pairwise(s, t, keepdim=True), a, b)
    book.case("pairwise_distance/1,eps", lambda s, t: pairwise(s, t, 1, 0.1), a, b[0])
    book.case("cosine_similarity/1", F.cosine_similarity, a, b)
    book.case("cosine_similarity/0", lambda s, t: F.cosine_similarity(s, t, 0), a, b)
    book.case("cosine_similarity/broadcast", lambda s, t: F.cosine_similarity(s, t, -1, 2.0), a, b[0])
    book.close()


def resample():
    book = Book("resample")
    x, sequence = randn("resample", 2, 8, 3, 2), randn("resample", 2, 2, 6)
    book.case("pixel_shuffle/2", lambda t: F.pixel_shuffle(t, 2), x)
    book.case("pixel_shuffle/3", lambda t: F.pixel_shuffle(t, 3), randn("resample", 2, 9, 1, 2))
    book.case("pixel_unshuffle/2", lambda t: F.pixel_unshuffle(t, 2), randn("resample", 2, 2, 6, 4))
    book.case("interpolate/2", lambda t: F.interpolate(t, scale_factor=2), x)
    book.case("interpolate/3,sequence", lambda t: F.interpolate(t, scale_factor=3), sequence)
    book.case("prelu/one", F.prelu, x, torch.tensor([0.25]))
    book.case("prelu/channels", F.prelu, x, randn("prelu", 8))
    image = randn("resample", 1, 2, 7, 6)
    for name, size in {"1": 1, "7x3": (7, 3), "3x4": (3, 4), "9x2": (9, 2)}.items():
        book.case(f"adaptive/{name}", lambda t: F.adaptive_avg_pool2d(t, size), image)
    book.case("adaptive/sequence", lambda t: F.adaptive_avg_pool1d(t, 4), sequence)
    book.close()


def ctc_loss():
    book = Book("ctc_loss")
    loss, none = F.ctc_loss, "none"
    x, one = randn("ctc", 6, 3, 5), randn("ctc", 6, 5)
    padded, joined = torch.tensor([[0, 3], [1, 2], [2, 2]]), torch.tensor([0, 3, 1, 1, 2])
    for r in ("mean", "sum", none):
        book.case(f"padded/{r}", lambda t, y: loss(t.log_softmax(2), y + 1, (6, 4, 5), (2, 1, 2), reduction=r), x, padded)
        book.case(f"joined/{r}", lambda t, y: loss(
            t.log_softmax(2), y, torch.tensor([6, 6, 5]), torch.tensor([2, 0, 3]), blank=4, reduction=r), x, joined)
    number = lambda n: torch.tensor(n)
    book.case("single", lambda t, y: loss(t.log_softmax(1), y + 1, number(6), number(2), reduction=none), one, padded[0])
    book.case("log_probs", lambda t, y: loss(t, y + 1, (6, 4, 5), (2, 1, 2)), x.log_softmax(2), padded)
    book.case("infinite", lambda t, y: loss(t.log_softmax(2), y, (6, 1, 0), (2, 2, 2), reduction=none), x, padded + 1)
    book.case("zero_infinity", lambda t, y: loss(
        t.log_softmax(2), y + 1, (6, 1, 0), (2, 2, 0), zero_infinity=True), x, padded)
    long, labels = randn("ctc", 40, 2, 10), torch.arange(32).reshape(2, 16) * 5 % 9
    book.case("long", lambda t, y: loss(t.log_softmax(2), y, (40, 33), (16, 12), blank=9, reduction="sum"), long, labels)
    book.case("padded/mean:float64", lambda t, y: loss(t.log_softmax(2), y + 1, (6, 4, 5), (2, 1, 2)), x.double(), padded)
    book.close()


def fft():
    book = Book("fft")
    transforms = {"fft": torch.fft.fft, "ifft": torch.fft.ifft, "rfft": torch.fft.rfft, "irfft": torch.fft.irfft,
                  "fft2": torch.fft.fft2, "ifft2": torch.fft.ifft2, "rfft2": torch.fft.rfft2, "irfft2": torch.fft.irfft2}

    def case(function, name, shape, *args, dtype=torch.float32, **options):
        real_in, real_out = function.startswith("rfft"), function.startswith("irfft")

        def call(x):
            y = transforms[function](x if real_in else torch.view_as_complex(x), *args, **options)
            return y if real_out else torch.view_as_real(y)

        book.case(f"{function}/{name}", call, randn("fft", *shape, *(() if real_in else (2,)), dtype=dtype))

    for function in ("fft", "ifft", "rfft", "irfft"):
        for norm in ("backward", "ortho", "forward"):
            case(function, norm, (2, 6), norm=norm)
        case(function, "backward:float64", (2, 6), dtype=torch.float64)
        for n in (1, 2, 4, 5, 9, 16, 17, 26):
            case(function, f"n{n}", (2, 7), n=n)
        case(function, "dim0", (6, 3), dim=0, norm="ortho")
        case(function, "dim1", (2, 5, 3), n=8, dim=1, norm="ortho")
    case("fft2", "backward", (2, 3, 4))
    case("fft2", "ortho", (3, 4), norm="ortho")
    case("ifft2", "backward", (2, 3, 4))
    case("rfft2", "backward", (2, 3, 4))
    case("irfft2", "ortho", (2, 3, 4), norm="ortho")
    for name, make in {"fftfreq/1": lambda o: torch.fft.fftfreq(1, **o), "fftfreq/5": lambda o: torch.fft.fftfreq(5, **o),
                       "fftfreq/8": lambda o: torch.fft.fftfreq(8, 0.25, **o),
                       "rfftfreq/5": lambda o: torch.fft.rfftfreq(5, 0.1, **o),
                       "rfftfreq/8": lambda o: torch.fft.rfftfreq(8, **o)}.items():
        book.case(name, lambda x: make({"dtype": x.dtype}), torch.zeros(()))
    book.close()


def main():
    layer_norm()
    batch_norm()
    attention()
    losses()
    likelihood_losses()
    margin_losses()
    resample()
    ctc_loss()
    fft()

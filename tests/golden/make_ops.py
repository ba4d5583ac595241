"""Golden values of reductions, products, convolution, pooling, softmax and indexing (PyTorch 2.15)."""
import torch
import torch.nn.functional as F
from book import Book, randn, rng

NAN, INF = float("nan"), float("inf")


def reduce():
    book = Book("reduce")
    x = randn("reduce", 2, 3, 4)
    ops = {"sum": torch.sum, "mean": torch.mean, "prod": None, "amax": torch.amax, "amin": torch.amin,
           "var": torch.var, "std": torch.std, "norm": torch.linalg.vector_norm, "logsumexp": torch.logsumexp}
    for name, op in ops.items():
        if op is None:
            continue
        book.case(f"{name}/all", lambda t: op(t, dim=(0, 1, 2)), x)
        book.case(f"{name}/1", lambda t: op(t, dim=1), x)
        book.case(f"{name}/-1,keep", lambda t: op(t, dim=-1, keepdim=True), x)
        book.case(f"{name}/0,2", lambda t: op(t, dim=(0, 2)), x)
        book.case(f"{name}/0,2,keep", lambda t: op(t, dim=(0, 2), keepdim=True), x)
        book.case(f"{name}/permuted", lambda t: op(t.permute(2, 0, 1), dim=1), x)
    book.case("var/0,population", lambda t: torch.var(t, dim=0, correction=0), x)
    book.case("std/0,population", lambda t: torch.std(t, dim=0, correction=0), x)
    for p in (0, 1, 3, 0.5, INF, -INF):
        book.case(f"norm/p={p}", lambda t: torch.linalg.vector_norm(t, p, dim=1), x)
    book.case("prod/all", torch.prod, x)
    book.case("prod/1", lambda t: torch.prod(t, 1), x)
    book.case("prod/one zero", lambda t: torch.prod(t, 0), torch.tensor([[2.0, 3], [0, 5], [7, 4]]))
    book.case("prod/two zeros", lambda t: torch.prod(t, 0), torch.tensor([[0.0, 3], [0, 5], [7, 4]]))
    for name, op in {"max": torch.max, "min": torch.min}.items():
        book.case(f"{name}/all", op, x)
        book.case(f"{name}/1", lambda t: op(t, 1), x)
        book.case(f"{name}/-1,keep", lambda t: op(t, -1, keepdim=True), x)
        book.case(f"{name}/ties", lambda t: op(t, 1), torch.tensor([[1.0, 2, 2, 1], [3, 3, 3, 3]]))
        book.case(f"{name}/all,ties", op, torch.tensor([[1.0, 2, 2, 1], [1, 1, 1, 2]]))
        book.case(f"{name}/nan", lambda t: op(t, 1), torch.tensor([[1.0, NAN, 2], [INF, -INF, 0]]), grad=False)
        book.case(f"a{name}/ties", lambda t: getattr(torch, "a" + name)(t, 1), torch.tensor([[1.0, 2, 2, 1]]))
        book.case(f"arg{name}/all", getattr(torch, "arg" + name), x, grad=False)
        book.case(f"arg{name}/1", lambda t: getattr(torch, "arg" + name)(t, 1), x, grad=False)
        book.case(f"arg{name}/-1,keep", lambda t: getattr(torch, "arg" + name)(t, -1, True), x, grad=False)
    flags = torch.tensor([[True, False, False], [True, True, True]])
    for name, op in {"any": torch.any, "all": torch.all}.items():
        book.case(f"{name}/all", op, flags)
        book.case(f"{name}/1", lambda t: op(t, 1), flags)
        book.case(f"{name}/0,keep", lambda t: op(t, 0, True), torch.tensor([[0.0, 2], [0, NAN]]), grad=False)
    book.case("sum/int32", torch.sum, torch.tensor([2**31 - 1, 5], dtype=torch.int32))
    book.case("sum/uint8", lambda t: torch.sum(t, 0), torch.tensor([[200, 1], [100, 2]], dtype=torch.uint8))
    book.case("sum/bool", torch.sum, flags)
    book.case("prod/int64", torch.prod, torch.tensor([3, -4, 5]))
    for dim in (0, 1, -1):
        book.case(f"cumsum/{dim}", lambda t: torch.cumsum(t, dim), x)
    book.case("cumsum/long", lambda t: torch.cumsum(t, 1), randn("cumsum", 2, 700))
    book.case("cumsum/columns", lambda t: torch.cumsum(t, 1), randn("cumsum", 2, 5, 70))
    book.case("cumsum/float16", lambda t: torch.cumsum(t, 1), randn("cumsum", 2, 40, dtype=torch.float16))
    book.case("cumsum/int32", lambda t: torch.cumsum(t, 0), torch.tensor([2**31 - 1, 5, -7], dtype=torch.int32))
    book.case("cumsum/bool", lambda t: torch.cumsum(t, 1), flags)
    book.case("cumsum/0-dim", lambda t: torch.cumsum(t, 0), torch.tensor(2.5))
    book.case("sum/none", lambda t: torch.sum(t, 0), torch.zeros(0, 3))
    book.case("prod/none", lambda t: torch.prod(t, 0), torch.zeros(0, 3))
    book.case("mean/none", lambda t: torch.mean(t, 0), torch.zeros(0, 2))
    book.case("logsumexp/inf", lambda t: torch.logsumexp(t, 1),
              torch.tensor([[-INF, -INF], [1, INF], [0, -INF], [1000, 1000]]), grad=False)
    book.close()


def matmul():
    book = Book("matmul")
    shapes = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((2, 2, 3), (3, 4)),
              ((2, 2, 3), (2, 3, 4)), ((2, 1, 2, 3), (3, 3, 2)), ((3,), (2, 3, 2)), ((2, 2, 3), (3,)),
              ((2, 0), (0, 3)), ((0, 3), (3, 2)), ((1, 2, 3), (2, 3, 2))]
    for a, b in shapes:
        name = f"{list(a)},{list(b)}".replace(" ", "")
        book.case(name, torch.matmul, randn(name + "a", *a), randn(name + "b", *b))
    book.case("transposed", lambda a, b: a.t() @ b.t(), randn("ta", 3, 2), randn("tb", 4, 3))
    book.case("float64", torch.matmul, randn("da", 2, 3, dtype=torch.float64), randn("db", 3, 2, dtype=torch.float64))
    w, b = randn("linear w", 4, 3), randn("linear b", 4)
    book.case("linear", F.linear, randn("linear x", 2, 3), w, b)
    book.case("linear/no bias", F.linear, randn("linear x", 2, 3), w)
    book.case("linear/vector", F.linear, randn("linear x", 3), w, b)
    book.case("linear/batches", F.linear, randn("linear x", 2, 2, 3), w, b)
    book.case("linear_relu", lambda *t: F.relu(F.linear(*t)), randn("linear x", 2, 3), w, b)
    book.case("linear_gelu_tanh", lambda *t: F.gelu(F.linear(*t), approximate="tanh"), randn("linear x", 2, 3), w, b)
    book.close()


def conv():
    book = Book("conv")
    x, w, b = randn("conv x", 2, 4, 5, 6), randn("conv w", 6, 4, 3, 3), randn("conv b", 6)
    book.case("plain", F.conv2d, x, w, b)
    book.case("no bias", F.conv2d, x, w)
    book.case("stride 2,1", lambda *t: F.conv2d(*t, stride=(2, 1)), x, w, b)
    book.case("padding 1,2", lambda *t: F.conv2d(*t, padding=(1, 2)), x, w, b)
    book.case("dilation 2,1", lambda *t: F.conv2d(*t, dilation=(2, 1)), x, w, b)
    book.case("groups 2", lambda *t: F.conv2d(*t, groups=2), x, w[:, :2], b)
    book.case("depthwise", lambda *t: F.conv2d(*t, groups=4, padding=1), x, randn("depthwise", 4, 1, 3, 3))
    book.case("all", lambda *t: F.conv2d(*t, stride=2, padding=2, dilation=(1, 2), groups=2), x, w[:, :2], b)
    book.case("1x1", F.conv2d, x, w[:, :, :1, :1], b)
    book.case("kernel 5x1", lambda *t: F.conv2d(*t, padding=(2, 0)), x, randn("5x1", 2, 4, 5, 1), b[:2])
    book.case("whole image", F.conv2d, x[:, :1], randn("whole", 2, 1, 5, 6), b[:2])
    book.case("float64", F.conv2d, x[:, :2, :4, :4].double(), w[:2, :2].double(), b[:2].double())
    book.close()


def pool():
    book = Book("pool")
    x = randn("pool", 1, 2, 7, 6)
    for name, options in {"2": dict(kernel_size=2), "3,stride 2,padding 1": dict(kernel_size=3, stride=2, padding=1),
                          "3x2,stride 1x2": dict(kernel_size=(3, 2), stride=(1, 2))}.items():
        book.case(f"max/{name}", lambda t: F.max_pool2d(t, **options), x)
        book.case(f"avg/{name}", lambda t: F.avg_pool2d(t, **options), x)
    book.case("max/2,dilation 2", lambda t: F.max_pool2d(t, 2, dilation=2), x)
    book.case("max/ties", lambda t: F.max_pool2d(t, 2), F.relu(randn("ties", 1, 1, 4, 4)).sign())
    book.case("max/nan", lambda t: F.max_pool2d(t, 2), torch.tensor([[[[1.0, NAN], [2, 3]]]]), grad=False)
    book.case("avg/3,stride 2,padding 1,without pad",
              lambda t: F.avg_pool2d(t, 3, 2, 1, count_include_pad=False), x)
    book.close()


def softmax():
    book = Book("softmax")
    x = randn("softmax", 2, 3, 4) * 3
    odd = torch.tensor([[1e4, 1e4, 0], [-INF, 0, 1], [88.0, 89, -200]])
    for name, op in {"softmax": torch.softmax, "log_softmax": torch.log_softmax}.items():
        for dim in (0, 1, -1):
            book.case(f"{name}/{dim}", lambda t: op(t, dim), x)
        book.case(f"{name}/odd", lambda t: op(t, 1), odd, grad=False)
        book.case(f"{name}/float64", lambda t: op(t, 0), x[0].double())
        book.case(f"{name}/0-dim", lambda t: op(t, 0), torch.tensor(2.0))
    book.close()


def index():
    book = Book("index")
    x, y = randn("index x", 2, 3, 4), randn("index y", 2, 2, 4)
    book.case("cat", lambda *t: torch.cat(t, 1), x, y)
    book.case("cat/-1", lambda *t: torch.cat(t, -1), x, x[:, :, :1])
    book.case("cat/promoted", lambda *t: torch.cat(t), torch.tensor([1, 2]), torch.tensor([0.5]))
    book.case("stack", lambda *t: torch.stack(t, 1), x[0], x[1])
    book.case("stack/-1", lambda *t: torch.stack(t, -1), x[0], x[1])
    i = torch.tensor([[[0, 2, 1, 1]], [[2, 2, 0, 1]]])
    book.case("gather", lambda t, k: torch.gather(t, 1, k), x, i)
    book.case("gather/small", lambda t, k: torch.gather(t, 0, k), x, torch.tensor([[[1, 0]], [[0, 0]], [[1, 1]]]))
    book.case("index_select", lambda t, k: torch.index_select(t, 2, k), x, torch.tensor([3, 0, 0, 2]))
    book.case("index_select/0", lambda t, k: torch.index_select(t, 0, k), x, torch.tensor([1, 1, 0]))
    places = torch.tensor([[0, 2, 1], [2, 2, 0]])
    book.case("scatter_add", lambda t, k, u: torch.scatter_add(t, 0, k, u), x[0], places, randn("scatter", 2, 3))
    book.case("scatter_add/-1", lambda t, k, u: torch.scatter_add(t, -1, k, u), x[0], places, randn("scatter", 2, 3))
    rows = torch.tensor([2, 0, 2])
    book.case("index_add", lambda t, k, u: torch.index_add(t, 0, k, u), x[0], rows, randn("index_add", 3, 4))
    book.case("index_add/1", lambda t, k, u: torch.index_add(t, 1, k, u), x[0], rows, randn("index_add", 3, 3))
    long = randn("parts", 5, 3)
    book.case("split", lambda t: torch.split(t, 2), long)
    book.case("split/4,0,1", lambda t: torch.split(t, [4, 0, 1]), long)
    book.case("split/1,2", lambda t: torch.split(t, [1, 2], 1), long)
    book.case("chunk", lambda t: torch.chunk(t, 3), long)
    book.case("unbind", lambda t: torch.unbind(t, 1), long)
    book.case("cat/twice", lambda a, b: torch.cat((a, b, a)), long, long[:2])
    book.case("one_hot", F.one_hot, torch.tensor([[0, 2], [3, 1]]))
    book.case("one_hot/6", lambda t: F.one_hot(t, 6), torch.tensor([0, 2, 3]))
    book.case("slices", lambda t: t[0, :, 1:4:2], x)
    book.case("newaxis", lambda t: t[..., None, -1], x)
    book.case("permute", lambda t: t.permute(2, 0, 1) * 2, x)
    book.case("transpose,reshape", lambda t: t.transpose(0, 2).reshape(6, 4), x)
    book.case("expand", lambda t: t.expand(3, 2, 4) * 2, x[:1, :1].reshape(1, 1, 4))
    book.case("flatten", lambda t: t.flatten(1) * 2, x)
    book.case("narrow,select", lambda t: t.narrow(1, 1, 2).select(2, 3), x)
    book.case("unsqueeze,squeeze", lambda t: t.unsqueeze(1).squeeze(2) * 2, x[:, :1])
    words, table = torch.tensor([[3, 1, 0], [1, 3, 3]]), randn("embedding", 4, 3)
    book.case("embedding", F.embedding, words, table)
    book.case("embedding/padding", lambda i, w: F.embedding(i, w, padding_idx=1), words, table)
    book.case("embedding/last", lambda i, w: F.embedding(i, w, padding_idx=-1), words, table)
    book.close()


def views():
    book = Book("views")
    x, one = randn("views x", 2, 3, 4), randn("views one", 2, 1, 3)
    book.case("reshape", lambda t: t.reshape(6, -1), x)
    book.case("view", lambda t: t.view(4, -1), x)
    book.case("view_as", lambda t, u: t.view_as(u), x, randn("views as", 4, 6))
    book.case("transpose", lambda t: t.transpose(0, -1), x)
    book.case("t", lambda t: t.t(), x[0])
    book.case("mT", lambda t: t.mT, x)
    book.case("permute", lambda t: t.permute(2, 0, -2), x)
    book.case("squeeze", torch.squeeze, one)
    book.case("squeeze/1", lambda t: t.squeeze(1), one)
    book.case("unsqueeze", lambda t: t.unsqueeze(-1), x)
    book.case("expand_as", lambda t, u: t.expand_as(u), one, x[:, :, :3])
    book.case("flatten", torch.flatten, x)
    book.case("narrow", lambda t: t.narrow(1, 1, 2), x)
    book.case("select", lambda t: t.select(-1, 2), x)
    for dtype in (torch.float64, torch.float16, torch.int64, torch.bool):
        name = str(dtype)[6:]
        book.case(f"to/{name}", lambda t: t.to(dtype), torch.tensor([[-2.75, 0, 0.3], [1.5, 3, -0.1]]),
                  grad=dtype.is_floating_point)
    book.close()


def creation():
    """The dtype of a case is that of its input."""
    book = Book("creation")
    makers = {"zeros": lambda **o: torch.zeros(2, 3, **o), "ones": lambda **o: torch.ones(2, 3, **o),
              "ones/0": lambda **o: torch.ones(0, 3, **o), "full": lambda **o: torch.full((2, 3), 1, **o),
              "full/scalar": lambda **o: torch.full((), 1, **o), "eye": lambda **o: torch.eye(3, **o),
              "eye/2,3": lambda **o: torch.eye(2, 3, **o), "arange": lambda **o: torch.arange(5, **o),
              "arange/1,9,3": lambda **o: torch.arange(1, 9, 3, **o),
              "linspace": lambda **o: torch.linspace(-1, 2, 7, **o), "linspace/1": lambda **o: torch.linspace(4, 9, 1, **o),
              "tensor": lambda **o: torch.tensor([[1, 0], [0, 1]], **o)}
    for name, make in makers.items():
        for dtype in (torch.float32, torch.float16, torch.int64):
            if dtype.is_floating_point or not name.startswith("linspace"):
                book.case(f"{name}:{str(dtype)[6:]}", lambda t: make(dtype=t.dtype), torch.zeros((), dtype=dtype), grad=False)
    book.close()


def indexing():
    """Indexing by tensors and masks, reading and writing; joining and repeating; products of one rank."""
    book = Book("indexing")
    x, v = randn("indexing x", 4, 3, 5), randn("indexing v", 2, 3, 5)
    i, j, square = torch.tensor([3, 0, -1, 0]), torch.tensor([0, 2, -3, 1]), torch.tensor([[0, 3], [1, -2]])
    mask, rows, columns = x > 0.3, torch.tensor([True, False, False, True]), torch.tensor([[True, False, True, False, True]] * 3)
    book.case("get/rows", lambda t, k: t[k], x, i)
    book.case("get/columns", lambda t, k: t[:, k], x, j)
    book.case("get/last", lambda t, k: t[..., k], x, square)
    book.case("get/matrix", lambda t, k: t[k], x, square)
    book.case("get/scalar", lambda t, k: t[k], x, torch.tensor(-2))
    book.case("get/int32", lambda t, k: t[k.long()], x, torch.tensor([1, 1], dtype=torch.int32))
    book.case("get/two", lambda t, a, b: t[a, b], x, i, j)
    book.case("get/two,inner", lambda t, a, b: t[:, a, b], x, j, i)
    book.case("get/apart", lambda t, a, b: t[a, :, b], x, i, i)
    book.case("get/broadcast", lambda t, a, b: t[a[:, None], b], x, i, j[:2])
    book.case("get/beside integer", lambda t, k: t[1, k], x, j)
    book.case("get/beside slice", lambda t, k: t[1:4:2, None, k], x, j)
    book.case("get/mask", lambda t, k: t[k], x, mask)
    book.case("get/mask rows", lambda t, k: t[k], x, rows)
    book.case("get/mask inner", lambda t, k: t[:, k], x, columns)
    book.case("get/mask none", lambda t, k: t[k], x, torch.zeros(4, dtype=torch.bool))
    book.case("get/none", lambda t, k: t[k], x, torch.zeros(0, dtype=torch.int64))

    def put(write):
        def case(t, *rest):
            t = t * 1
            write(t, *rest)
            return t
        return case

    def set_item(key):
        def write(t, value, *rest):
            t[key(*rest)] = value
        return put(write)

    book.case("put/row", set_item(lambda: 1), x, v[0])
    book.case("put/slice", set_item(lambda: (slice(1, 3), slice(None), 2)), x, v[:, :, 0])
    book.case("put/broadcast", set_item(lambda: slice(0, 3)), x, v[0, 0])
    book.case("put/rows", set_item(lambda k: k), x, v, torch.tensor([2, -4]))
    book.case("put/columns", set_item(lambda k: (slice(None), k)), x, randn("indexing c", 4, 2, 5), torch.tensor([2, 0]))
    book.case("put/two", set_item(lambda a, b: (a, b)), x, v[:, 0], torch.tensor([3, -4]), torch.tensor([0, 2]))
    book.case("put/apart", set_item(lambda a, b: (a, slice(None), b)), x, randn("indexing a", 2, 3), torch.tensor([0, 3]), torch.tensor([4, 1]))
    book.case("put/inner slice", set_item(lambda k: (slice(1, 4, 2), k)), x, v[:, :2], torch.tensor([0, 2]))
    book.case("put/mask", set_item(lambda k: k), x, randn("indexing m", int(mask.sum())), mask)
    book.case("put/mask number", put(lambda t, k: t.__setitem__(k, -1.5)), x, mask)
    book.case("put/mask rows number", put(lambda t, k: t.__setitem__(k, 2)), x, rows)
    book.case("put/add", put(lambda t, u, k: t.__setitem__(k, t[k] + u)), x, v, torch.tensor([1, 3]))
    book.case("masked_fill", lambda t, k: t.masked_fill(k, 2.5), x, mask)
    book.case("masked_fill/tensor", lambda t, k, v: t.masked_fill(k, v), x, mask, torch.tensor(2.5))
    book.case("masked_select", torch.masked_select, x, mask)
    book.case("masked_select/broadcast", lambda t, k: torch.masked_select(t, k), x, columns)
    book.case("nonzero", torch.nonzero, torch.tensor([[0.0, 2, float("nan")], [0, 0, -1]]))
    book.case("nonzero/scalar", torch.nonzero, torch.tensor(3.0))
    for diagonal in (-2, 0, 1):
        book.case(f"tril/{diagonal}", lambda t: torch.tril(t, diagonal), x)
        book.case(f"triu/{diagonal}", lambda t: torch.triu(t, diagonal), x)
    book.case("repeat", lambda t: t.repeat(2, 1, 3), x)
    book.case("repeat/more", lambda t: t.repeat(2, 1, 1, 2), x)
    book.case("flip", lambda t: torch.flip(t, (0, -1)), x)
    book.case("roll", lambda t: torch.roll(t, 2, -1), x)
    book.case("roll/back", lambda t: torch.roll(t, -7, 0), x)
    book.case("roll/flat", lambda t: torch.roll(t, 4), x)
    book.case("roll/several", lambda t: torch.roll(t, (1, -4, 2), (0, -1, 0)), x)
    a, b = randn("indexing ma", 3, 4), randn("indexing mb", 4, 2)
    book.case("mm", torch.mm, a, b)
    book.case("bmm", torch.bmm, a.expand(2, 3, 4), b.expand(2, 4, 2))
    book.case("mv", torch.mv, a, b[:, 0])
    book.case("dot", torch.dot, a[0], b[:, 0])
    book.case("outer", torch.outer, a[0], b[0])
    book.case("lerp/number", lambda s, t: torch.lerp(s, t, 0.3), a, a.flip(0))
    book.case("add/alpha", lambda s, t: torch.add(s, t, alpha=-0.5), a, a.flip(0))
    book.case("sub/alpha", lambda s, t: torch.sub(s, t, alpha=2), a, a.flip(0))
    book.case("max/two", torch.max, a, a.flip(1))
    book.close()


def rearrange():
    book = Book("rearrange")
    x, line = randn("rearrange x", 2, 3, 4), randn("rearrange line", 3)
    for offset, dim1, dim2 in ((0, 0, 1), (1, 1, 2), (-2, 2, 0), (5, 0, 1)):
        book.case(f"diagonal/{offset},{dim1},{dim2}", lambda t: torch.diagonal(t, offset, dim1, dim2), x)
    for k in (0, 1, -2):
        book.case(f"diag/vector {k}", lambda t: torch.diag(t, k), line)
        book.case(f"diag/matrix {k}", lambda t: torch.diag(t, k), x[0])
    for mode, padding in {"constant": (1, 2, 0, 3), "reflect": (3, 1), "replicate": (2, 5), "circular": (4, 3)}.items():
        book.case(f"pad/{mode}", lambda t: F.pad(t, padding, mode), x)
    for mode in ("reflect", "replicate", "circular"):
        book.case(f"pad/{mode},two", lambda t: F.pad(t, (1, 2, 2, 0), mode), x[None])
    book.case("pad/circular,negative", lambda t: F.pad(t, (-1, 2, 1, -1), "circular"), x[None])
    for mode in ("reflect", "replicate", "circular"):
        book.case(f"pad/{mode},none", lambda t: F.pad(t, (1, 1), mode), torch.zeros(0, 2, 3))
    book.case("pad/value", lambda t: F.pad(t, (1, 0, 0, 0, 0, 1), value=2.5), x)
    book.case("pad/negative", lambda t: F.pad(t, (-1, 2, 1, -2)), x)
    book.case("repeat_interleave/flat", lambda t: t.repeat_interleave(2), x)
    book.case("repeat_interleave/3,1", lambda t: t.repeat_interleave(3, 1), x)
    book.case("repeat_interleave/tensor", lambda t, n: t.repeat_interleave(n, -2), x, torch.tensor([2, 0, 3]))
    book.case("tile/2", lambda t: t.tile(2), x)
    book.case("tile/2,1,1,3", lambda t: t.tile(2, 1, 1, 3), x)
    book.case("meshgrid", lambda *t: torch.meshgrid(*t, indexing="ij"), line, x[0, 0], torch.tensor(1.5))
    book.close()


EQUATIONS = {"ij,jk->ik": ((2, 3), (3, 4)), "ij,jk": ((2, 3), (3, 4)), "ji": ((2, 3),), "ii->i": ((3, 3),), "ii": ((3, 3),),
             "i,j->ij": ((2,), (3,)), "i,i->": ((3,), (3,)), "ij->": ((2, 3),), "bij,bjk->bik": ((2, 2, 3), (2, 3, 4)),
             "bhid,bhjd->bhij": ((2, 2, 3, 2), (2, 2, 4, 2)), "...ij,...jk->...ik": ((2, 1, 2, 3), (3, 3, 2)),
             "b...i,bij->...j": ((2, 3, 2), (2, 2, 4)), "ij,kj,lj->ikl": ((2, 3), (4, 3), (2, 3)),
             "iij,jk->ki": ((3, 3, 2), (2, 4)), "ij,ij->ij": ((2, 3), (2, 3)), "ij,jk->i": ((2, 3), (3, 4)),
             "i...->...": ((2, 3, 2),), "ij,j->i": ((2, 3), (1,)), "iBj, jA -> A B": ((2, 3, 2), (2, 4))}


def einsum():
    book = Book("einsum")
    for equation, shapes in EQUATIONS.items():
        book.case(equation, lambda *t: torch.einsum(equation, *t), *(randn(f"einsum {i}", *s) for i, s in enumerate(shapes)))
    book.close()


def distance():
    book = Book("distance")
    x, y, zero = randn("distance x", 2, 3, 4), randn("distance y", 2, 1, 4), torch.zeros(1, 4)
    for p, dim in ((2, 1), (1, -1), (3, 0), (INF, 2)):
        book.case(f"normalize/{p},{dim}", lambda t: F.normalize(t, p, dim), x)
    book.case("normalize/two", lambda t: F.normalize(t, 2, (0, 2), 0.5), x)
    book.case("normalize/zero", lambda t: F.normalize(t, 2, 1), zero)
    book.case("cosine_similarity", lambda a, b: F.cosine_similarity(a, b), x, x.flip(0))
    book.case("cosine_similarity/-1", lambda a, b: F.cosine_similarity(a, b, -1), x, y)
    book.case("cosine_similarity/zero", lambda a, b: F.cosine_similarity(a, b, -1, 0.1), x[0], zero)
    for p in (0, 0.5, 1, 2, 3, INF):
        book.case(f"cdist/{p}", lambda a, b: torch.cdist(a, b, p), x, randn("distance b", 2, 2, 4))
    book.case("cdist/same", lambda a, b: torch.cdist(a, b), x[0], x[0, :2])
    book.case("cdist/broadcast", lambda a, b: torch.cdist(a, b), x, randn("distance b", 2, 4))
    book.case("cdist/many", lambda a, b: torch.cdist(a, b), randn("distance many", 30, 3), randn("distance few", 2, 3))
    book.close()


def statistics():
    book = Book("statistics")
    x = randn("statistics", 2, 3, 4)
    some = torch.tensor([[1.5, NAN, -2], [NAN, NAN, 0.5], [NAN, NAN, NAN]])
    for name, op in {"std_mean": torch.std_mean, "var_mean": torch.var_mean}.items():
        book.case(f"{name}/all", op, x)
        book.case(f"{name}/1", lambda t: op(t, 1), x)
        book.case(f"{name}/0,2,keep", lambda t: op(t, (0, 2), correction=0, keepdim=True), x)
    for name, op in {"nansum": torch.nansum, "nanmean": torch.nanmean}.items():
        book.case(f"{name}/all", op, some)
        book.case(f"{name}/1,keep", lambda t: op(t, 1, keepdim=True), some[:2])
        book.case(f"{name}/none", lambda t: op(t, 1), some, grad=False)
    book.case("nansum/int32", lambda t: torch.nansum(t, 0), torch.tensor([[2, -3]], dtype=torch.int32))
    book.case("count_nonzero/all", torch.count_nonzero, torch.tensor([[0.0, NAN, 2], [-0.0, 1, 0]]))
    book.case("count_nonzero/1", lambda t: torch.count_nonzero(t, 1), torch.tensor([[0, 3, 2], [0, 0, 0]]))
    numbers = torch.tensor([3, 0, 3, 1])
    book.case("bincount", torch.bincount, numbers)
    book.case("bincount/6", lambda t: torch.bincount(t, minlength=6), numbers.to(torch.uint8))
    book.case("bincount/weights", torch.bincount, numbers, torch.tensor([0.5, 1, 2, -1]), grad=False)
    book.case("bincount/integer weights", torch.bincount, numbers, torch.tensor([5, 1, 2, -1]))
    close = torch.tensor([1.0, 1.00001, 1.1, NAN, INF, -INF, 0])
    other = torch.tensor([1.0, 1, 1, NAN, INF, INF, 1e-9])
    book.case("isclose", torch.isclose, close, other, grad=False)
    book.case("isclose/nan", lambda a, b: torch.isclose(a, b, 0.2, 0, True), close, other, grad=False)
    book.close()


def masked():
    book = Book("masked")
    x = randn("masked x", 3, 4)
    book.case("take_along_dim", lambda t, k: torch.take_along_dim(t, k, 1), x, torch.tensor([[3, 0], [1, 1], [2, 0]]))
    book.case("take_along_dim/broadcast", lambda t, k: torch.take_along_dim(t, k, 0), x, torch.tensor([[2], [0]]))
    book.case("take_along_dim/flat", lambda t, k: torch.take_along_dim(t, k), x, torch.tensor([[11, 0], [5, 5]]))
    rows, columns = torch.tensor([2, 0, 2]), torch.tensor([1])
    book.case("index_fill", lambda t, k: t.index_fill(0, k, -1.5), x, rows)
    book.case("index_fill/tensor", lambda t, k, v: t.index_fill(-1, k, v), x, columns, torch.tensor(2.5))
    mask = torch.tensor([[True, False, False, True], [False] * 4, [True, True, False, True]])
    source = randn("masked source", 2, 4)
    book.case("masked_scatter", lambda t, k, s: t.masked_scatter(k, s), x, mask, source)
    book.case("masked_scatter/broadcast", lambda t, k, s: t.masked_scatter(k, s), x, mask[0], source)
    book.close()


def addmm():
    book = Book("addmm")
    x, a, b = randn("addmm x", 3, 4), randn("addmm a", 3, 2), randn("addmm b", 2, 4)
    for name, rest in {"addmm/row": (x[0], 1, 1), "addmm/matrix": (x, 0.5, -2), "addmm/beta 0": (x[0] * NAN, 0, 3),
                       "addmm/column": (x[:, :1], 2, 1)}.items():
        book.case(name, lambda i, s, t: torch.addmm(i, s, t, beta=rest[1], alpha=rest[2]), rest[0], a, b,
                  grad=name != "addmm/beta 0")
    a, b = randn("baddbmm a", 2, 3, 2), randn("baddbmm b", 2, 2, 4)
    book.case("baddbmm", torch.baddbmm, randn("baddbmm", 2, 3, 4), a, b)
    book.case("baddbmm/scaled", lambda i, s, t: torch.baddbmm(i, s, t, beta=0.5, alpha=3), x, a, b)
    book.close()


def linalg():
    book, L = Book("linalg"), torch.linalg

    def positive(a):
        return a @ a.mT + torch.eye(a.shape[-1], dtype=a.dtype)

    def spread(a):
        return a * a - 0.7 * a + torch.eye(*a.shape[-2:], dtype=a.dtype)

    def eigh(a):
        values, vectors = L.eigh(spread(a) + spread(a).mT)
        return vectors * vectors, values

    def svd(a):
        u, s, vh = L.svd(spread(a), full_matrices=False)
        return (u * s.sqrt().unsqueeze(-2)) @ vh, s, u * u, vh * vh

    square = {"": (randn("linalg", 3, 3),), ":batch": (randn("linalg", 2, 1, 4, 4, dtype=torch.float64),)}
    tall = {":tall": (randn("linalg", 4, 3),), ":wide": (randn("linalg", 2, 3, 5, dtype=torch.float64),)}
    systems = {"": (randn("linalg", 3, 3), randn("linalg b", 3, 2)),
               ":batch": (randn("linalg", 2, 3, 3, dtype=torch.float64), randn("linalg b", 3, 1, dtype=torch.float64))}
    functions = {
        "cholesky": (lambda a: L.cholesky(positive(a)), square), "cholesky/upper": (lambda a: L.cholesky(positive(a), upper=True), square),
        "solve": (lambda a, b: L.solve(positive(a), b), systems),
        "triangular/upper": (lambda a, b: L.solve_triangular(a, b, upper=True), systems),
        "triangular/lower": (lambda a, b: L.solve_triangular(a, b, upper=False), systems),
        "inv": (lambda a: L.inv(positive(a)), square), "pinv": (lambda a: L.pinv(spread(a)), tall), "det": (L.det, square),
        "slogdet": (lambda a: tuple(reversed(L.slogdet(positive(a)))), square), "qr": (lambda a: tuple(L.qr(spread(a))), tall),
        "eigh": (eigh, square), "eigvalsh": (lambda a: L.eigvalsh(positive(a)), square), "svd": (svd, tall),
        "svdvals": (lambda a: L.svdvals(spread(a)), tall)}
    for name, (function, cases) in functions.items():
        for suffix, inputs in cases.items():
            book.case(name + suffix, function, *inputs)
    book.close()


def main():
    reduce()
    matmul()
    conv()
    pool()
    softmax()
    index()
    views()
    creation()
    indexing()
    rearrange()
    einsum()
    distance()
    statistics()
    masked()
    addmm()
    linalg()

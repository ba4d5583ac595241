"""Golden values of sorting, running results, scattering, searching and of integer dtypes (PyTorch 2.15)."""
import torch
from book import Book, randn, rng

NAN, INF = float("nan"), float("inf")


def sort():
    book = Book("sort")
    x = randn("sort", 3, 4, 5)
    ties = torch.tensor([[2.0, 1, 2, NAN, -0.0, 0.0, 1], [INF, -INF, NAN, 3, 3, NAN, -1]])
    whole = torch.randint(-3, 4, (2, 9), generator=rng("whole"))
    for descending in (False, True):
        name = "descending" if descending else "ascending"
        for dim in (0, 1, -1):
            book.case(f"sort/{name},{dim}", lambda t: torch.sort(t, dim=dim, descending=descending, stable=True), x)
        book.case(f"argsort/{name}", lambda t: torch.argsort(t, dim=1, descending=descending, stable=True), x, grad=False)
        book.case(f"sort/{name},-1:ties", lambda t: torch.sort(t, descending=descending, stable=True), ties, grad=False)
        for dtype in (torch.int64, torch.int32, torch.int16, torch.int8, torch.bool, torch.float16, torch.bfloat16):
            book.case(f"sort/{name},-1:{str(dtype)[6:]}",
                      lambda t: torch.sort(t, descending=descending, stable=True), whole.to(dtype), grad=False)
        book.case(f"sort/{name},-1:uint8", lambda t: torch.sort(t, descending=descending, stable=True),
                  whole.abs().to(torch.uint8), grad=False)
        book.case(f"sort/{name},0:none", lambda t: torch.sort(t, 0, descending), torch.zeros(0, 3), grad=False)
        book.case(f"sort/{name},-1:0-dim", lambda t: torch.sort(t, descending=descending), torch.tensor(2.0))
    book.case("sort/long", lambda t: torch.sort(t, dim=0, stable=True), torch.randint(-50, 50, (700,), generator=rng("long")) / 2)
    book.case("topk/2", lambda t: torch.topk(t, 2), x)
    book.case("topk/smallest 3,1", lambda t: torch.topk(t, 3, 1, largest=False), x)
    book.case("topk/all", lambda t: torch.topk(t, 3, 0), x)
    book.case("topk/none", lambda t: torch.topk(t, 0), x)
    book.case("topk/nan", lambda t: torch.topk(t, 2), torch.tensor([[1.0, NAN, 3, 2]]), grad=False)
    book.case("kthvalue/2", lambda t: torch.kthvalue(t, 2), x)
    book.case("kthvalue/3,0,keep", lambda t: torch.kthvalue(t, 3, 0, True), x)
    book.case("kthvalue/1,1", lambda t: torch.kthvalue(t, 1, 1), x)
    book.case("median/all", torch.median, x)
    book.case("median/all:odd", torch.median, x[0, 0])
    book.case("median/all:ties", torch.median, torch.tensor([1.0, 2, 2, 2, 3]))
    book.case("median/all:nan", torch.median, torch.tensor([1.0, NAN, 2]), grad=False)
    book.case("median/all:none", torch.median, torch.zeros(0), grad=False)
    book.case("median/1", lambda t: torch.median(t, 1), x)
    book.case("median/-1,keep", lambda t: torch.median(t, -1, True), x)
    book.case("median/1:int64", lambda t: torch.median(t, 1), torch.tensor([[5, 1, 3, 2], [9, 7, 8, 6]]))
    book.case("median/1:nan", lambda t: torch.median(t, 1), torch.tensor([[1.0, NAN, 2, NAN], [4, 3, 2, 1]]), grad=False)
    book.case("mode/-1", lambda t: torch.mode(t, -1)[0], torch.tensor([[1.0, 3, 3, 1, 2], [5, 4, 3, 2, 1], [7, 7, 7, 7, 7]]))
    book.case("mode/0,keep", lambda t: torch.mode(t, 0, True)[0], torch.tensor([[1, 2], [1, 3], [4, 3], [4, 2]]))
    book.close()


def scan():
    book = Book("scan")
    x = randn("scan", 2, 3, 4)
    zeros = torch.tensor([[1.5, 0, 2, 3], [0, 2, 0, 4], [-1, 2, 3, 0]])
    for dim in (0, 1, -1):
        book.case(f"cumprod/{dim}", lambda t: torch.cumprod(t, dim), x)
        book.case(f"logcumsumexp/{dim}", lambda t: torch.logcumsumexp(t, dim), x)
        book.case(f"cummax/{dim}", lambda t: torch.cummax(t, dim), x)
        book.case(f"cummin/{dim}", lambda t: torch.cummin(t, dim), x)
    book.case("cumprod/-1:zeros", lambda t: torch.cumprod(t, -1), zeros)
    book.case("cumprod/-1:long", lambda t: torch.cumprod(t, -1), 1 + randn("cumprod", 2, 300) / 10)
    book.case("cumprod/-1:int32", lambda t: torch.cumprod(t, -1), torch.tensor([2, -3, 2**31 - 1], dtype=torch.int32))
    book.case("cumprod/0:0-dim", lambda t: torch.cumprod(t, 0), torch.tensor(2.5))
    book.case("cumprod/0:none", lambda t: torch.cumprod(t, 0), torch.zeros(0, 2))
    book.case("logcumsumexp/-1:large", lambda t: torch.logcumsumexp(t, -1), torch.tensor([[100.0, 100, -100], [-80, 0, 80]]))
    book.case("logcumsumexp/-1:infinite", lambda t: torch.logcumsumexp(t, -1),
              torch.tensor([[-INF, -INF, 1], [0, INF, 1], [1, NAN, 2]]), grad=False)
    for name, op in {"cummax": torch.cummax, "cummin": torch.cummin}.items():
        book.case(f"{name}/-1:ties", lambda t: op(t, -1), torch.tensor([[1.0, 1, 3, 3, 2], [3, 1, 1, NAN, 2]]), grad=False)
        book.case(f"{name}/-1:uint8", lambda t: op(t, -1), torch.tensor([[3, 200, 200, 1]], dtype=torch.uint8))
        book.case(f"{name}/0:0-dim", lambda t: op(t, 0), torch.tensor(2.5))
    book.close()


def scatter():
    book = Book("scatter")
    x, y = randn("scatter x", 3, 4), randn("scatter y", 2, 4)
    once = torch.tensor([[0, 2, 1, 1], [2, 0, 0, 2]])
    often = torch.tensor([[0, 2, 2, 1], [0, 2, 0, 1]])
    book.case("scatter/0", lambda t, i, u: torch.scatter(t, 0, i, u), x, once, y)
    book.case("scatter/0:larger source", lambda t, i, u: torch.scatter(t, 0, i, u), x, once[:, :3], randn("larger", 2, 3))
    book.case("scatter/1", lambda t, i, u: torch.scatter(t, 1, i, u), x, torch.tensor([[3, 0], [1, 2], [0, 3]]), randn("s1", 3, 2))
    book.case("scatter/number", lambda t, i: torch.scatter(t, 0, i, 2.5), x, often)
    book.case("scatter/0:int16", lambda t, i, u: torch.scatter(t, 0, i, u), torch.zeros(3, 4, dtype=torch.int16), once,
              torch.arange(8, dtype=torch.int16).reshape(2, 4))
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        for own in (True, False):
            name = f"scatter_reduce/{reduce}" + ("" if own else ",without self")
            book.case(name, lambda t, i, u: torch.scatter_reduce(t, 0, i, u, reduce, include_self=own), x, often, y)
            book.case(f"{name}:int64", lambda t, i, u: torch.scatter_reduce(t, 0, i, u, reduce, include_self=own),
                      torch.tensor([[1, -7, 3, 4], [5, 6, 7, 8], [2, 3, 4, -5]]), often, torch.tensor([[2, 3, -4, 6], [3, 5, 7, 7]]))
    book.case("scatter_reduce/prod:zeros", lambda t, i, u: torch.scatter_reduce(t, 0, i, u, "prod"), torch.tensor([[2.0, 0, 3], [4, 5, 6]]),
              torch.tensor([[0, 0, 1], [0, 1, 1], [0, 0, 1]]), torch.tensor([[2.0, 3, 0], [0, 5, 7], [3, 2, 2]]))
    book.case("scatter_reduce/amax:ties", lambda t, i, u: torch.scatter_reduce(t, 0, i, u, "amax"), torch.tensor([[2.0, 1]]),
              torch.tensor([[0, 0], [0, 0]]), torch.tensor([[2.0, 3], [1, 3]]))
    rows = torch.tensor([2, 0])
    book.case("index_copy/0", lambda t, i, u: torch.index_copy(t, 0, i, u), x, rows, y)
    book.case("index_copy/1", lambda t, i, u: torch.index_copy(t, 1, i, u), x, rows, randn("index_copy", 3, 2))
    i, j = torch.tensor([0, 2, 0]), torch.tensor([1, 3, 1])
    book.case("index_put/accumulate", lambda t, i, j, u: torch.index_put(t, (i, j), u, accumulate=True), x, i, j, randn("put", 3))
    book.case("index_put/accumulate,rows", lambda t, i, u: torch.index_put(t, (i,), u, accumulate=True), x, i, randn("put", 3, 4))
    book.case("index_put", lambda t, i, j, u: torch.index_put(t, (i, j), u), x, i[:2], j[:2], randn("put", 2))
    book.close()


def search():
    book = Book("search")
    edges, x = torch.tensor([-1.0, 0, 0, 1.5, 3]), torch.tensor([[-2.0, 0, 1.5], [2, 9, NAN]])
    for right in (False, True):
        name = "right" if right else "left"
        book.case(f"searchsorted/{name}", lambda s, t: torch.searchsorted(s, t, right=right), edges, x, grad=False)
        book.case(f"searchsorted/{name}:rows", lambda s, t: torch.searchsorted(s, t, right=right),
                  torch.tensor([[1.0, 2, 3], [4, 5, 6]]), torch.tensor([[2.0, 0], [5, 7]]), grad=False)
        book.case(f"searchsorted/{name}:int32", lambda s, t: torch.searchsorted(s, t, right=right),
                  torch.tensor([1, 3, 3, 8], dtype=torch.int32), torch.tensor([3, 9, 0], dtype=torch.int32))
        book.case(f"bucketize/{name}", lambda t, s: torch.bucketize(t, s, right=right), x, edges, grad=False)
    values = torch.tensor([0.1, 0.9, 2.0, -1.0, 0.5, 0.5, 1.0, 1.99])
    book.case("histc/4", lambda t: torch.histc(t, 4), values, grad=False)
    book.case("histc/4,0,1", lambda t: torch.histc(t, 4, 0, 1), values, grad=False)
    book.case("histc/4:equal", lambda t: torch.histc(t, 4), torch.full((3,), 2.0), grad=False)
    repeated = torch.tensor([[3, 1, 2, 3], [1, 1, 7, 2]])
    for name, op in {"unique": torch.unique, "unique_consecutive": torch.unique_consecutive}.items():
        book.case(name, lambda t: op(t, return_inverse=True, return_counts=True), repeated)
        book.case(f"{name}:nan", lambda t: op(t, return_inverse=True, return_counts=True), torch.tensor([2.0, NAN, 1, NAN, 1, 1]), grad=False)
        book.case(f"{name}:none", lambda t: op(t, return_inverse=True, return_counts=True), torch.zeros(0), grad=False)
        book.case(f"{name}:bool", lambda t: op(t, return_inverse=True, return_counts=True), torch.tensor([True, True, False]))
        book.case(f"{name}:0-dim", lambda t: op(t, return_inverse=True, return_counts=True), torch.tensor(4))
    book.close()


def main():
    sort()
    scan()
    scatter()
    search()


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()

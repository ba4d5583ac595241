"""benchmarks/workloads/rows.cpp on PyTorch."""

import torch

FORMATS = {"NCHW": torch.contiguous_format, "NHWC": torch.channels_last}
ROWS = {
    "softmax": lambda x: torch.softmax(x, 1),
    "log_softmax": lambda x: torch.log_softmax(x, 1),
    "sum": lambda x: x.sum(1),
    "mean": lambda x: x.mean(1),
    "amax": lambda x: x.amax(1),
    "max": lambda x: x.max(1).values,
}
CHANNELS = {
    "sub_channels": lambda x, each: x - each,
    "mul_channels": lambda x, each: x * each,
    "mean_channels": lambda x, each: x.mean((0, 2, 3)),
    "var_channels": lambda x, each: x.var((0, 2, 3)),
}


def workloads(tools):
    """By name.  tools: the module that has formula, digest, forward_only and Settings."""
    formula, pick = tools.formula, tools.Settings.pick

    def gradients(inputs, f):
        for t in inputs:
            t.requires_grad_()
        y = f()
        g = formula(3, tuple(y.shape))
        if not y.is_contiguous():
            g = g.contiguous(memory_format=torch.channels_last)

        def step():
            for t in inputs:
                t.grad = None
            f().backward(g)

        step()
        return {"": step}, [v for t in inputs for v in tools.digest(t.grad)]

    def rows(n):
        return formula(1, (pick(1 << 18, 4096) // n, n), 4)

    def channels(layout):
        x = formula(1, (pick(64, 2), 16, 28, 28)).contiguous(memory_format=layout)
        return x, formula(2, (1, 16, 1, 1))

    def forward(f, make):
        inputs = make()
        return tools.forward_only(lambda: f(*inputs))

    def backward(f, make):
        inputs = make()
        return gradients(inputs, lambda: f(*inputs))

    def norm(count, n):
        inputs = formula(1, (pick(count, 4), n), 4), formula(2, (n,)), formula(4, (n,))
        return lambda x, weight, bias: torch.nn.functional.layer_norm(x, (n,), weight, bias), lambda: inputs

    def batch_norm(n, side):
        inputs = formula(1, (pick(16, 2), n, side, side), 4), formula(2, (n,)), formula(4, (n,))
        norm = lambda x, weight, bias: torch.nn.functional.batch_norm(x, None, None, weight, bias, True)
        return norm, lambda: inputs

    def attention(length):
        n = pick(length, length // 64)
        inputs = tuple(formula(i, (1, 8, n, 64)) for i in (1, 2, 4))
        return torch.nn.functional.scaled_dot_product_attention, lambda: inputs

    def words():
        table = formula(1, (pick(30000, 50), 256))
        index = torch.arange(4096).square() * 7919 % table.size(0)
        return lambda table: torch.nn.functional.embedding(index, table), lambda: (table,)

    def table():
        return formula(1, (pick(1024, 16), 128)), formula(2, (128,))

    def select():
        words, n = pick(50000, 50), pick(2048, 16)
        index = torch.arange(n).square() * 7919 % words
        return lambda x: x.index_select(0, index), lambda: (formula(1, (words, 128)),)

    known = {}
    for n in (10, 64, 256, 1024):
        for name, f in ROWS.items():
            known[f"{name}_{n}"] = lambda f=f, n=n: forward(f, lambda: (rows(n),))
            known[f"{name}_{n}_backward"] = lambda f=f, n=n: backward(f, lambda: (rows(n),))
    for order, layout in FORMATS.items():
        for name, f in CHANNELS.items():
            known[f"{name}_{order}"] = lambda f=f, layout=layout: forward(f, lambda: channels(layout))
        known[f"mul_channels_backward_{order}"] = lambda layout=layout: backward(
            CHANNELS["mul_channels"], lambda: channels(layout))
    for count, n in ((32, 128), (8192, 768)):
        known[f"layer_norm_{n}"] = lambda count=count, n=n: forward(*norm(count, n))
        known[f"layer_norm_{n}_backward"] = lambda count=count, n=n: backward(*norm(count, n))
    for n, side in ((64, 56), (512, 7)):
        known[f"batch_norm_{n}"] = lambda n=n, side=side: forward(*batch_norm(n, side))
        known[f"batch_norm_{n}_backward"] = lambda n=n, side=side: backward(*batch_norm(n, side))
    for length in (1024, 4096):
        known[f"attention_{length}"] = lambda length=length: forward(*attention(length))
        known[f"attention_{length}_backward"] = lambda length=length: backward(*attention(length))
    million = lambda: (formula(1, (pick(1 << 20, 1000),)),)
    known["sort_1M"] = lambda: forward(lambda x: x.sort().values, million)
    known["topk_1M"] = lambda: forward(lambda x: x.topk(100).values, million)
    known["embedding"] = lambda: forward(*words())
    known["embedding_backward"] = lambda: backward(*words())
    known["mul_row_128"] = lambda: forward(CHANNELS["mul_channels"], table)
    known["mul_row_128_backward"] = lambda: backward(CHANNELS["mul_channels"], table)
    known["index_select_backward"] = lambda: backward(*select())
    return known

"""The workloads of benchmarks/workloads on PyTorch, Python: a line of JSON for each (see harness/harness.h)."""

import argparse
import gzip
import json
import math
import os
import pathlib
import statistics
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def formula(seed, shape, scale=1.0):
    """Input numbers: a hash, uniform in [-1, 1) times scale; the same bits as harness/harness.cpp."""
    with np.errstate(over="ignore"):
        x = np.arange(math.prod(shape), dtype=np.uint32) + np.uint32(seed * 1000003 % 2**32)
        x *= np.uint32(2654435761)
        x ^= x >> np.uint32(15)
        x *= np.uint32(2246822519)
        x ^= x >> np.uint32(13)
    values = (x / 2147483648.0 - 1.0).astype(np.float32) * np.float32(scale)
    return torch.from_numpy(values.reshape(shape))


def digest(t):
    """Mean and mean magnitude of up to 997 elements spread over the tensor, and seven of them."""
    t, numel = t.detach(), t.numel()
    count = min(997, numel)
    places = np.unravel_index(np.arange(count) * numel // count, tuple(t.shape))
    values = t[tuple(torch.from_numpy(p) for p in places)].double()
    return [values.mean().item(), values.abs().mean().item(), *values[71::143].tolist()]


def forward_only(f):
    def step():
        with torch.no_grad():
            f()

    with torch.no_grad():
        return {"": step}, digest(f())


def small_add():
    """One call, without the context manager that forward_only enters each time."""
    a, b = formula(1, (1,)), formula(2, (1,))
    return {"": lambda: a + b}, digest(a + b)


def add_elements(n):
    a, b = formula(1, (n,)), formula(2, (n,))
    return forward_only(lambda: a + b)


def add_recorded():
    a, b = formula(1, (1,)).requires_grad_(), formula(2, (1,)).requires_grad_()
    return {"": lambda: a + b}, digest(a + b)


def exponential():
    x = formula(1, (1 << 20,), 4)
    return forward_only(lambda: torch.exp(x))


def rows_softmax():
    x = formula(1, (1024, 1024), 4)
    return forward_only(lambda: torch.softmax(x, 1))


def multiply_matrices(n):
    a, b = formula(1, (n, n)), formula(2, (n, n))
    return forward_only(lambda: a @ b)


FORMATS = {"NCHW": torch.contiguous_format, "NHWC": torch.channels_last}


def convolve(image, weight, scale, **options):
    variants, values = {}, []
    for name, layout in FORMATS.items():
        x = formula(1, image).contiguous(memory_format=layout)
        w = formula(2, weight, scale).contiguous(memory_format=layout)
        step, numbers = forward_only(lambda x=x, w=w: F.conv2d(x, w, **options))
        variants[name] = step[""]
        values = values or numbers
    return variants, values


def convolve_and_back(image, weight, scale):
    variants, values = {}, []
    for name, layout in FORMATS.items():
        x = formula(1, image).contiguous(memory_format=layout).requires_grad_()
        w = formula(2, weight, scale).contiguous(memory_format=layout).requires_grad_()
        y = F.conv2d(x, w)
        g = formula(3, tuple(y.shape)).contiguous(memory_format=layout)

        def step(x=x, w=w, g=g):
            x.grad = w.grad = None
            F.conv2d(x, w).backward(g)

        step()
        variants[name] = step
        values = values or digest(y) + digest(x.grad) + digest(w.grad)
    return variants, values


def fill_parameters(model):
    """Parameters by formula, uniform in +-1 / sqrt(inputs)."""
    scale = 1.0
    with torch.no_grad():
        for i, p in enumerate(model.parameters()):
            if p.dim() > 1:
                scale = 1 / math.sqrt(p[0].numel())
            p.copy_(formula(100 + i, tuple(p.shape), scale))


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25),
        nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10))


def training_step(make, optimizers, layouts=("NCHW",)):
    """Losses of three steps without dropout are checked; steps with dropout are timed."""
    labels = torch.arange(64) * 7 % 10
    variants, values = {}, []
    for layout in layouts:
        for kind, make_optimizer in optimizers.items():
            images = formula(1, (64, 1, 28, 28)).contiguous(memory_format=FORMATS[layout])
            model = make().to(memory_format=FORMATS[layout])
            fill_parameters(model)
            optimizer = make_optimizer(model.parameters())

            def step(model=model, images=images, optimizer=optimizer):
                loss = F.cross_entropy(model(images), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                return loss

            model.eval()
            losses = [step().item() for _ in range(3)]
            model.train()
            variants[f"{layout} {kind}".strip() if len(layouts) > 1 else kind] = step
            values = values or losses
    return variants, values


SGD = {
    "fused": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9, fused=True),
    "foreach": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9, foreach=True),
}
ADAM = {
    "fused": lambda p: torch.optim.Adam(p, lr=1e-3, fused=True),
    "foreach": lambda p: torch.optim.Adam(p, lr=1e-3, foreach=True),
}


def idx(folder, name):
    """An IDX file, packed or not, in either spelling, as uint8."""
    for place in (folder, folder / "mnist"):
        for spelling in (name, name.replace("-idx", ".idx")):
            if (place / spelling).exists():
                content = (place / spelling).read_bytes()
            elif (place / (spelling + ".gz")).exists():
                content = gzip.decompress((place / (spelling + ".gz")).read_bytes())
            else:
                continue
            rank = content[3]
            shape = np.frombuffer(content, ">i4", rank, 4)
            return np.frombuffer(content, np.uint8, offset=4 + 4 * rank).reshape(shape)
    raise FileNotFoundError(f"{name} is not in {folder}: set MINNOW_DATA or pass --data")


def epoch(data):
    """A whole epoch through a DataLoader.  The data set holds normalised floats: reading it costs as little as it can."""
    folder = pathlib.Path(data)
    images = torch.from_numpy(idx(folder, "train-images-idx3-ubyte").astype(np.float32)).unsqueeze(1)
    images = (images / 255 - 0.1307) / 0.3081
    labels = torch.from_numpy(idx(folder, "train-labels-idx1-ubyte").astype(np.int64))
    dataset = TensorDataset(images, labels)

    def train(loader):
        model = mlp()
        fill_parameters(model)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
        total = 0.0
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach()
        return float(total) / len(loader)

    mean = train(DataLoader(dataset, batch_size=64))
    variants = {}
    for workers in (0, 2):
        loader = DataLoader(dataset, batch_size=64, shuffle=True, num_workers=workers, persistent_workers=workers > 0)
        variants[f"{workers} workers"] = lambda loader=loader: train(loader)
    return variants, [mean, mean]


def workloads(data):
    conv_28 = ((64, 32, 28, 28), (64, 32, 3, 3), 0.1)
    return {
        "add_1": small_add,
        "add_1_recorded": add_recorded,
        "add_1M": lambda: add_elements(1 << 20),
        "add_16M": lambda: add_elements(1 << 24),
        "exp_1M": exponential,
        "softmax_1M": rows_softmax,
        "matmul_256": lambda: multiply_matrices(256),
        "matmul_1024": lambda: multiply_matrices(1024),
        "matmul_2048": lambda: multiply_matrices(2048),
        "conv_28_forward": lambda: convolve(*conv_28),
        "conv_28_forward_backward": lambda: convolve_and_back(*conv_28),
        "conv_224_3x3_forward": lambda: convolve((128, 3, 224, 224), (64, 3, 3, 3), 0.3, padding=1),
        "conv_224_7x7_forward": lambda: convolve((128, 3, 224, 224), (64, 3, 7, 7), 0.1, stride=2),
        "mlp_step_sgd": lambda: training_step(mlp, SGD),
        "mlp_step_adam": lambda: training_step(mlp, ADAM),
        "cnn_step_adam": lambda: training_step(cnn, {"fused": ADAM["fused"]}, FORMATS),
        "mlp_epoch": lambda: epoch(data),
    }


def time_of(step, count):
    start = time.perf_counter()
    for _ in range(count):
        step()
    return (time.perf_counter() - start) / count


def measure(step, repeat):
    """As in harness.cpp: the median of samples, each of so many steps that it takes 20 ms or more."""
    once = time_of(step, 1)
    if once < 0.02:
        once = time_of(step, min(max(int(0.005 / once), 1), 1000))
    count = max(1, math.ceil(0.02 / once))
    return statistics.median(time_of(step, count) for _ in range(repeat))


def report(name, prepare, repeat):
    try:
        variants, values = prepare()
        times = {variant: measure(step, repeat) for variant, step in variants.items()}
        best = min(times, key=times.get)
        line = {"name": name, "variant": best, "seconds": times[best], "values": values}
    except Exception as error:  # the runner shows it in the row
        line = {"name": name, "error": f"{type(error).__name__}: {error}"}
    print(json.dumps(line), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data", default=os.environ.get("MINNOW_DATA", ""))
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only")
    parser.add_argument("--serve", action="store_true", help="read lines 'NAME REPEAT' from standard input")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    known = workloads(arguments.data)
    if arguments.serve:
        for line in sys.stdin:
            name, repeat = line.split()
            report(name, known[name], int(repeat))
        return
    for name, prepare in known.items():
        if arguments.only in (None, name):
            report(name, prepare, arguments.repeat)


if __name__ == "__main__":
    main()

"""The workloads of benchmarks/workloads on PyTorch, Python: a line of JSON for each (see harness/harness.h)."""

import argparse
import gc
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

import accuracy
import derivatives
import files
import networks
import rows
import tables


class Settings:
    """Where and how large; `quick` as in harness.h."""

    device, quick = torch.device("cpu"), False

    @classmethod
    def pick(cls, full, quick):
        return quick if cls.quick else full


def synchronize():
    if Settings.device.type == "cuda":
        torch.cuda.synchronize()


def formula(seed, shape, scale=1.0):
    """Input numbers: a hash, uniform in [-1, 1) times scale; the same bits as harness/harness.cpp."""
    with np.errstate(over="ignore"):
        x = np.arange(math.prod(shape), dtype=np.uint32) + np.uint32(seed * 1000003 % 2**32)
        x *= np.uint32(2654435761)
        x ^= x >> np.uint32(15)
        x *= np.uint32(2246822519)
        x ^= x >> np.uint32(13)
    values = (x / 2147483648.0 - 1.0).astype(np.float32) * np.float32(scale)
    return torch.from_numpy(values.reshape(shape)).to(Settings.device)


def tiled(seed, copies, shape, scale=1.0):
    """`copies` times the same numbers, [copies * rows, ...]: quick to make, however large."""
    return formula(seed, shape, scale).expand(copies, *shape).reshape(copies * shape[0], *shape[1:]).contiguous()


def digest(t):
    """Mean and mean magnitude of up to 997 elements spread over the tensor, and seven of them."""
    t = t.detach() if t.dim() else t.detach().reshape(1)
    numel = t.numel()
    count = min(997, numel)
    places = np.unravel_index(np.arange(count) * numel // count, tuple(t.shape))
    values = t[tuple(torch.from_numpy(p).to(t.device) for p in places)].double()
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
    n = Settings.pick(n, n // 8)
    a, b = formula(1, (n, n)), formula(2, (n, n))
    return forward_only(lambda: a @ b)


FORMATS = {"NCHW": torch.contiguous_format, "NHWC": torch.channels_last}


def convolve(image, weight, scale, **options):
    variants, values = {}, []
    image = (Settings.pick(image[0], 1), *image[1:])
    for name, layout in FORMATS.items():
        x = formula(1, image).contiguous(memory_format=layout)
        w = formula(2, weight, scale).contiguous(memory_format=layout)
        step, numbers = forward_only(lambda x=x, w=w: F.conv2d(x, w, **options))
        variants[name] = step[""]
        values = values or numbers
    return variants, values


def convolve_and_back(image, weight, scale):
    variants, values = {}, []
    image = (Settings.pick(image[0], 1), *image[1:])
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


def digit_labels(n):
    return (torch.arange(n) * 7 % 10).to(Settings.device)


def training_step(make, optimizers, layouts=("NCHW",), compiled=False, amp=False):
    """Losses of three steps without dropout are checked; steps with dropout are timed.  `compiled`: also with torch.compile
    of the model and its loss, beside which the optimizer is one fused pass already.  `amp`: in bfloat16."""
    batch = Settings.pick(64, 4)
    labels = digit_labels(batch)
    variants, values = {}, []
    for layout in layouts:
        for kind, make_optimizer in optimizers.items():
            images = formula(1, (batch, 1, 28, 28)).contiguous(memory_format=FORMATS[layout])
            model = make().to(Settings.device, memory_format=FORMATS[layout])
            fill_parameters(model)
            optimizer = make_optimizer(model.parameters())

            def step(model=model, images=images, optimizer=optimizer):
                with torch.autocast(Settings.device.type, torch.bfloat16, enabled=amp):
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
            if compiled and kind == "fused":
                variants[f"{layout} compiled".strip()] = compiled_step(model, images, labels, optimizer)
    return variants, values


def compiled_step(model, images, labels, optimizer):
    loss_of = torch.compile(lambda x, y: F.cross_entropy(model(x), y))

    def step():
        loss = loss_of(images, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss

    step()
    return step


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
    """A whole epoch through a DataLoader.  The data set holds normalized floats: reading it costs as little as it can."""
    folder = pathlib.Path(data)
    images = torch.from_numpy(idx(folder, "train-images-idx3-ubyte").astype(np.float32)).unsqueeze(1)
    images = (images / 255 - 0.1307) / 0.3081
    labels = torch.from_numpy(idx(folder, "train-labels-idx1-ubyte").astype(np.int64))
    dataset = TensorDataset(images, labels)

    def train(loader):
        model = mlp().to(Settings.device)
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


def loader_alone(data):
    """The batches of an epoch, without steps."""
    folder = pathlib.Path(data)
    images = torch.from_numpy(idx(folder, "train-images-idx3-ubyte").astype(np.float32)).unsqueeze(1)
    labels = torch.from_numpy(idx(folder, "train-labels-idx1-ubyte").astype(np.int64))
    dataset = TensorDataset((images / 255 - 0.1307) / 0.3081, labels)

    def walk(loader):
        return sum(len(x) for x, _ in loader)

    variants = {}
    for workers in (0, 2):
        loader = DataLoader(dataset, batch_size=64, shuffle=True, num_workers=workers, persistent_workers=workers > 0)
        variants[f"{workers} workers"] = lambda loader=loader: walk(loader)
    return variants, [float(len(dataset))] * 2


def quarter_billion(seed):
    return tiled(seed, Settings.pick(256, 2), (1 << 20,))


def add_large():
    a, b = quarter_billion(1), quarter_billion(2)
    return forward_only(lambda: a + b)


def copy_large():
    source = quarter_billion(1)
    target = torch.empty_like(source)
    return forward_only(lambda: target.copy_(source))


def square_sum_large():
    a = quarter_billion(1)
    return forward_only(lambda: torch.sum(a * a))


def softmax_rows(rows, n, dtype):
    x = tiled(1, Settings.pick(rows, 8) // 8, (8, Settings.pick(n, n // 100)), 4).to(dtype)
    return forward_only(lambda: torch.softmax(x, 1))


def cross_entropy_rows(rows, n, dtype):
    rows, n = Settings.pick(rows, 8), Settings.pick(n, n // 100 + 1)
    target = (torch.arange(rows) * 7919 % n).to(Settings.device)
    logits = tiled(1, rows // 8, (8, n), 4).to(dtype).requires_grad_()

    def step():
        logits.grad = None
        F.cross_entropy(logits, target).backward()

    step()
    return {"": step}, digest(logits.grad * rows)


def pool_and_back():
    size = Settings.pick(112, 8)
    x = tiled(1, Settings.pick(64, 2), (1, Settings.pick(64, 4), size, size)).requires_grad_()
    g = F.max_pool2d(x, 2).detach().clone()

    def step():
        x.grad = None
        F.max_pool2d(x, 2).backward(g)

    step()
    return {"": step}, digest(x.grad)


def multiply_large(dtype):
    n, rows = Settings.pick(8192, 64), Settings.pick(1024, 16)
    a, b = (tiled(seed, n // rows, (rows, n)).to(dtype) for seed in (1, 2))
    return forward_only(lambda: a @ b)


def wide_convolution():
    channels, size = Settings.pick(256, 8), Settings.pick(56, 6)

    def image(seed):
        t = tiled(seed, Settings.pick(32, 2), (1, channels, size, size)).to(torch.bfloat16)
        return t.contiguous(memory_format=torch.channels_last)

    x, g = image(1).requires_grad_(), image(3)
    w = formula(2, (channels, channels, 3, 3), 0.03).to(torch.bfloat16)
    w = w.contiguous(memory_format=torch.channels_last).requires_grad_()

    def step():
        x.grad = w.grad = None
        F.conv2d(x, w, padding=1).backward(g)

    step()
    return {"NHWC": step}, digest(F.conv2d(x, w, padding=1)) + digest(x.grad) + digest(w.grad)


class Training:
    """The CNN under training, and data of MNIST's size on the device."""

    def __init__(self, captured=False):
        self.batch, count = Settings.pick(64, 4), Settings.pick(60000, 20)
        self.images, self.labels = formula(1, (count, 1, 28, 28)), digit_labels(count)
        self.model = cnn().to(Settings.device)
        fill_parameters(self.model)
        self.adam = torch.optim.Adam(self.model.parameters(), lr=1e-3, fused=True, capturable=captured)

    def step(self, x, y, set_to_none=True):
        loss = F.cross_entropy(self.model(x), y)
        self.adam.zero_grad(set_to_none)
        loss.backward()
        self.adam.step()
        return loss.detach()

    def epoch(self, run):
        """Batches in a random order, picked on the device."""
        order = torch.randperm(len(self.images), device=Settings.device)
        total = torch.zeros((), device=Settings.device)
        for at in range(0, len(order) - self.batch + 1, self.batch):
            chosen = order[at:at + self.batch]
            total += run(self.images[chosen], self.labels[chosen])
        return total.item()


def checked_losses():
    training = Training()
    training.model.eval()
    x, y = training.images[:training.batch], training.labels[:training.batch]
    return [training.step(x, y).item() for _ in range(3)]


def cnn_epoch():
    training = Training()
    pinned = Settings.device.type == "cuda"
    loader = DataLoader(TensorDataset(training.images.cpu(), training.labels.cpu()), batch_size=training.batch,
                        shuffle=True, drop_last=True, pin_memory=pinned, num_workers=Settings.pick(2, 0),
                        persistent_workers=not Settings.quick)

    def loaded():
        total = torch.zeros((), device=Settings.device)
        for x, y in loader:
            total += training.step(x.to(Settings.device, non_blocking=True), y.to(Settings.device, non_blocking=True))
        return total.item()

    return {"on device": lambda: training.epoch(training.step), "loader": loaded}, checked_losses()


def cnn_epoch_captured():
    """A CUDA graph of the step; elsewhere the step itself."""
    if Settings.device.type != "cuda":
        training = Training()
        return {"": lambda: training.epoch(training.step)}, checked_losses()
    training = Training(captured=True)
    x, y = training.images[:training.batch].clone(), training.labels[:training.batch].clone()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            training.step(x, y)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    training.adam.zero_grad()
    with torch.cuda.graph(graph):
        loss = training.step(x, y)

    def replay(images, labels):
        x.copy_(images)
        y.copy_(labels)
        graph.replay()
        return loss

    return {"": lambda: training.epoch(replay)}, checked_losses()


def workloads(data, folder):
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
        "mlp_step_adam_captured": lambda: training_step(mlp, ADAM, compiled=not Settings.quick),
        "cnn_step_adam_captured": lambda: training_step(cnn, {"fused": ADAM["fused"]}, FORMATS, not Settings.quick),
        "cnn_step_adam": lambda: training_step(cnn, {"fused": ADAM["fused"]}, FORMATS),
        "cnn_step_bf16": lambda: training_step(cnn, {"fused": ADAM["fused"]}, FORMATS, amp=True),
        "mlp_epoch": lambda: epoch(data),
        "mnist_loader": lambda: loader_alone(data),
        "add_256M": add_large,
        "copy_256M": copy_large,
        "square_sum_256M": square_sum_large,
        "softmax_16384x1024": lambda: softmax_rows(16384, 1024, torch.float32),
        "softmax_4096x32000_bf16": lambda: softmax_rows(4096, 32000, torch.bfloat16),
        "cross_entropy_8192x1000": lambda: cross_entropy_rows(8192, 1000, torch.float32),
        "cross_entropy_4096x32000_bf16": lambda: cross_entropy_rows(4096, 32000, torch.bfloat16),
        "max_pool_64x64x112x112": pool_and_back,
        "matmul_8192_bf16": lambda: multiply_large(torch.bfloat16),
        "matmul_8192": lambda: multiply_large(torch.float32),
        "conv_256x56x56_bf16": wide_convolution,
        "cnn_epoch": cnn_epoch,
        "cnn_epoch_captured": cnn_epoch_captured,
        **rows.workloads(sys.modules[__name__]),
        **networks.workloads(sys.modules[__name__]),
        **derivatives.workloads(sys.modules[__name__]),
        **tables.workloads(sys.modules[__name__]),
        **files.workloads(sys.modules[__name__], folder),
    }


clock = time.perf_counter


def time_of(step, count):
    synchronize()
    start = clock()
    for _ in range(count):
        step()
    synchronize()
    return (clock() - start) / count


def measure(step, repeat):
    """As in harness.cpp: the median of samples, each of so many steps that it takes 20 ms or more."""
    once = time_of(step, 1)
    if Settings.quick:
        return once
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
        peak = next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))
        line = {"name": name, "variant": best, "seconds": times[best], "peak": peak, "values": values}
    except Exception as error:  # the runner shows it in the row
        line = {"name": name, "error": f"{type(error).__name__}: {error}"}
    print(json.dumps(line), flush=True)
    if Settings.device.type == "cuda":
        variants = None
        gc.collect()
        torch.cuda.empty_cache()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--data", default=os.environ.get("MINNOW_DATA", ""))
    parser.add_argument("--files", default="", help="folder of make_files.py")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--quick", action="store_true", help="small sizes and one sample")
    parser.add_argument("--serve", action="store_true", help="read lines 'NAME REPEAT' from standard input")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    Settings.device, Settings.quick = torch.device(arguments.device), arguments.quick
    torch.backends.cudnn.benchmark = True
    known = workloads(arguments.data, arguments.files)
    if arguments.serve:
        for line in sys.stdin:
            name, repeat = line.split()
            if name == "cnn_to_99":
                print(json.dumps({"name": name, **accuracy.run(sys.modules[__name__], arguments.data, int(repeat))}), flush=True)
                continue
            report(name, known[name], int(repeat))
        return
    for name, prepare in known.items():
        if arguments.only in (None, name):
            report(name, prepare, arguments.repeat)


if __name__ == "__main__":
    main()

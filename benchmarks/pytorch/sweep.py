"""Times functions of PyTorch for benchmarks/sweep.py: answers as benchmarks/sweep/sweep.cpp does."""

import json
import math
import pathlib
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "sweep"))
import layers  # noqa: E402, F401
import operations  # noqa: E402, F401
import operations_of_parts  # noqa: E402, F401
import table  # noqa: E402


def hashes(seed, count):
    """As bench::number of benchmarks/harness."""
    with np.errstate(over="ignore"):
        x = np.arange(count, dtype=np.uint32) + np.uint32(seed * 1000003 % 2**32)
        x *= np.uint32(2654435761)
        x ^= x >> np.uint32(15)
        x *= np.uint32(2246822519)
        x ^= x >> np.uint32(13)
    return (x / 2147483648.0 - 1.0).astype(np.float32)


KINDS = {
    "pos": lambda u, whole, p, i, last: 1 + np.trunc(10 * np.abs(u)) if whole else 1.1 + u,
    "nonzero": lambda u, whole, p, i, last: 1 + np.trunc(10 * np.abs(u)) if whole else u + np.where(u < 0, -0.5, 0.5),
    "unit": lambda u, whole, p, i, last: 0.95 * u,
    "prob": lambda u, whole, p, i, last: 0.5 + 0.45 * u,
    "above1": lambda u, whole, p, i, last: 2.1 + u,
    "logp": lambda u, whole, p, i, last: -2.1 + 2 * u,
    "small": lambda u, whole, p, i, last: 0.1 * u,
    "near1": lambda u, whole, p, i, last: 1 + 0.01 * u,
    "index": lambda u, whole, p, i, last: np.minimum(np.floor((u + 1) / 2 * p), p - 1),
    "mask": lambda u, whole, p, i, last: u > 0,
    "sign": lambda u, whole, p, i, last: np.where(u > 0, 1, -1),
    "sorted": lambda u, whole, p, i, last: 2 * (i % last) if whole else (i % last + 0.5) / last * 4 - 2,
    "perm": lambda u, whole, p, i, last: i * 7919 % last,
    "const": lambda u, whole, p, i, last: np.full(u.shape, p),
}


def values(kind, parameter, shape, dtype, u):
    """Elements from their hashes u, by the formulas of sweep.cpp."""
    if kind in ("spd", "well"):
        n = shape[-1]
        u = u.reshape(-1, n, n)
        u = (u + u.transpose(0, 2, 1)) / 2 if kind == "spd" else u
        return u / math.sqrt(n) + 2 * np.eye(n)
    if kind == "place":
        return np.arange(u.size) % math.prod(shape[2:]) * parameter
    if kind == "any":
        if dtype == "bool":
            return u > 0
        whole = np.trunc(200 * np.abs(u)) if dtype == "uint8" else np.trunc(100 * u)
        return 2 * u if dtype in table.FLOATS else whole
    return KINDS[kind](u, dtype not in table.FLOATS, parameter, np.arange(u.size), shape[-1] if shape else 1)


def laid_out(x, layout):
    if layout == "t":
        return x.transpose(-1, -2).contiguous().transpose(-1, -2)
    if layout == "n":
        return x.movedim(1, -1).contiguous().movedim(-1, 1)
    if layout == "s":
        return torch.stack([x, x], -1).select(-1, 0)
    if layout == "b":
        return x[:1].clone().expand(x.shape)
    return x


def tensor(kind, parameter, shape, layout, dtype, seed):
    shape = table.sizes(shape)
    made = values(kind, float(parameter), shape, dtype, hashes(seed, math.prod(shape)).astype(np.float64))
    return laid_out(torch.from_numpy(made.astype(np.float32).reshape(shape)).to(getattr(torch, dtype)), layout)


def flat(result):
    """All tensors of a result."""
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, (list, tuple)):
        return [t for part in result for t in flat(part)]
    return [] if result is None else [torch.tensor(result)]


class State:
    """What `prepare` has left for `run`."""

    def __init__(self, words):
        self.name, direction, dtype, count = words[:4]
        self.backward, at = direction == "backward", 4 + int(count)
        numbers = [int(n) for n in words[4:at]]
        f = table.FUNCTIONS[self.name]
        inputs, self.leaves, self.grad_outputs, layer = [], [], None, None
        for seed in range(int(words[at])):
            *spec, grad = words[at + 1 + 6 * seed:at + 7 + 6 * seed]
            inputs.append(tensor(*spec, seed + 1))
            if int(grad):
                self.leaves.append(inputs[-1].detach().requires_grad_())
                inputs[-1] = self.leaves[-1]
        names = {**globals(), "n": numbers, "dtype": getattr(torch, dtype)}
        if f.layer:
            layer = eval(f.torch_layer, names).to(names["dtype"])  # noqa: S307: our own table
            for seed, (_, value) in enumerate(sorted(layer.named_parameters())):
                value.data.copy_(torch.from_numpy(0.1 * hashes(500 + seed, value.numel())).reshape(value.shape))
                self.leaves += [value] if self.backward else []
        arguments = ", ".join(name for name, _ in f.inputs)
        names["layer"] = layer
        function = eval(f"lambda {arguments}: {f.torch}", names)  # noqa: S307: our own table
        self.call = lambda: function(*inputs)

    def step(self):
        if not self.backward:
            return self.call()
        outputs = flat(self.call())
        differentiable = [t for t in outputs if t.requires_grad]
        if self.grad_outputs is None:
            self.grad_outputs = [torch.from_numpy(hashes(900 + i, t.numel())).reshape(t.shape).to(t.dtype)
                                 for i, t in enumerate(differentiable)]
        return outputs, torch.autograd.grad(differentiable, self.leaves, self.grad_outputs, allow_unused=True)


def digest(result):
    found = []
    for t in flat(result):
        if t.numel():
            count = min(997, t.numel())
            sample = t.detach().to(torch.float64).reshape(-1)[torch.arange(count) * t.numel() // count]
            found += [sample.mean().item(), sample.abs().mean().item()]
    return found


def answer(words, states):
    if words[0] == "prepare":
        states[:] = [State(words[1:])]
        start = time.perf_counter()
        with torch.set_grad_enabled(states[0].backward):
            result = states[0].step()
        return {"seconds": time.perf_counter() - start, "values": digest(result)}
    count, threads, state = int(words[1]), int(words[2]), states[0]
    if torch.get_num_threads() != threads:
        torch.set_num_threads(threads)
    step = state.step
    with torch.set_grad_enabled(state.backward):
        for _ in range(count // 4):  # this process was stopped: its threads and caches have gone cold
            step()
        cpu, wall = time.process_time(), time.perf_counter()
        for _ in range(count):
            step()
        return {"wall": (time.perf_counter() - wall) / count, "cpu": (time.process_time() - cpu) / count}


def main():
    states = []
    torch.set_num_threads(1)
    for line in sys.stdin:
        try:
            text = json.dumps(answer(line.split(), states))
        except Exception as error:  # noqa: BLE001: the row says what it was
            text = json.dumps({"error": f"{type(error).__name__}: {error}"})
        print(text, flush=True)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes samples/layers.txt: the samples of PyTorch's own layers (its module_db) that minnow has, in the form that make_samples.py
describes.  Of a line the first arguments are those of forward(), `f.NAME` those that it has by name; `c0`, `c1` and NAME are the
constructor's, `p.NAME` the parameters and buffers, `train` the mode.  Run by hand, with PyTorch 2.15 and expecttest."""
import sys
import warnings

import torch
from make_samples import HERE, LETTERS, Case, Skip, results
from torch.func import functional_call
from torch.testing._internal.common_modules import module_db

# Losses are functions here (samples/loss.txt); lazy layers do not exist.
LEFT_OUT = ("Loss", "Lazy")
COUNTS = {torch.float64: 20, torch.float32: 4, torch.bfloat16: 2, torch.float16: 2}


def line(name, cls, dtype, sample, train):
    case = Case(name, True)
    arguments = [case.value(v) for v in sample.forward_input.args]
    named = {k: case.value(v) for k, v in sample.forward_input.kwargs.items()}
    built = {f"c{i}": case.value(v) for i, v in enumerate(sample.constructor_input.args)}
    given = {k: case.value(v) for k, v in sample.constructor_input.kwargs.items() if k not in ("device", "dtype")}
    text = [name, LETTERS[dtype], *(a[0] for a in arguments), *(f"f.{k}={v[0]}" for k, v in named.items())]
    text += [f"train={train}", *(f"{k}={v[0]}" for k, v in (built | given).items())]
    torch.manual_seed(2)
    layer = cls(*(v[1] for v in built.values()), **{k: v[1] for k, v in given.items()}).train(train).to(dtype)
    weights = {}
    for k, v in [*layer.named_parameters(), *layer.named_buffers()]:
        if k.startswith("_"):  # an argument, kept
            continue
        if v.numel() > 1 and (v == v.flatten()[0]).all() and v.requires_grad:  # ones of a norm, zeros of a bias
            v = (v.detach() + torch.linspace(-0.5, 0.5, v.numel(), dtype=dtype).reshape(v.shape)).requires_grad_()
        part, weights[k] = case.tensor(v)
        text.append(f"p.{k}={part}")
    torch.manual_seed(0)
    y = functional_call(layer, weights, tuple(a[1] for a in arguments), {k: v[1] for k, v in named.items()})
    if name == "nn.MultiheadAttention":  # without the weights
        y = y[0]
    flat = []
    for part in y if isinstance(y, tuple) else [y]:
        flat += part if isinstance(part, tuple) else [part]
    return " ".join(text) + " -> " + results(case, [t for t in flat if t is not None])


def cases(name, module):
    for dtype, count in COUNTS.items():
        if dtype not in module.dtypes and dtype.itemsize > 2:
            continue
        lines = []
        for train in (True, False):
            torch.manual_seed(1)
            inputs = module.module_inputs_func(module, device="cpu", dtype=dtype, requires_grad=True, training=train)
            for sample in inputs:
                try:
                    text = line(name, module.module_cls, dtype, sample, train)
                    if text not in lines and text.replace("train=False", "train=True") not in lines:
                        lines.append(text)
                except Skip:
                    pass
                except Exception as error:  # a dtype that the layer does not take
                    print(f"{name} {dtype}: {str(error)[:100]}")
        step = max(1.0, len(lines) / count)
        yield from (lines[int(i * step)] for i in range(min(count, len(lines))))


def main():
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    lines = []
    for module in module_db:
        name = module.name.replace("nn.modules.", "nn.")
        if not any(part in name for part in LEFT_OUT):
            lines += cases(name, module)
    text = "\n".join(lines) + "\n"
    (HERE / "layers.txt").write_text(text)
    print(f"layers: {len(lines)} cases, {len(text)} bytes")


if __name__ == "__main__":
    sys.exit(main())

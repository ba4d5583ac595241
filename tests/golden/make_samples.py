#!/usr/bin/env python3
"""Writes samples/FAMILY.txt: PyTorch's own sample inputs for each operation that minnow has (its op_db), with what PyTorch
computes of them.  Run by hand, with PyTorch 2.15 and expecttest; make_samples.py FAMILY... writes those alone.

A line is a case: `name dtype arguments -> results`.  A tensor is a dtype's letter, a shape and where its values come from:
`d[2,3]-9:9` are float64 of the formula in values() between -9 and 9, `l[3]=0,2,1` are written out (floating-point ones times
64); * in front: a gradient is compared, ~: the formula gives no zero.  Other arguments are Python's, without spaces.
A result is dtype, shape and three sums of its values; `^` and three sums is the gradient of a tensor with *.  `!`: refused."""
import math
import pathlib
import sys
import warnings

import torch
from sample_families import FAMILIES, STORED, WITHOUT_FORM, WRAPPED
from torch.testing._internal.common_methods_invocations import op_db

HERE = pathlib.Path(__file__).parent / "samples"
LETTERS = {torch.float64: "d", torch.float32: "f", torch.bfloat16: "h", torch.float16: "e", torch.int64: "l", torch.int32: "i",
           torch.int16: "s", torch.int8: "c", torch.uint8: "u", torch.bool: "b"}
# How many cases an operation has of a dtype.
COUNTS = {torch.float64: 24, torch.float32: 8, torch.bfloat16: 5, torch.float16: 5, torch.int64: 8, torch.int32: 5,
          torch.uint8: 5, torch.bool: 5}
DIGITS = {torch.float64: 11, torch.float32: 8, torch.bfloat16: 5, torch.float16: 5}
MAX_NUMEL = 1500


class Skip(Exception):
    pass


def mixed(count, seed):
    """16 random bits for each element; samples.cpp has the same."""
    h = (torch.arange(count, dtype=torch.int64) * 2654435761 + seed * 40503 + 12345) & 0xFFFFFFFF
    h = ((h ^ (h >> 15)) * 2246822519) & 0xFFFFFFFF
    h = ((h ^ (h >> 13)) * 3266489917) & 0xFFFFFFFF
    return h >> 16


def values(shape, dtype, low, high, seed, nonzero):
    bits = mixed(math.prod(shape), seed)
    if dtype.is_floating_point:
        x = low + (high - low) * (bits.double() / 65536)
        x = x if dtype == torch.float64 else x.float()
    else:
        x = int(low) + bits % (int(high) - int(low) + 1)
    if nonzero:
        x = torch.where(x == 0, torch.ones_like(x), x)
    return x.to(dtype).reshape(shape)


def number(x):
    text = repr(x)
    return text[:-2] if text.endswith(".0") else text


def shape_text(shape):
    return "[" + ",".join(map(str, shape)) + "]"


class Case:
    """One sample: its arguments as text, and as tensors with the values of the formula."""

    def __init__(self, name, grad):
        self.name, self.stored, self.grad, self.leaves, self.seed = name, name in STORED, grad, [], 0

    def tensor(self, t):
        if t.dtype not in LETTERS or t.layout != torch.strided or t.numel() > MAX_NUMEL:
            raise Skip
        shape, dtype, floating = tuple(t.shape), t.dtype, t.dtype.is_floating_point
        text = LETTERS[dtype] + shape_text(shape)
        if t.numel() and (self.stored or not floating and dtype != torch.bool and t.numel() <= 8):
            if not t.isfinite().all():
                raise Skip
            if not floating and t.long().abs().max() > 2**50:  # sums are computed in float64
                raise Skip
            whole = (t.detach().double() * 64).round().long() if floating else t.long()
            text += "=" + ",".join(map(str, whole.flatten().tolist()))
            new = (whole.double() / 64).to(dtype) if floating else whole.to(dtype)
        elif t.numel():
            finite = t.detach()[t.detach().isfinite()].double()
            if not finite.numel():
                raise Skip
            low, high = finite.min().item(), finite.max().item()
            if floating:
                scale = 4 if high - low > 1 else 64
                low, high = math.ceil(low * scale) / scale, math.floor(high * scale) / scale
                high = max(low, high)
            nonzero = low < 0 < high and not (finite == 0).any().item()
            text += f"{number(low)}:{number(high)}"
            text = ("~" if nonzero else "") + text
            new = values(shape, dtype, low, high, self.seed, nonzero)
        else:
            new = torch.empty(shape, dtype=dtype)
        self.seed += 1
        if self.grad and floating and t.requires_grad:
            text = "*" + text
            new.requires_grad_()
            self.leaves.append(new)
        return text, new

    def value(self, v):
        if isinstance(v, torch.Tensor):
            return self.tensor(v)
        if isinstance(v, list) and self.name == "__getitem__":
            raise Skip  # [0, 1] selects rows, (0, 1) an element
        if isinstance(v, (list, tuple)):
            parts = [self.value(x) for x in v]
            new = [p[1] for p in parts]
            return "(" + ",".join(p[0] for p in parts) + ")", tuple(new) if type(v) is tuple else new
        if v is Ellipsis:
            return "'...'", v
        if isinstance(v, torch.dtype):
            if v not in LETTERS:
                raise Skip
            return ":" + LETTERS[v], v
        if v is None or isinstance(v, (bool, int, float)):
            return repr(v), v
        if isinstance(v, str) and all(c.isalnum() or c in "_.,->" for c in v):
            return repr(v), v
        raise Skip


def sums(t):
    y = t.detach().double().flatten()
    y = torch.where(y.isnan(), 3.25, torch.where(y == math.inf, 1e3, torch.where(y == -math.inf, -1e3, y)))
    i = torch.arange(y.numel())
    w1 = ((i * 7919 + 13) % 1009).double() / 504.5 - 1
    w2 = ((i * 104729 + 71) % 997).double() / 498.5 - 1
    digits = DIGITS.get(t.dtype, 15)
    return " ".join(f"{x:.{digits}g}" for x in (y.abs().sum().item(), (y * w1).sum().item(), (y * w2).sum().item()))


def weights(t):
    i = torch.arange(t.numel())
    return (((i * 7919 + 13) % 1009).double() / 504.5 - 1).float().to(t.dtype).reshape(t.shape)


def results(case, outputs):
    if isinstance(outputs, torch.Tensor) or isinstance(outputs, (bool, int, float)):
        outputs = [outputs]
    outputs = [torch.tensor(y) if isinstance(y, (bool, int, float)) else y for y in outputs]
    if not all(isinstance(y, torch.Tensor) for y in outputs) or not outputs:
        raise Skip
    outputs = [torch.view_as_real(y.resolve_conj()) if y.is_complex() else y for y in outputs]
    if any(y.dtype not in LETTERS or y.numel() > 4 * MAX_NUMEL for y in outputs):
        raise Skip
    text = " ".join(f"{LETTERS[y.dtype]}{shape_text(y.shape)} {sums(y)}" for y in outputs)
    recorded = [y for y in outputs if y.requires_grad]
    if case.leaves and recorded:
        grads = torch.autograd.grad(recorded, case.leaves, [weights(y) for y in recorded], allow_unused=True)
        for leaf, g in zip(case.leaves, grads):
            text += " ^ " + sums(torch.zeros_like(leaf) if g is None else g)
    return text


def line(name, op, dtype, sample, grad, refused=False):
    case = Case(name, grad)
    parts = [case.value(v) for v in (sample.input, *sample.args)]
    named = {k: case.value(v) for k, v in sample.kwargs.items() if k not in ("device", "layout")}
    head = " ".join([name, LETTERS[dtype], *(p[0] for p in parts), *(f"{k}={v[0]}" for k, v in named.items())])
    if WITHOUT_FORM.search(head):
        raise Skip
    arguments, keywords = [p[1] for p in parts], {k: v[1] for k, v in named.items()}
    function = WRAPPED.get(name, op)
    if refused:
        try:
            function(*arguments, **keywords)
        except Exception:
            return head + " -> !"
        raise Skip
    torch.manual_seed(0)
    return head + " -> " + results(case, function(*arguments, **keywords))


def cases(name, op):
    for dtype, count in COUNTS.items():
        if dtype not in op.dtypes:
            continue
        grad = dtype.is_floating_point and op.supports_autograd
        torch.manual_seed(1)
        samples = list(op.sample_inputs("cpu", dtype, requires_grad=grad))
        lines = []
        for sample in samples:
            try:
                text = line(name, op, dtype, sample, grad)
                if text not in lines:
                    lines.append(text)
            except Skip:
                pass
            except Exception as error:  # what the formula's values are not fit for
                print(f"{name} {dtype}: {str(error)[:100]}")
        step = max(1.0, len(lines) / count)
        yield from (lines[int(i * step)] for i in range(min(count, len(lines))))
    if op.error_inputs_func:
        torch.manual_seed(1)
        for error in op.error_inputs("cpu"):
            try:
                dtype = getattr(error.sample_input.input, "dtype", None)
                if dtype in LETTERS:
                    yield line(name, op, dtype, error.sample_input, False, refused=True)
            except Skip:
                pass


def main(wanted):
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    known = {}
    for op in op_db:
        known.setdefault(op.name + ("/" + op.variant_test_name if op.variant_test_name else ""), op)
    HERE.mkdir(exist_ok=True)
    for family, names in FAMILIES.items():
        if wanted and family not in wanted:
            continue
        lines = []
        for name in names.split():
            lines += cases(name, known[name])
        text = "\n".join(lines) + "\n"
        (HERE / f"{family}.txt").write_text(text)
        print(f"{family}: {len(lines)} cases, {len(text)} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])

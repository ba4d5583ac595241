"""torchvision's networks: written as text for traced_networks.cpp (--trace FOLDER), or timed as workloads.py does."""

import argparse
import math
import pathlib
import sys
import time

import torch
import torch.nn.functional as F
import torchvision
from torch import fx, nn
from torchvision.models import shufflenetv2
from torchvision.ops import StochasticDepth

import workloads

NAMES = ("resnet18 resnet50 resnext50_32x4d wide_resnet50_2 densenet121 googlenet squeezenet1_0 mobilenet_v2 "
         "mobilenet_v3_small efficientnet_b0 regnet_y_400mf regnet_x_1_6gf convnext_tiny vgg16 shufflenet_v2_x1_0 "
         "mnasnet1_0 alexnet inception_v3").split()


def side_of(name):
    return 299 if name == "inception_v3" else 224


def make(name):
    """Without auxiliary outputs, and without stochastic depth, whose random numbers differ."""
    options = {"aux_logits": False, "init_weights": False} if name in ("googlenet", "inception_v3") else {}
    model = getattr(torchvision.models, name)(**options)
    for module in model.modules():
        if isinstance(module, StochasticDepth):
            module.p = 0.0
    return model


@torch.no_grad()
def fill(model):
    """As Network::fill."""
    for i, (name, p) in enumerate(sorted(model.named_parameters())):
        wide = p.dim() > 1
        values = workloads.formula(100 + i, tuple(p.shape), math.sqrt(6 / p[0].numel()) if wide else 0.1)
        p.copy_(values + 1 if not wide and name.endswith("weight") else values)
    return model


def pair(size):
    return list(size) if isinstance(size, (tuple, list)) else [size, size]


class Writer:
    """The lines of one network."""

    ACTIVATIONS = {nn.ReLU: "relu", nn.ReLU6: "relu6", nn.SiLU: "silu", nn.GELU: "gelu", nn.Sigmoid: "sigmoid",
                   nn.Hardswish: "hardswish", nn.Hardsigmoid: "hardsigmoid"}

    def __init__(self, name):
        self.model = make(name).eval()
        self.lines = [f"# {side_of(name)} is the height and width of torchvision's {name}"]
        for kind, tensors in (("parameter", self.model.named_parameters()), ("buffer", self.model.named_buffers())):
            self.lines += [f"{kind} {key} {' '.join(map(str, t.shape))}" for key, t in tensors if t.dim()]
        self.same = {}  # of a node that does nothing, the name of its input
        whole = (shufflenetv2.channel_shuffle, torchvision.ops.stochastic_depth)
        for node in fx.Tracer(autowrap_functions=whole).trace(self.model).nodes:
            self.visit(node)

    def name(self, node):
        return "-" if node is None else self.same.get(node.name, node.name)

    def write(self, node, function, operands, numbers=()):
        names = [o if isinstance(o, str) else self.name(o) for o in operands]
        self.lines.append(f"{node.name} {function} {' '.join(names)} | {' '.join(map(str, numbers))}".rstrip(" |"))

    def visit(self, node):
        if node.op == "placeholder":
            self.same[node.name] = "x"
        elif node.op == "get_attr":
            self.same[node.name] = node.target
        elif node.op == "call_module":
            self.module(node, self.model.get_submodule(node.target))
        elif node.op != "output":
            self.function(node, node.target if isinstance(node.target, str) else node.target.__name__)

    def module(self, node, m):
        x, key, kind = node.args[0], node.target, type(m)
        own = [f"{key}.{n}" if getattr(m, n, None) is not None else "-" for n in ("weight", "bias")]
        if kind in self.ACTIVATIONS:
            self.activation(node, self.ACTIVATIONS[kind], getattr(m, "inplace", False))
        elif kind is nn.Conv2d:
            self.write(node, "conv2d", [x, *own], [*m.stride, *m.padding, *m.dilation, m.groups])
        elif kind is nn.BatchNorm2d:
            self.write(node, "batch_norm", [x, f"{key}.running_mean", f"{key}.running_var", *own], [m.momentum, m.eps])
        elif kind is nn.Linear:
            self.write(node, "linear", [x, *own])
        elif kind is nn.LayerNorm:
            self.write(node, "layer_norm", [x, *own], [m.eps])
        elif kind is nn.Dropout:
            self.write(node, "dropout", [x], [m.p])
        elif kind is nn.MaxPool2d:
            self.max_pool(node, m.kernel_size, m.stride, m.padding, m.dilation, m.ceil_mode)
        elif kind is nn.AvgPool2d:
            self.write(node, "avg_pool2d", [x], [*pair(m.kernel_size), *pair(m.stride), *pair(m.padding)])
        elif kind is nn.AdaptiveAvgPool2d:
            self.write(node, "adaptive_avg_pool2d", [x], pair(m.output_size))
        elif kind is nn.Flatten:
            self.write(node, "flatten", [x], [m.start_dim])
        else:
            raise NotImplementedError(kind)

    def activation(self, node, name, inplace):
        self.write(node, "relu_" if inplace and name == "relu" else name, [node.args[0]])

    def max_pool(self, node, kernel, stride, padding, dilation, ceil_mode):
        self.write(node, "max_pool2d", [node.args[0]],
                   [*pair(kernel), *pair(stride), *pair(padding), *pair(dilation), int(ceil_mode)])

    def function(self, node, name):
        x, rest, options = node.args[0], node.args[1:], node.kwargs
        if name in ("add", "mul"):
            self.write(node, name, [x, rest[0]])
        elif name == "relu":
            self.activation(node, name, options.get("inplace", False))
        elif name in ("stochastic_depth", "contiguous"):
            self.same[node.name] = self.name(x)
        elif name == "getitem":  # of chunk
            self.write(node, "chunk", [x.args[0]], [x.args[1], x.kwargs["dim"], rest[0]])
        elif name == "chunk":
            pass
        elif name == "cat":
            self.write(node, name, x, [rest[0] if rest else options["dim"]])
        elif name == "layer_norm":
            self.write(node, name, [x, options["weight"], options["bias"]], [options["eps"]])
        elif name == "channel_shuffle":
            self.write(node, name, [x], rest)
        elif name == "flatten":
            self.write(node, name, [x], [rest[0] if rest else options["start_dim"]])
        elif name in ("permute", "mean"):
            self.write(node, name, [x], rest[0] if isinstance(rest[0], (list, tuple)) else rest)
        elif name == "adaptive_avg_pool2d":
            self.write(node, name, [x], pair(rest[0]))
        elif name == "avg_pool2d":
            sizes = (options["kernel_size"], options["stride"], options["padding"])
            self.write(node, name, [x], [n for size in sizes for n in pair(size)])
        elif name == "max_pool2d":
            self.max_pool(node, rest[0], *(options[o] for o in ("stride", "padding", "dilation", "ceil_mode")))
        else:
            raise NotImplementedError(name)


def prepare(row, layout):
    """NAME-BATCH-forward or -step, and -bf16."""
    name, batch, what, *amp = row.split("-")
    batch, side = int(batch), side_of(name)
    model = fill(make(name)).to(memory_format=layout)
    x = workloads.formula(1, (batch, 3, side, side)).contiguous(memory_format=layout)

    def run():
        with torch.autocast("cpu", torch.bfloat16, enabled=bool(amp)):
            return model(x)

    if what == "forward":
        model.eval()
        step, values = workloads.forward_only(run)
        return step, values
    labels = torch.arange(batch) * 7 % 10

    def step():
        model.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=bool(amp)):
            loss = F.cross_entropy(model(x), labels)
        loss.backward()
        return loss.item()

    model.train()
    rates = [(m, m.p) for m in model.modules() if isinstance(m, nn.Dropout)]
    for module, _ in rates:
        module.p = 0.0
    values = [step()]
    for module, rate in rates:
        module.p = rate
    parameters = [p for _, p in sorted(model.named_parameters())]
    for p in (parameters[0], parameters[-1]):
        values += [p.grad.abs().mean().item(), p.grad.square().mean().sqrt().item()]
    return {"": step}, values


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trace", type=pathlib.Path)
    parser.add_argument("--names", nargs="*", default=NAMES)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--cpu-time", action="store_true")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--serve", action="store_true", help="read lines 'ROW REPEAT' from standard input")
    arguments = parser.parse_args()
    if arguments.trace:
        arguments.trace.mkdir(parents=True, exist_ok=True)
        for name in arguments.names:
            (arguments.trace / f"{name}.txt").write_text("\n".join(Writer(name).lines) + "\n")
        return
    torch.set_num_threads(arguments.threads)
    if arguments.cpu_time:
        workloads.clock = time.process_time
    layout = torch.channels_last if arguments.channels_last else torch.contiguous_format
    for line in sys.stdin:
        row, repeat = line.split()
        workloads.report(row, lambda: prepare(row, layout), int(repeat))


if __name__ == "__main__":
    main()

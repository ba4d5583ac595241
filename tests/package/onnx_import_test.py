"""onnx_import_test.py PROGRAM [NAME...]: minnow computes and trains what PyTorch's exporters write of torchvision's models, of
random weights and small images.  onnx_import_test.py PROGRAM nodes: it computes the tests of single operators that ONNX has,
or refuses them by name.

PROGRAM is that of onnx_reader.cpp.  Without torch, torchvision and onnx it is skipped, with status 77."""

import contextlib
import io
import logging
import os
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy as np
    import onnx
    import torch
    import torchvision.models as models
except ImportError as missing:
    print(f"skipped: {missing}; pip install torch torchvision onnx onnxscript")
    sys.exit(77)

# The class, the side of the images, options.
NETS = {"densenet121": (32, {}), "mobilenet_v3_small": (64, {}), "efficientnet_b0": (64, {}), "convnext_tiny": (64, {}),
        "shufflenet_v2_x0_5": (64, {}), "squeezenet1_1": (64, {}), "googlenet": (64, {"init_weights": False, "aux_logits": False}),
        "regnet_y_400mf": (64, {}), "mnasnet0_5": (64, {}), "swin_t": (64, {}), "swin_v2_t": (64, {}), "vit_b_32": (64, {"image_size": 64}),
        "inception_v3": (96, {"init_weights": False, "aux_logits": False}), "resnext50_32x4d": (32, {})}

# Numbers that neither PyTorch nor onnxruntime has: of sizes that are fractions.
OTHERS = ("test_resize_downsample_scales_cubic_align_corners", "test_resize_downsample_scales_linear_align_corners")


def write(name, dynamo, folder):
    side, options = NETS[name]
    torch.manual_seed(1)
    net = getattr(models, name)(num_classes=10, **options).eval()
    for layer in net.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(layer.running_mean, -0.1, 0.1)
            torch.nn.init.uniform_(layer.running_var, 0.8, 1.2)
        elif isinstance(layer, torch.nn.Linear) and not layer.weight.any():
            torch.nn.init.normal_(layer.weight, std=0.1)
    x = torch.randn(2, 3, side, side)
    path = os.path.join(folder, f"{name}{'' if dynamo else '_script'}")
    kinds = {"dynamo": True, "external_data": False} if dynamo else {"dynamo": False}
    with torch.no_grad(), warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        torch.onnx.export(net, (x,), path + ".onnx", **kinds)
    x.requires_grad_()
    y = net(x)
    (y - 0.5).square().mean().backward()
    np.savez(path + ".npz", in0=x.detach().numpy(), out0=y.detach().numpy(), grad=x.grad.numpy())


def read(program, folder, *options):
    """The faults, and the refusals."""
    lines = subprocess.run([program, folder, *options], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return [line for line in lines if ": refused: " not in line], [line for line in lines if ": refused: " in line]


def vision(program, names):
    faults, count = [], 0
    for name in names:
        for dynamo in (True, False):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    write(name, dynamo, folder)
                except Exception as fault:  # of an exporter
                    print(f"{name}: not exported: {str(fault).strip().splitlines()[0][:200]}")
                    continue
                count += 1
                for found in read(program, folder, "train"):
                    faults += found
    print(*faults, sep="\n")
    print(f"torch {torch.__version__} wrote {count} models, {len(faults)} faults")
    return faults


def plain(value):
    """Whether it is an array of a dtype that .npz files of minnow have."""
    return isinstance(value, np.ndarray) and (value.dtype.kind in "biu" and value.dtype.name not in ("uint16", "uint32", "uint64")
                                              or value.dtype.name in ("float16", "float32", "float64"))


def nodes(program):
    """The operators that minnow reads, of opsets that it reads."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases
        cases = collect_testcases(None)
    page = os.path.join(os.path.dirname(__file__), "../../docs/onnx.md")
    with open(page, encoding="utf-8") as file:
        known = set(file.read().split("<!-- read,")[1].replace("|", ",").replace("\n", ",").replace(" ", "").split(","))
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            model = case.model
            opset = max((entry.version for entry in model.opset_import if entry.domain == ""), default=0)
            inputs, outputs = case.data_sets[0]
            if {node.op_type for node in model.graph.node} <= known and 13 <= opset <= 25 and all(map(plain, [*inputs, *outputs])) and case.name not in OTHERS:
                count += 1
                onnx.save(model, os.path.join(folder, case.name + ".onnx"))
                np.savez(os.path.join(folder, case.name + ".npz"), **{f"in{i}": x for i, x in enumerate(inputs)},
                         **{f"out{i}": y for i, y in enumerate(outputs)})
        faults, refused = read(program, folder)
    print(*refused, *faults, sep="\n")
    print(f"onnx {onnx.__version__} has {count} tests of these operators: {len(refused)} are refused, {len(faults)} faults")
    return faults


program, *chosen = sys.argv[1:]
logging.disable(logging.WARNING)
torch.set_num_threads(2)
torch.backends.mha.set_fastpath_enabled(False)  # an operator that the older exporter does not have
sys.exit(bool(nodes(program) if chosen == ["nodes"] else vision(program, chosen or NETS)))

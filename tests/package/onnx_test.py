"""onnx_test.py PROGRAM [PREFIX]: onnxruntime computes from the files of PROGRAM (onnx_writer.cpp) what minnow has computed.

So does ONNX's own reference, and onnx2torch of the models of examples/models, where it is installed; what these do not have is
counted.  Without onnx and onnxruntime (pip install onnx onnxruntime) it is skipped, with status 77.  With a PREFIX only models
whose names begin with it are written."""

import collections
import contextlib
import glob
import os
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy as np
    import onnx
    import onnx.reference
    import onnxruntime
except ImportError as missing:
    print(f"skipped: {missing}; pip install onnx onnxruntime")
    sys.exit(77)
try:
    import onnx2torch
    import torch
except ImportError:
    onnx2torch = None

EXAMPLES = ("mnist_mlp", "mnist_cnn", "vgg", "resnet", "mobilenet", "vit", "gpt2", "bert")
refused = collections.defaultdict(list)


class Wrong(Exception):
    """Other numbers than minnow's."""


@contextlib.contextmanager
def allowed(who, name):
    """Counts what another one refuses; its numbers must be right."""
    try:
        yield
    except Wrong:
        raise
    except Exception as fault:
        refused[who].append(f"{name}: {str(fault)[:150]}")


def compare(path, who, run):
    cases = sorted(glob.glob(path.removesuffix(".onnx") + ".[0-9]*.npz"))
    if not cases:
        raise Wrong("has no cases")
    for case in cases:
        values = np.load(case)
        inputs = [values[f"in{i}"] for i in range(sum(name.startswith("in") for name in values.files))]
        for i, got in enumerate(run(inputs)):
            want = values[f"out{i}"]
            if got.shape != want.shape or got.dtype != want.dtype:
                raise Wrong(f"{who}, {case}: {got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}")
            finite = np.isfinite(want)
            if not np.array_equal(got[~finite], want[~finite], equal_nan=got.dtype.kind == "f"):
                raise Wrong(f"{who}, {case}: output {i} has other infinite elements")
            far = np.abs(got[finite].astype(float) - want[finite]) / np.maximum(1, np.abs(want[finite]))
            if far.size and not far.max() <= 1e-5:
                raise Wrong(f"{who}, {case}: output {i} differs by {far.max()}")


def check(path):
    model = onnx.load(path)
    onnx.checker.check_model(path, full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [x.name for x in session.get_inputs()]
    compare(path, "onnxruntime", lambda inputs: session.run(None, dict(zip(names, inputs))))

    name = os.path.basename(path).removesuffix(".onnx")
    with allowed("onnx.reference", name), np.errstate(all="ignore"):
        reference = onnx.reference.ReferenceEvaluator(model)
        compare(path, "onnx.reference", lambda inputs: reference.run(None, dict(zip(names, inputs))))
    if onnx2torch and name in EXAMPLES:
        with allowed("onnx2torch", name), torch.no_grad():
            net = onnx2torch.convert(model).eval()

            def run(inputs):
                outputs = net(*map(torch.from_numpy, inputs))
                return [y.numpy() for y in (outputs if isinstance(outputs, (tuple, list)) else [outputs])]

            compare(path, "onnx2torch", run)


with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
    warnings.simplefilter("ignore")
    wrote = subprocess.run([sys.argv[1], folder, *sys.argv[2:]], check=True, stdout=subprocess.PIPE, text=True).stdout
    faults = [line for line in wrote.splitlines() if line]
    paths = sorted(glob.glob(os.path.join(folder, "*.onnx")))
    for path in paths:
        try:
            check(path)
        except Exception as fault:  # of onnx, of onnxruntime, or above
            faults.append(f"{os.path.basename(path)}: {str(fault)[:300]}")
for fault in faults:
    print(fault)
for who, models in refused.items():
    print(f"{who} does not have {len(models)}:", *models, sep="\n  ")
print(f"onnx {onnx.__version__} and onnxruntime {onnxruntime.__version__} ran {len(paths)} models, {len(faults)} faults")
sys.exit(bool(faults))

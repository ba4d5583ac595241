"""onnx_test.py PROGRAM [PREFIX]: onnxruntime computes from the files of PROGRAM (onnx_writer.cpp) what minnow has computed.

Without onnx and onnxruntime (pip install onnx onnxruntime) it is skipped, with status 77.  With a PREFIX only models whose
names begin with it are written."""

import glob
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime
except ImportError as missing:
    print(f"skipped: {missing}; pip install onnx onnxruntime")
    sys.exit(77)


def check(path):
    onnx.checker.check_model(path, full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    cases = sorted(glob.glob(path.removesuffix(".onnx") + ".[0-9]*.npz"))
    if not cases:
        raise ValueError("has no cases")
    for case in cases:
        values = np.load(case)
        feed = {x.name: values[f"in{i}"] for i, x in enumerate(session.get_inputs())}
        for i, got in enumerate(session.run(None, feed)):
            want = values[f"out{i}"]
            if got.shape != want.shape or got.dtype != want.dtype:
                raise ValueError(f"{case}: {got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}")
            far = np.abs(got.astype(float) - want) / np.maximum(1, np.abs(want))
            if got.size and not far.max() <= 1e-5:
                raise ValueError(f"{case}: output {i} differs by {far.max()}")


with tempfile.TemporaryDirectory() as folder:
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
print(f"onnx {onnx.__version__} and onnxruntime {onnxruntime.__version__} ran {len(paths)} models, {len(faults)} faults")
sys.exit(bool(faults))

#!/usr/bin/env python3
"""Writes what follows from the public headers: Tensor's methods, docs/operations.md, docs/layers.md, docs/torch-names.md,
and from the sources of minnow::onnx: docs/onnx.md.  The pages of the reference are written by make_reference.py FOLDER.

make.py          writes them
make.py --check  fails when one is not up to date
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAKERS = ["ops/make_methods.py", "docs/make_operations.py", "docs/make_torch_names.py", "docs/make_onnx.py"]

if __name__ == "__main__":
    sys.exit(max(subprocess.call([sys.executable, "-B", ROOT / maker, *sys.argv[1:]]) for maker in MAKERS))

"""library_preset.py SOURCE WORK [CMAKE ARGUMENT...]: the preset for installing builds the library and nothing else."""

import subprocess
import sys

source, work, *arguments = sys.argv[1:]
subprocess.run(["cmake", "--preset", "library", "-B", work, *arguments], cwd=source, check=True, stdout=subprocess.DEVNULL)
built = subprocess.run(["ninja", "-C", work, "-t", "targets", "all"], capture_output=True, text=True, check=True).stdout
outputs = [line.split(":")[0] for line in built.splitlines()]
linked = {name for name in outputs if name.startswith(("tests/", "examples/", "benchmarks/")) or name.endswith(".a")}
wings = {f"libminnow_{wing}.a" for wing in ("distributed", "distributions", "onnx", "llm", "capi", "tensorboard", "text", "vision")}  # where what they need is
if linked - wings != {"libminnow.a"}:
    sys.exit(f"the preset builds {sorted(linked)}")

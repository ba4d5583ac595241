"""source_test.py BUILD WORK [CMAKE ARGUMENT...]: the packed sources have all that a build without git needs, and
that of a project which fetches them."""

import os
import pathlib
import platform
import shutil
import subprocess
import sys

build, work, *arguments = sys.argv[1:]
shutil.rmtree(work, ignore_errors=True)
os.makedirs(work)


def run(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


run(["cpack", "--config", f"{build}/CPackSourceConfig.cmake", "-B", work], work)
tar = next(pathlib.Path(work).glob("*.tar.gz"))
run(["tar", "xf", tar.name], work)
sources = tar.with_name(tar.name.removesuffix(".tar.gz"))
run(["cmake", "--preset", "library", *arguments], sources)
run(["ninja", "-n", "-C", "build/library"], sources)
if platform.machine() == "x86_64":  # loops of one instruction set alone
    run(["cmake", "--preset", "library", "-DMINNOW_INSTRUCTIONS=AVX2", *arguments], sources)
    steps = run(["ninja", "-C", "build/library", "-t", "commands", "minnow"], sources)
    sets = {name for name in ("baseline", "avx2", "avx512") if f"minnow_isa_{name}.dir" in steps}
    if sets != {"avx2"} or "-DMINNOW_ISA_AVX2=1" not in steps or "-DMINNOW_ISA_BASELINE=1" in steps:
        sys.exit(f"MINNOW_INSTRUCTIONS=AVX2 builds {sorted(sets)}")
fetched = ["-S", "tests/consumer/fetched", "-B", "build/fetched", "-G", "Ninja", f"-DMINNOW_SOURCES={tar}"]
run(["cmake", *fetched, *arguments], sources)
run(["ninja", "-n", "-C", "build/fetched", "consumer"], sources)
run([os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only", "-Iinclude", "tests/consumer/main.cpp"], sources)
print(f"{tar.name}: {tar.stat().st_size / 1e6:.1f} MB")
shutil.rmtree(work)

"""source_test.py BUILD WORK [CMAKE ARGUMENT...]: the packed sources have all that a build without git needs, and
that of a project which fetches them."""

import os
import pathlib
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


run(["cpack", "--config", f"{build}/CPackSourceConfig.cmake", "-B", work], work)
tar = next(pathlib.Path(work).glob("*.tar.gz"))
run(["tar", "xf", tar.name], work)
sources = tar.with_name(tar.name.removesuffix(".tar.gz"))
run(["cmake", "--preset", "library", *arguments], sources)
run(["ninja", "-n", "-C", "build/library"], sources)
fetched = ["-S", "tests/consumer/fetched", "-B", "build/fetched", "-G", "Ninja", f"-DMINNOW_SOURCES={tar}"]
run(["cmake", *fetched, *arguments], sources)
run(["ninja", "-n", "-C", "build/fetched", "consumer"], sources)
run([os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only", "-Iinclude", "tests/consumer/main.cpp"], sources)
print(f"{tar.name}: {tar.stat().st_size / 1e6:.1f} MB")
shutil.rmtree(work)

"""The preset `library`: it needs none of the packages of tests, examples and benchmarks, and builds none of them.

library_preset_test.py SOURCE_FOLDER CMAKE [-DVARIABLE=VALUE...]
"""

import json
import os
import subprocess
import sys
import tempfile

source, cmake, *variables = sys.argv[1:]
NOT_NEEDED = ("GTest", "benchmark", "CLI11", "nlohmann_json", "Python3")


def run(*arguments):
    done = subprocess.run([cmake, *arguments], cwd=source, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"cmake {' '.join(arguments)} failed:\n{done.stdout}")
    return done.stdout


with tempfile.TemporaryDirectory() as build:
    # Looked for as REQUIRED, a package that is switched off is an error.
    run("--preset", "library", "-B", build, *(f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in NOT_NEEDED), *variables)
    with open(os.path.join(build, "compile_commands.json")) as file:
        folders = {os.path.relpath(command["file"], source).split(os.sep)[0] for command in json.load(file)}
    if folders != {"tensor", "autograd", "nn", "optim", "data"}:
        sys.exit(f"it compiles files of {sorted(folders)}")
    with open(os.path.join(build, "CMakeCache.txt")) as file:
        if "CMAKE_BUILD_TYPE:UNINITIALIZED=Release\n" not in (cache := file.read()) and \
           "CMAKE_BUILD_TYPE:STRING=Release\n" not in cache:
            sys.exit("it is no Release build")
    if '"library"' not in run("--list-presets=build"):
        sys.exit("cmake --build --preset library is missing")
print("the preset builds the library alone")

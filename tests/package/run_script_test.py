"""./run on a machine without packages: what it says, and that it stops.

run_script_test.py SOURCE_FOLDER
"""

import os
import shutil
import subprocess
import sys
import tempfile

source = sys.argv[1]
TOOLS = "bash sh env dirname uname nproc cat mkdir ls grep sed gzip sha256sum flock".split()
NOBODY = 65534


def expect(condition, what, result):
    if not condition:
        sys.exit(f"{what}\nexit status {result.returncode}, the output was:\n{result.stdout}")


with tempfile.TemporaryDirectory() as folder:
    programs, home = os.path.join(folder, "bin"), os.path.join(folder, "home")
    copy = os.path.join(folder, "minnow")
    for place in (programs, home, copy):
        os.mkdir(place)
    for tool in TOOLS:
        if found := shutil.which(tool):
            os.symlink(found, os.path.join(programs, tool))
    for name in ("run", "CMakeLists.txt", "CMakePresets.json"):
        shutil.copy(os.path.join(source, name), copy)
    log = os.path.join(folder, "apt.log")
    for name, text in (("apt-get", f'echo "$*" >>{log}; exit 100'), ("dpkg-query", "exit 1")):
        with open(os.path.join(programs, name), "w") as file:
            file.write(f"#!/bin/sh\n{text}\n")
        os.chmod(file.name, 0o755)
    os.chmod(folder, 0o755)
    os.chmod(copy, 0o777)

    def run(*arguments, shell=(), as_nobody=True):
        user = NOBODY if as_nobody and os.geteuid() == 0 else None
        return subprocess.run([*shell, "./run", *arguments], cwd=copy, env={"PATH": programs, "HOME": home}, user=user,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=60, check=False)

    for shell in ((), ("sh",), ("bash",)):
        result = run(shell=shell)
        expect(result.returncode == 0 and all(f"./run {c}" in result.stdout for c in ("mnist", "test", "quickstart")),
               "without a command it lists them", result)
    result = run("nonsense")
    expect(result.returncode == 2 and "there is no command 'nonsense'" in result.stdout, "a wrong command", result)

    for command in ("mnist", "test", "quickstart", "devices", "bench"):
        result = run(command)
        expect(result.returncode == 1, f"{command} stops where it may not install", result)
        for part in ("missing packages:", " g++", " cmake", " ninja-build", "sudo apt-get install"):
            expect(part in result.stdout, f"{command} says '{part}'", result)
        expect("fetching" not in result.stdout, f"{command} fetches nothing before", result)
    expect(not os.path.exists(log) and not os.path.exists(os.path.join(copy, "build")), "nothing was done", result)

    if os.geteuid() == 0:
        result = run("quickstart", as_nobody=False)
        expect(result.returncode == 1 and "could not install: " in result.stdout, "an installation that fails", result)
        with open(log) as file:
            expect("install -y --no-install-recommends g++" in file.read(), "apt-get is asked for the packages", result)
        os.remove(os.path.join(programs, "apt-get"))
        result = run("quickstart", as_nobody=False)
        expect(result.returncode == 1 and "there is no apt-get here" in result.stdout, "not a Debian", result)
print("./run stops with its lists")

"""./run without packages stops with a list of them. With all packages: the folder of the digits, and what is built for GPUs.

run_script_test.py SOURCE_FOLDER
"""

import gzip
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

source = sys.argv[1]
TOOLS = "bash sh env dirname uname nproc cat mkdir ls grep sed gzip sha256sum flock curl head wc mv rm sleep chmod sort tr paste".split()
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
    os.chmod(folder, 0o755)
    for place in (copy, home):
        os.chmod(place, 0o777)

    def program(name, text):
        with open(os.path.join(programs, name), "w") as file:
            file.write(f"#!/bin/sh\n{text}\n")
        os.chmod(file.name, 0o755)

    def run(*arguments, shell=(), as_nobody=True, **variables):
        user = NOBODY if as_nobody and os.geteuid() == 0 else None
        environment = {"PATH": programs, "HOME": home, **variables}
        environment = {name: value for name, value in environment.items() if value is not None}
        return subprocess.run([*shell, "./run", *arguments], cwd=copy, env=environment, user=user,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=60, check=False)

    program("apt-get", f'echo "$*" >>{log}; exit 100')
    program("dpkg-query", "exit 1")
    for shell in ((), ("sh",), ("bash",)):
        result = run(shell=shell)
        expect(result.returncode == 0 and all(f"./run {c}" in result.stdout for c in ("mnist", "test", "quickstart")),
               "without a command it lists them", result)
    examples = [name[:-4] for name in os.listdir(os.path.join(source, "examples")) if name.endswith(".cpp")]
    for name in examples:
        result = run(name)
        expect("there is no command" not in result.stdout, f"the example {name} is a command", result)
    expect(len(examples) > 10, "the examples are there", result)
    result = run("nonsense")
    expect(result.returncode == 2 and "there is no command 'nonsense'" in result.stdout, "a wrong command", result)

    for command in ("mnist", "test", "quickstart", "devices", "bench"):
        result = run(command)
        expect(result.returncode == 1, f"{command} stops where it may not install", result)
        for part in ("missing packages:", " g++", " cmake", " ninja-build", "sudo apt-get install"):
            expect(part in result.stdout, f"{command} says '{part}'", result)
        expect("fetching" not in result.stdout, f"{command} fetches nothing before", result)
    expect(not os.path.exists(log) and not os.path.exists(os.path.join(copy, "build")), "nothing was built", result)

    result = run("cross", "arm64", "quick")
    expect(result.returncode == 1 and " g++-aarch64-linux-gnu" in result.stdout and " zlib1g-dev:arm64" in result.stdout,
           "a compiler for another system, and its libraries", result)
    program("dpkg-query", "echo arm64 installed")
    program("dpkg", "[ $1 = --print-architecture ] && echo amd64 || echo arm64")
    result = run("mnist")
    expect(result.returncode == 1 and " libfmt-dev" in result.stdout, "packages of another architecture are not its own", result)
    program("dpkg-query", "exit 1")
    os.remove(os.path.join(programs, "dpkg"))
    result = run("cross", "vax")
    expect(result.returncode == 1 and "./run cross arm64" in result.stdout, "a system that is not known", result)

    result = run("mnist", "--synthetic", MINNOW_NO_INSTALL="1")
    expect("not installed, since MINNOW_NO_INSTALL is set: g++ cmake" in result.stdout and
           "missing packages" not in result.stdout and "configuring" in result.stdout, "goes on with what is there", result)
    shutil.rmtree(os.path.join(copy, "build"), ignore_errors=True)

    if os.geteuid() == 0:
        result = run("quickstart", as_nobody=False)
        expect(result.returncode == 1 and "could not install: " in result.stdout, "an installation that fails", result)
        with open(log) as file:
            expect("install -y --no-install-recommends g++" in file.read(), "apt-get is asked for the packages", result)
        os.remove(os.path.join(programs, "apt-get"))
        result = run("quickstart", as_nobody=False)
        expect(result.returncode == 1 and "there is no apt-get here" in result.stdout, "not a Debian", result)

    shutil.rmtree(os.path.join(copy, "build"), ignore_errors=True)  # root's
    # From here on every package is installed, and CMake builds a program that prints its arguments.
    program("dpkg-query", "echo all installed")
    built = "build/release/examples"
    program("cmake", f"mkdir -p {built}; printf '#!/bin/sh\\necho \"digits of $MINNOW_DATA, arguments $*\"\\n' >{built}/mnist;"
                     f" chmod 755 {built}/mnist")
    server = os.path.join(folder, "server")
    for place in (os.path.join(copy, "cmake"), server):
        os.mkdir(place)
    shutil.copy(os.path.join(source, "cmake", "fetch_mnist.sh"), os.path.join(copy, "cmake"))
    with open(os.path.join(copy, "cmake", "mnist.sha256"), "w") as sums:
        for name in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"):
            with gzip.open(os.path.join(server, f"{name}-ubyte.gz"), "wb") as file:
                file.write(name.encode())
            sums.write(f"{hashlib.sha256(name.encode()).hexdigest()} {name}-ubyte.gz\n")
    good, gone = {"MINNOW_MNIST_URL": "file://" + server}, {"MINNOW_MNIST_URL": "file:///nowhere", "MINNOW_FETCH_WAIT": "0"}

    def expect_digits(place, what, result):
        expect(result.returncode == 0 and f"digits of {place}, arguments \n" in result.stdout, what, result)

    for what, place, variables in (("in the home", f"{home}/.cache", {}),
                                   ("in the cache that is named", f"{home}/own", {"XDG_CACHE_HOME": f"{home}/own"}),
                                   ("a relative cache is none", f"{home}/.cache", {"XDG_CACHE_HOME": "own"}),
                                   ("without a home here", f"{copy}/build", {"HOME": None}),
                                   ("an empty home is none", f"{copy}/build", {"HOME": ""})):
        place += "/minnow/mnist"
        shutil.rmtree(place, ignore_errors=True)
        result = run("mnist", **variables, **good)
        expect("fetching MNIST" in result.stdout, what, result)
        expect_digits(place, what, result)
        result = run("mnist", **variables, **gone)
        expect("fetching" not in result.stdout, "fetched once", result)
        expect_digits(place, what, result)

    damaged = os.path.join(home, ".cache/minnow/mnist/t10k-labels-idx1-ubyte.gz")
    for variables, arguments in ((gone, "--synthetic"), (good, "")):
        with gzip.open(damaged, "wb") as file:
            file.write(b"something else")
        result = run("mnist", **variables)
        expect(f"{damaged} is not the file it should be" in result.stdout, "a damaged file is found", result)
        expect(f", arguments {arguments}\n" in result.stdout, f"then the arguments are '{arguments}'", result)

    # CMake notes its arguments, and that the build has no CUDA for the reason in the file `why`.
    why, told = os.path.join(copy, "why"), os.path.join(copy, "told")
    program("cmake", f"""[ "$1" = --preset ] || exit 0
echo "$*" >{told}; echo build minnow_example_mnist: >build/release/build.ninja
{{ printf MINNOW_WHY_NO_CUDA:INTERNAL=; cat {why}; }} >build/release/CMakeCache.txt""")
    os.symlink(shutil.which("touch"), os.path.join(programs, "touch"))

    def configured(*arguments, reason="", afresh=False, **variables):
        """What ./run printed, and the arguments of CMake if it was called to configure."""
        for old in (told, os.path.join(copy, "build/release/build.ninja") if afresh else told):
            if os.path.exists(old):
                os.remove(old)
        with open(why, "w") as file:
            file.write(reason + "\n")
        result = run("mnist", "--synthetic", *arguments, as_nobody=False, **variables)
        expect(result.returncode == 0, "./run mnist", result)
        if not os.path.exists(told):
            return result, None
        with open(told) as file:
            return result, file.read()

    if not os.path.exists("/proc/driver/nvidia/version"):
        program("nvcc", "")
        result, arguments = configured(reason="no driver")
        expect("-DMINNOW_CUDA=OFF -DMINNOW_CUDA_OFF_BECAUSE=./run found no NVIDIA driver" in arguments, arguments, result)
        expect(f"{programs}/nvcc is here, but no NVIDIA driver: building for the CPU alone" in result.stdout, "a line", result)
        result, arguments = configured(reason="no driver", MINNOW_CMAKE_ARGS="-DMINNOW_CUDA=ON -DX=1")
        expect("--preset release -DMINNOW_CUDA=ON -DX=1\n" in arguments, arguments, result)
    program("nvidia-smi", "echo 12.0; echo 9.0; echo 9.0")
    result, arguments = configured(reason="cudnn.h was not found", afresh=True)
    expect("-DMINNOW_CUDA=AUTO -DMINNOW_CUDA_ARCHITECTURES=120-real;90-real\n" in arguments, arguments, result)
    expect("there is an NVIDIA driver, but this build is for the CPU alone: cudnn.h was not found" in result.stdout,
           "a GPU that the build cannot use", result)
    for options, again in (((), False), (("--device", "cpu"), False), (("--device", "cuda"), True), (("--device=cuda:1",), True)):
        result, arguments = configured(*options, reason="cudnn.h was not found")
        expect((arguments is not None) == again, f"configured again with {options}: {again}", result)
    result, arguments = configured("--device", "cuda")
    expect("for the CPU alone" not in result.stdout, "now it has CUDA", result)
    expect(configured("--device", "cuda")[1] is None, "and is not configured again", result)
print("./run lists missing packages, keeps the digits in their folder, and builds for the GPUs that are there")

"""What CMake finds of CUDA, and what a build without CUDA says: with folders as pip makes them, and without nvcc.

cuda_search_test.py CMAKE SOURCE_FOLDER GENERATOR CXX_COMPILER [-DNAME=VALUE ...]
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

cmake, source, generator, compiler, *definitions = sys.argv[1:]


def expect(condition, what, output):
    if not condition:
        sys.exit(f"{what}; the output was:\n{output}")


with tempfile.TemporaryDirectory() as folder:
    folder = Path(folder)
    programs, site, toolkit = folder / "bin", folder / "site", folder / "toolkit" / "include"
    python = programs / "python3"
    for place in (programs, site / "nvidia/cudnn/include", site / "nvidia/cudnn/lib", site / "nvidia/cu13/include",
                  site / "nvidia/cu13/lib", toolkit):
        place.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("CUDACXX", "CUDA_PATH", "CUDNN_PATH", "CPATH", "INCLUDE", "PYTHONPATH")}

    def search():
        script = folder / "search.cmake"
        script.write_text(f"""
cmake_minimum_required(VERSION 3.25)
include("{source}/cmake/MinnowCudaSearch.cmake")
minnow_python_folders(python)
minnow_find_cuda_headers(why "{toolkit}" "${{python}}")
minnow_find_cuda_libraries(libraries "${{python}}")
minnow_known_architectures(known "{programs}/nvcc" 80-real 100-real 90-virtual)
message("why <${{why}}>\\ncudnn <${{MINNOW_CUDNN_INCLUDE_DIR}}>\\ncublaslt <${{MINNOW_CUBLASLT_INCLUDE_DIR}}>")
message("libraries <${{libraries}}>\\nknown <${{known}}>")
""")
        result = subprocess.run([cmake, "-P", script], env={"PATH": str(programs), "PYTHONPATH": str(site)},
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100, check=False)
        expect(result.returncode == 0, "the search fails", result.stdout)
        return result.stdout

    text = search()
    expect("why <cublasLt.h of cuBLAS was not found" in text and "libraries <>" in text, "nothing is there", text)
    expect("known <80-real;100-real;90-virtual>" in text, "an nvcc that does not answer knows all", text)
    (programs / "nvcc").write_text("#!/bin/sh\necho sm_80; echo sm_90; echo compute_100\n")
    (programs / "nvcc").chmod(0o755)
    expect("known <80-real;90-virtual>" in search(), "only architectures that nvcc knows", search())
    (toolkit / "cublasLt.h").touch()
    text = search()
    expect("why <cudnn.h of cuDNN 9 was not found" in text and "nvidia-cudnn-cu13" in text, "no cudnn.h", text)
    of_pip = site / "nvidia/cudnn"
    (of_pip / "include/cudnn.h").touch()
    (of_pip / "lib/libcudnn.so.9").touch()
    (site / "nvidia/cu13/lib/libcublasLt.so.13").touch()
    text = search()
    expect("why <>" in text and f"cudnn <{of_pip}/include>" in text and f"cublaslt <{toolkit}>" in text,
           "the headers of pip", text)
    expect(f"libraries <{of_pip}/lib;{site}/nvidia/cu13/lib>" in text, "the libraries of pip", text)
    (of_pip / "include/cudnn_version.h").write_text("#define CUDNN_MAJOR 8\n#define CUDNN_MINOR 9\n")
    expect("is of cuDNN 8, and cuDNN 9 is needed>" in search(), "an old cuDNN", search())
    (toolkit / "cudnn.h").touch()
    (toolkit / "cublasLt.h").unlink()
    (site / "nvidia/cu13/include/cublasLt.h").touch()
    text = search()
    expect(f"cudnn <{toolkit}>" in text and f"cublaslt <{site}/nvidia/cu13/include>" in text, "the toolkit's first", text)

    def configure(build, *arguments, **variables):
        command = [cmake, "-S", source, "-B", folder / build, "-G", generator, f"-DCMAKE_CXX_COMPILER={compiler}",
                   "-DCMAKE_BUILD_TYPE=Release", "-DMINNOW_BUILD_TESTS=OFF", "-DMINNOW_BUILD_EXAMPLES=OFF",
                   "-DMINNOW_BUILD_BENCHMARKS=OFF", "-DMINNOW_PRECOMPILE=OFF", *definitions, *arguments]
        return subprocess.run(command, env={**environment, **variables}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=300, check=False)

    def says(build):
        """What the build says of itself, in the object that stands in for the CUDA backend."""
        made = subprocess.run([cmake, "--build", folder / build, "--target", "minnow_no_cuda"], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
        expect(made.returncode == 0, "the build fails", made.stdout)
        found, = (folder / build).rglob("no_cuda.cpp.o")
        return found.read_bytes()

    (programs / "broken").write_text("#!/bin/sh\nexit 1\n")
    (programs / "broken").chmod(0o755)
    result = configure("broken", "-DMINNOW_CUDA=AUTO", CUDACXX=str(programs / "broken"))
    expect(result.returncode == 0 and "/broken cannot build a program here" in result.stdout, "a broken nvcc",
           result.stdout)
    expect(b"minnow was built without CUDA: " in says("broken") and b"/broken cannot build a program" in says("broken"),
           "the library knows the reason", result.stdout)
    result = configure("broken", "-DMINNOW_CUDA=ON", CUDACXX=str(programs / "broken"))
    expect(result.returncode != 0 and "MINNOW_CUDA=ON, but " in result.stdout, "a CUDA that is asked for is an error",
           result.stdout)
    reason = "nobody wanted it " * 20 + "."  # long, so that the compiler keeps it as text
    result = configure("broken", "-DMINNOW_CUDA=OFF", f"-DMINNOW_CUDA_OFF_BECAUSE={reason}")
    expect(result.returncode == 0 and f"built without CUDA: {reason}".encode() in says("broken"), "a reason that is given",
           result.stdout)

    # Wherever nvcc is, but for a folder that has the other tools too.
    hidden = [place for place in ("/usr/local/cuda/bin", "/usr/local/bin", *environment["PATH"].split(os.pathsep))
              if os.path.exists(os.path.join(place, "nvcc"))]
    if not os.path.exists("/usr/bin/nvcc"):
        path = os.pathsep.join(place for place in environment["PATH"].split(os.pathsep) if place not in hidden)
        result = configure("none", "-DMINNOW_CUDA=AUTO", "-DCMAKE_IGNORE_PATH=" + ";".join(hidden), PATH=path)
        expect(result.returncode == 0 and "building without CUDA: nvcc was not found" in result.stdout, "no nvcc",
               result.stdout)
        expect(b"nvcc was not found (install" in says("none"), "the library knows the reason", result.stdout)
print("CUDA is found where pip puts it, and a build without it knows why")

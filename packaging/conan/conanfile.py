"""conan create packaging/conan: libraries from the system's packages, as a build by hand has them."""

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.system.package_manager import Apt
import os
import re


class Minnow(ConanFile):
    name = "minnow"
    description = "A small framework for training neural networks"
    license = "MIT"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "onednn": [True, False]}
    default_options = {"shared": False, "onednn": True}
    package_type = "library"

    def root(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        header = load(self, os.path.join(self.root(), "include", "minnow", "minnow.h"))
        self.version = re.search(r'MINNOW_VERSION "([0-9.]+)"', header)[1]

    def export_sources(self):
        for part in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "share/*", "examples/models/*", "tensor/*", "autograd/*",
                     "ops/*", "nn/*", "optim/*", "data/*", "training/*", "vision/*", "text/*", "tensorboard/*", "onnx/*", "llm/*", "capi/*", "interop/*",
                     "distributions/*", "distributed/*"):
            copy(self, part, self.root(), self.export_sources_folder)

    def system_requirements(self):
        onednn = ["libdnnl-dev"] if self.options.onednn else []
        Apt(self).install(["zlib1g-dev", "libfmt-dev", "libpng-dev", "libjpeg62-turbo-dev", "libutf8proc-dev",
                           "libprotozero-dev"] + onednn, check=True)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("TESTS", "TOOLS", "EXAMPLES", "BENCHMARKS"):
            toolchain.cache_variables[f"MINNOW_BUILD_{part}"] = False
        toolchain.cache_variables["MINNOW_ONEDNN"] = bool(self.options.onednn)
        toolchain.cache_variables["MINNOW_CUDA"] = "OFF"
        toolchain.cache_variables["MINNOW_MPI"] = "OFF"
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        # The package's own minnowConfig.cmake knows what a static library needs.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "minnow")]

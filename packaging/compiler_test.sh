#!/usr/bin/env bash
# compiler_test.sh COMPILER [libc++] [native] [lto] [assertions] [quick | FOLDER... | CTEST OPTION...]: builds with that compiler
# and these settings, and runs all tests, or those of some folders of tests/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export CXX=$1 CXXFLAGS=${CXXFLAGS:-}
build=build/${CXX##*/}
read -ra arguments <<<"${MINNOW_CMAKE_ARGS:-}"
libraries=""
shift
while [[ ${1:-} =~ ^(libc\+\+|native|lto|assertions)$ ]]; do
  build+=-$1
  case $1 in
    libc++)
      CXXFLAGS+=" -stdlib=libc++"
      libraries=$PWD/${build//+/x}-libraries
      arguments+=("-DCMAKE_PREFIX_PATH=$libraries" -DOPENCV_HEADERS=OFF -DOPENCV_CORE=OFF) # Debian's was built with libstdc++
      ;;
    native) CXXFLAGS+=" -march=native" ;;
    lto) arguments+=(-DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON) ;;
    assertions) CXXFLAGS+=" -D_GLIBCXX_ASSERTIONS -D_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_EXTENSIVE" ;;
  esac
  shift
done
build=${build//+/x}
folders=()
while [[ ${1:-} =~ ^[a-z]+$ ]]; do
  folders+=("$1")
  shift
done
[[ ${folders[*]} != quick ]] || folders=(kernels tensor autograd nn interop)
targets=(all)
if [[ ${#folders[@]} -gt 0 ]]; then
  targets=(minnow_example_quickstart "${folders[@]/#/minnow_tests_}")
  set -- -R "^(example\.quickstart\$|($(IFS='|' && echo "${folders[*]}"))\.)" "$@"
fi
"$CXX" --version | head -1
[[ -z $libraries ]] || packaging/cross_libraries.sh libc++ "$libraries"
cmake --preset release -B "$build" -DMINNOW_CUDA=OFF -DMINNOW_BUILD_BENCHMARKS=OFF "${arguments[@]}"
cmake --build "$build" --parallel "$(nproc)" --target "${targets[@]}"
exec ctest --test-dir "$build" --output-on-failure --no-tests=error --parallel 2 "$@"

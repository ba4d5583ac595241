#!/usr/bin/env bash
# debian_test.sh [COMPILER] [quick | CTEST OPTION...]: installs what is needed, builds and runs all tests, or a few.  As root of
# a system for nothing else (./run debian).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8

compiler=g++
if [[ ${1:-} == *++* ]]; then
  compiler=$1
  shift
fi
targets=(all)
if [[ ${1:-} == quick ]]; then
  targets=(minnow_example_quickstart minnow_tests_kernels minnow_tests_tensor minnow_tests_interop)
  set -- -R '^(example\.quickstart|(kernels|tensor|interop)\..*)$'
fi
apt-get update -qq
apt-get install -qq -y --no-install-recommends g++ clang libomp-dev cmake ninja-build python3 curl libdnnl-dev libfmt-dev \
  zlib1g-dev libgtest-dev libpng-dev libjpeg62-turbo-dev libutf8proc-dev libprotozero-dev libcli11-dev libeigen3-dev \
  libopencv-core-dev libopenblas0-pthread >/dev/null
"$compiler" --version | head -1
build=build/${compiler//+/x}
cmake --preset release -B "$build" -DCMAKE_CXX_COMPILER="$compiler" -DMINNOW_CUDA=OFF \
  -DMINNOW_BUILD_BENCHMARKS=OFF
cmake --build "$build" --parallel "$(nproc)" --target "${targets[@]}"
exec ctest --test-dir "$build" --output-on-failure --parallel 2 "$@"

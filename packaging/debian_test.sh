#!/usr/bin/env bash
# debian_test.sh [COMPILER] [OPTION...]: installs what is needed, and does what compiler_test.sh says; debian_test.sh cross SYSTEM
# ...: what ./run does.  As root of a system for nothing else (./run debian).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8

[[ ${1:-} != cross ]] || exec ./run "$@"
compiler=g++
if [[ ${1:-} =~ ^(g|clang)\+\+ ]]; then
  compiler=$1
  shift
fi
version=${compiler#*++} # such as -16, or none
packages=("$compiler")
if [[ $compiler == clang* ]]; then
  packages=("clang$version" "libomp$version-dev" "lld$version" "llvm$version" g++) # lld: for link-time optimization
  if [[ " $* " == *" libc++ "* ]]; then packages+=("libc++$version-dev" "libc++abi$version-dev" googletest); fi
fi
apt-get update -qq
apt-get install -qq -y --no-install-recommends "${packages[@]}" cmake ninja-build python3 curl libdnnl-dev libfmt-dev \
  zlib1g-dev libgtest-dev libpng-dev libjpeg62-turbo-dev libutf8proc-dev libprotozero-dev libcli11-dev libeigen3-dev \
  libopencv-core-dev libopenblas0-pthread >/dev/null
exec packaging/compiler_test.sh "$compiler" "$@"

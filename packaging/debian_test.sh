#!/usr/bin/env bash
# debian_test.sh [COMPILER] [OPTION...]: installs the compiler, and does what ./run compiler does; debian_test.sh cross SYSTEM ...:
# what ./run cross does.  As root of a system for nothing else (./run debian).
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
apt-get install -qq -y --no-install-recommends "${packages[@]}" >/dev/null
exec ./run compiler "$compiler" "$@"

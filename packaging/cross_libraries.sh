#!/bin/sh
# cross_libraries.sh windows|musl|libc++ PREFIX: what minnow needs for a system that Debian has no packages for: headers, and
# GoogleTest built from Debian's sources.  libc++: by the compiler that CXX names, with CXXFLAGS.
set -eu
prefix=$2
here=$(cd "$(dirname "$0")/.." && pwd)
case $1 in
  windows) toolchain=$here/cmake/toolchains/x86_64-w64-mingw32.cmake ;;
  musl) toolchain=$here/cmake/toolchains/x86_64-linux-musl.cmake ;;
  libc++) toolchain="" ;;
  *) exit 2 ;;
esac
versions=$(dpkg-query -W libfmt-dev libcli11-dev libprotozero-dev zlib1g-dev googletest)
[ "$(cat "$prefix/versions" 2>/dev/null)" != "$versions" ] || exit 0
rm -rf "$prefix"
mkdir -p "$prefix/include" "$prefix/lib/cmake/fmt" "$prefix/share/cmake"
cp -r /usr/include/fmt /usr/include/CLI /usr/include/protozero "$prefix/include"
cp -r /usr/share/cmake/CLI11 "$prefix/share/cmake"
cat >"$prefix/lib/cmake/fmt/fmt-config.cmake" <<'CMAKE'
add_library(fmt::fmt INTERFACE IMPORTED)
get_filename_component(fmt_include "${CMAKE_CURRENT_LIST_DIR}/../../../include" ABSOLUTE)
target_include_directories(fmt::fmt INTERFACE "${fmt_include}")
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)
CMAKE
if [ "$1" = musl ]; then # zlib calls nothing that only glibc has
  cp /usr/include/zlib.h /usr/include/zconf.h "$prefix/include"
  cp /usr/lib/x86_64-linux-gnu/libz.a "$prefix/lib"
fi
cmake -G Ninja -S /usr/src/googletest -B "$prefix/googletest" -DCMAKE_BUILD_TYPE=Release -DBUILD_GMOCK=OFF \
  -DCMAKE_TOOLCHAIN_FILE="$toolchain" -DCMAKE_INSTALL_PREFIX="$prefix"
cmake --build "$prefix/googletest" --target install
echo "$versions" >"$prefix/versions"

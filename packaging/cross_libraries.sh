#!/bin/sh
# cross_libraries.sh windows|musl|libc++ PREFIX: what minnow needs for a system that Debian has no packages for: headers, and
# GoogleTest, for Windows also libpng, libjpeg-turbo and utf8proc, built from Debian's sources.  libc++: by the compiler that
# CXX names, with CXXFLAGS.
set -eu
prefix=$2
here=$(cd "$(dirname "$0")/.." && pwd)
case $1 in
  windows) toolchain=$here/cmake/toolchains/x86_64-w64-mingw32.cmake ;;
  musl) toolchain=$here/cmake/toolchains/x86_64-linux-musl.cmake ;;
  libc++) toolchain="" ;;
  *) exit 2 ;;
esac
script=$(cksum <"$here/packaging/cross_libraries.sh")
versions=$script$(dpkg-query -W libfmt-dev libcli11-dev libprotozero-dev zlib1g-dev googletest)
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
# install_from FOLDER [CMAKE OPTION...]
install_from() {
  folder=$1
  shift
  cmake -G Ninja -S "$folder" -B "$prefix/build/${folder##*/}" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
    -DCMAKE_TOOLCHAIN_FILE="$toolchain" -DCMAKE_INSTALL_PREFIX="$prefix" "$@"
  cmake --build "$prefix/build/${folder##*/}" --target install
}
install_from /usr/src/googletest -DBUILD_GMOCK=OFF
if [ "$1" = windows ]; then # what minnow::vision and minnow::text need, from Debian's sources
  apt=$prefix/build/apt
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
  echo "deb-src http://deb.debian.org/debian $(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release) main" >"$apt/sources.list"
  cat >"$apt/apt.conf" <<CONF
Dir::Etc::SourceList "$apt/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::State::Lists "$apt/lists";
Dir::Cache "$apt/cache";
APT::Sandbox::User "";
CONF
  export APT_CONFIG="$apt/apt.conf"
  apt-get update
  (cd "$apt" && apt-get source --download-only libpng1.6 libjpeg-turbo utf8proc)
  for package in libpng1.6 libjpeg-turbo utf8proc; do
    mkdir -p "$prefix/sources/$package"
    tar -xf "$apt/$package"_*.orig.tar.?z -C "$prefix/sources/$package" --strip-components=1
  done
  install_from "$prefix/sources/libpng1.6" -DPNG_SHARED=OFF -DPNG_TESTS=OFF
  install_from "$prefix/sources/libjpeg-turbo" -DENABLE_SHARED=OFF -DWITH_SIMD=OFF -DWITH_TURBOJPEG=OFF
  install_from "$prefix/sources/utf8proc"
fi
rm -rf "$prefix/build" "$prefix/sources"
echo "$versions" >"$prefix/versions"

#!/bin/sh
# zig.sh FOLDER: installs PyPI's ziglang there, a clang with libc++ and musl, and bin/zig-c++ and its like, which compile static
# programs.
set -eu
folder=$1
version=0.17.1
[ ! -e "$folder/$version" ] || exit 0
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" -q install ziglang==$version
mkdir -p "$folder/bin"
for tool in cc c++ ar ranlib; do
  options="" # of the compilers alone; without -O2 they would add a sanitizer
  case $tool in c*) options="-target x86_64-linux-musl -fno-sanitize=undefined" ;; esac
  printf '#!/bin/sh\nexec "%s" -m ziglang %s %s "$@"\n' "$folder/venv/bin/python" "$tool" "$options" >"$folder/bin/zig-$tool"
  chmod +x "$folder/bin/zig-$tool"
done
touch "$folder/$version"

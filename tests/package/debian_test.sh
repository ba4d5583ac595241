#!/usr/bin/env bash
# debian_test.sh FOLDER: installs the packages in FOLDER in a bare Debian 12, builds programs there with CMake and with
# pkg-config, and removes the packages without a trace.  As root; needs mmdebstrap and a mirror of Debian, two minutes.
set -euo pipefail
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
packages=("$(realpath "$1")"/*.deb)

# Of the system the packages themselves say what they need; a program needs a compiler besides.
depends=$(for package in "${packages[@]}"; do dpkg-deb -f "$package" Depends; done | tr ',' '\n' | sed 's/ *(.*//; s/ //g' |
  grep -v '^libminnow' | sort -u | paste -sd ,)
echo "the packages need: $depends"
sources=/etc/apt/sources.list
[[ -s $sources ]] || sources=/etc/apt/sources.list.d/debian.sources
mmdebstrap --quiet --variant=minbase --include="$depends,g++,make,cmake,pkg-config" bookworm "$root" "$sources"

list() { (cd "$root" && find . -xdev -not -path './proc/*' -not -path './var/[cl]*' -not -path './tmp/*' | sort); }
in_root() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp "$@"; }
list >"$root/tmp/before"
mkdir "$root/tmp/packages" "$root/tmp/consumer"
cp "${packages[@]}" "$root/tmp/packages"
cp -r "$here"/../consumer/* "$root/tmp/consumer"
in_root sh -c 'dpkg -i /tmp/packages/*.deb'
# shellcheck disable=SC2016
in_root sh -ec '
  cmake -S /tmp/consumer/installed -B /tmp/build -DWINGS=ON
  cmake --build /tmp/build
  /tmp/build/consumer
  cd /tmp && /tmp/build/wings
  g++ -std=c++20 /tmp/consumer/wings.cpp -o /tmp/wings $(pkg-config --cflags --libs minnow-vision minnow-text minnow-distributions \
    minnow-tensorboard)
  /tmp/wings
  minnow-inspect --help >/dev/null
  /usr/lib/*/minnow/examples/quickstart'
# shellcheck disable=SC2016
in_root sh -c 'dpkg --purge $(dpkg-query -W -f "\${Package}\n" "*minnow*")'
list >"$root/tmp/after"
diff "$root/tmp/before" "$root/tmp/after"
if in_root ldconfig -p | grep minnow; then exit 1; fi
echo "installed, used and removed"

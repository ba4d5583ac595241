#!/usr/bin/env bash
# fetch_mnist.sh DIR [SUMS]: downloads the four files of MNIST to DIR; each is checked by the SHA-256 of its uncompressed content
# (SUMS lists other files; by default mnist.sha256 beside this script).
# fetch_mnist.sh --check DIR [SUMS]: only checks the files that are there, in either spelling, compressed or not.
# A file gets its final name when it is complete and correct; the next try or call resumes a broken download.
# MINNOW_MNIST_URL: where to fetch from. Exit status: 0 all files are correct, 1 not (one line on stderr has the reason), 2 wrong arguments.
set -uo pipefail

url=${MINNOW_MNIST_URL:-https://ossci-datasets.s3.amazonaws.com/mnist}
tries=4
most_packed=$((16 << 20)) most_unpacked=$((64 << 20)) # bytes; the largest file has 10 and 47 million
wait_seconds=${MINNOW_FETCH_WAIT:-1}
fail() {
  echo "MNIST: $*" >&2
  exit 1
}

# content FILE: its uncompressed content, up to a limit.
content() {
  case $1 in
    *.gz | *.part) gzip -dc "$1" 2>/dev/null | head -c "$most_unpacked" ;;
    *) head -c "$most_unpacked" "$1" ;;
  esac
}

# right FILE SUM: whether it is a complete file with this content.
right() {
  local sum
  sum=$(content "$1" | sha256sum) && [[ ${sum%% *} == "$2" ]]
}

# whole FILE: whether it decompresses without an error, so that wrong content is not due to a broken connection.
whole() { content "$1" >/dev/null; }

# check: whether each file is there and correct. The program reads the first name that exists.
check() {
  local sum name stem file found
  while read -r sum name; do
    [[ -n $name ]] || continue
    stem=${name%.gz} found=
    for file in "$stem" "$stem.gz" "${stem/-idx/.idx}" "${stem/-idx/.idx}.gz"; do
      [[ -e $dir/$file ]] && found=$dir/$file && break
    done
    [[ -n $found ]] || fail "$dir/$name is missing"
    right "$found" "$sum" || fail "$found is not the file it should be (SHA-256 differs)"
  done <"$sums"
}

# fetch NAME SUM: one file, resumed where the last try stopped, started again where that is impossible or gave a wrong file.
fetch() {
  local name=$1 sum=$2 part=$dir/.$1.part status try
  for ((try = 1; try <= tries; ++try)); do
    # curl stops at --max-filesize if the server sends the size, else at the limit of the shell.
    (
      trap '' XFSZ
      ulimit -f $((most_packed / 1024)) 2>/dev/null
      exec curl --fail --silent --location --connect-timeout 10 --speed-limit 1000 --speed-time 30 \
        --max-filesize "$most_packed" --continue-at - --output "$part" "$url/$name" 2>/dev/null
    )
    status=$?
    if [[ $status -eq 63 ]] || { [[ -e $part ]] && [[ $(wc -c <"$part") -ge $most_packed ]]; }; then
      rm -f "$part"
      fail "$url/$name has more than $((most_packed >> 20)) MB: it is not the file it should be"
    fi
    if [[ -s $part ]] && right "$part" "$sum"; then
      mv -f "$part" "$dir/$name" && return 0
      fail "cannot write to $dir"
    fi
    case $status in
      5 | 6 | 7 | 35 | 60 | 77) fail "cannot reach $url (no network?)" ;;
      23) fail "cannot write to $dir (disk full?)" ;;
      0) # Complete, and wrong: the part was another file's, or the server gives something else.
        if whole "$part" && ((try > 1)); then
          rm -f "$part"
          fail "$url/$name is not the file it should be (SHA-256 differs)"
        fi
        rm -f "$part" ;;
      22 | 33 | 36) # An HTTP error, or the server cannot resume: without a part the answer is final.
        [[ -s $part ]] || fail "$url/$name: the server refuses it (HTTP error)"
        rm -f "$part" ;;
      28) [[ -s $part ]] || fail "cannot reach $url (no answer)" ;;
      *) ;; # Broken off: the part stays, the next try resumes.
    esac
    ((try < tries)) && sleep "$wait_seconds"
  done
  fail "$url/$name did not arrive whole and right in $tries tries"
}

only_check=
[[ ${1:-} != --check ]] || {
  only_check=yes
  shift
}
if [[ $# -lt 1 || $# -gt 2 || $1 == -* ]]; then
  echo "usage: fetch_mnist.sh [--check] DIR [SUMS]" >&2
  exit 2
fi
dir=$1
sums=${2:-$(dirname "${BASH_SOURCE[0]}")/mnist.sha256}
tools=(gzip sha256sum)
[[ -n $only_check ]] || tools+=(curl)
for tool in "${tools[@]}"; do
  command -v "$tool" >/dev/null || fail "$tool is not installed"
done
if [[ -n $only_check ]]; then
  check
  exit
fi
mkdir -p "$dir" 2>/dev/null || fail "cannot make the folder $dir"
# Concurrent runs take turns, if flock is installed.
if command -v flock >/dev/null; then
  { exec 9>"$dir/.lock"; } 2>/dev/null || fail "cannot write to $dir"
  flock 9
fi
while read -r sum name; do
  [[ -n $name ]] || continue
  if [[ -e $dir/$name ]] && right "$dir/$name" "$sum"; then continue; fi
  fetch "$name" "$sum"
done <"$sums"
check # also that no other file stands before them

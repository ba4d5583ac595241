#!/usr/bin/env bash
# run.sh FOLDER [SECONDS] [JOBS]: runs each program fuzz_* of the folder, JOBS at a time, from its committed corpus.  Prints how
# many inputs each tried; fails where one found an input that breaks its reader, which is kept in FOLDER.
# MINNOW_FUZZ_RUNS: this many inputs each, in place of SECONDS.  MINNOW_FUZZ_SEED: of the random choices; without it each run
# has others.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$(realpath "$1") seconds=${2:-60} jobs=${3:-2}
export OMP_NUM_THREADS=1 ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=${MINNOW_FUZZ_LEAKS:-1}

run_one() {
  local name=$1 folder=$2 here=$3 seconds=$4 options=()
  local found=$folder/$name-corpus log=$folder/$name.txt
  mkdir -p "$found"
  [[ ! -e $here/$name.dict ]] || options+=("-dict=$here/$name.dict")
  if [[ -n ${MINNOW_FUZZ_RUNS:-} ]]; then options+=("-runs=$MINNOW_FUZZ_RUNS"); else options+=("-max_total_time=$seconds"); fi
  if "$folder/fuzz_$name" -rss_limit_mb=512 -malloc_limit_mb=128 -timeout=10 -max_len=8192 -print_final_stats=1 -seed="${MINNOW_FUZZ_SEED:-0}" \
    -artifact_prefix="$folder/$name-" "${options[@]}" "$found" "$here/corpus/$name" >"$log" 2>&1; then
    printf '%-12s %9s inputs, %6s a second, %s units of coverage\n' "$name" \
      "$(grep -o 'number_of_executed_units: .*' "$log" | grep -o '[0-9]*')" \
      "$(grep -o 'average_exec_per_sec: .*' "$log" | grep -o '[0-9]*')" \
      "$(grep -o ' cov: [0-9]*' "$log" | tail -1 | grep -o '[0-9]*')"
  else
    printf '%s: an input breaks it\n' "$name"
    tail -n 60 "$log"
    return 1
  fi
}
export -f run_one

programs=("$folder"/fuzz_*)
printf '%s\n' "${programs[@]##*/fuzz_}" |
  xargs -P "$jobs" -I{} bash -c 'run_one "$@"' _ {} "$folder" "$here" "$seconds"

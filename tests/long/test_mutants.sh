#!/usr/bin/env bash
# Wrong code fails a test: applies the one-line faults of mutants.tsv one at a time, in copies of the tree, and runs the
# test that must catch each. The tests must pass without a fault. A fault whose text does not occur exactly once, or that
# does not compile, is an error of the list. What a fault changed is taken back from the build, so that nothing is
# compiled twice; of kernels only the emulator's code is compiled. As many faults at a time as there are processors, of
# which four count. MUTANTS=REGEX: only the lines of the list that match. TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
limit_s=600 # of a test; one that a fault makes wait for ever is caught
processors=$(nproc)
[ "$processors" -le 4 ] || processors=4
export CMOCKA_MESSAGE_OUTPUT=TAP OMP_NUM_THREADS=2

mapfile -t mutants < <(grep -v '^#' tests/long/mutants.tsv | grep -E -- "${MUTANTS:-.}" |
  if grep -qw avx2 /proc/cpuinfo; then cat; else grep -v '^sim/simd/'; fi) # of whose kernels AVX2's are compiled
[ ${#mutants[@]} -gt 0 ] || { tap_result "the list has lines that match MUTANTS" 1; tap_done; }
# Made by other programs than the compiler of C, or for nothing that these tests run.
old=(build/{version,mujoco,nvcc,microhttpd}.stamp build/obj/{sim/device,trainer/ops/kernels}/kernels_{cuda,counted}.o
  build/pic/sim/simd/lanes_avx{512,2x2}.o)
home=(MUJOCO_HOME="${MUJOCO_HOME:-$SWEEP_BUILD/mujoco}" PROCGEN_HOME="${PROCGEN_HOME:-$SWEEP_BUILD/procgen}")

# run_test DIRECTORY BUILD TEST: the test's output; TEST: its program, and variables of the environment
run_test() {
  local name variables
  read -r name variables <<<"$3"
  # shellcheck disable=SC2086
  (cd "$1" && env $variables timeout -k 5 $limit_s "$2/tests/$name" 2>&1)
}

# judge DIRECTORY LINE: prints what is wrong with a fault; nothing where its test catches it
judge() {
  local file test what from to source rest code
  IFS=$'\t' read -r file test what from to <<<"$2"
  source=$(cat "$1/$file" && echo .) || { echo "no such file"; return; }
  rest=${source//"$from"/}
  [ $((${#source} - ${#rest})) -eq ${#from} ] || { echo "the text does not occur once: $from"; return; }
  cp -p "$1/$file" "$1/original"
  printf '%s' "${source/"$from"/"$to"}" | sed '$ s/\.$//' >"$1/$file"
  touch "$1/before"
  if ! make -C "$1" --no-print-directory OPTIMIZE=-O1 CFLAGS=-g0 "${home[@]}" "${old[@]/#/--old-file=}" "build/tests/${test%% *}" \
    >"$1/log" 2>&1; then
    echo "it does not compile:"
    grep -E 'error|undefined|\*\*\*' "$1/log" | head -3
  else
    run_test "$1" "$1/build" "$test" >/dev/null 2>&1; code=$? # 2: of the shell, if a fault makes the test crash
    case $code in 0) echo "no failure in $test" ;; 125|126|127) echo "$test does not start" ;; esac
  fi
  mv "$1/original" "$1/$file"
  (cd "$1" && find build -newer before -type f) | while read -r rest; do
    rm "$1/$rest"
    [[ $rest == build/tests/* ]] || cp -p "$SWEEP_BUILD/${rest#build/}" "$1/$rest"
  done
}

# work NUMBER: a copy of the tree and of what was compiled; then every so many faults, each with a file for what is wrong
work() {
  local copy=$tap_dir/$1 i part
  mkdir -p "$copy/build/tests"
  tar --exclude=./build --exclude=./.git -cf - . | tar -xf - -C "$copy"
  for part in obj pic archive nvcc.stamp mujoco.stamp version.stamp microhttpd.stamp; do
    [ ! -e "$SWEEP_BUILD/$part" ] || cp -a "$SWEEP_BUILD/$part" "$copy/build/"
  done
  for ((i = $1; i < ${#mutants[@]}; i += processors)); do
    judge "$copy" "${mutants[i]}" >"$tap_dir/wrong.$i" 2>&1
    echo "$i" >>"$tap_dir/done"
  done
}

while read -r test; do
  log=$(run_test . "$SWEEP_BUILD" "$test"); code=$?
  tap_check "$test passes without a fault" "$([ $code -eq 0 ] || echo "exit code $code"
    grep -E '^ok [0-9]+' <<<"$log" | grep -qv SKIP || echo "no test has run")"
done < <(printf '%s\n' "${mutants[@]}" | cut -f 2 | sort -u)
for ((worker = 0; worker < processors; worker++)); do work $worker & done
wait
for i in "${!mutants[@]}"; do
  IFS=$'\t' read -r file test what _ <<<"${mutants[i]}"
  tap_check "$file: $what ($test)" "$(cat "$tap_dir/wrong.$i" 2>&1)"
done
tap_done

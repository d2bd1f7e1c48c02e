#!/usr/bin/env bash
# Two threads on one processor: the trainer reduces them to one, reports it, and gives the results of any other number
# of threads. TAP.
set -u
. "$(dirname "$0")/tap.sh"
. tests/fault/resume.sh
cat >"$tap_dir/small.ini" <<'INI'
[env]
num = 32
[ppo]
num_steps = 64
num_minibatches = 8
[train]
total_steps = 60000
[net]
width = 64
depth = 2
[eval]
count = 0
INI
command -v taskset >/dev/null || { tap_skip "threads" "no taskset here"; tap_done; }
first=$(taskset -pc $$ | sed 's/.*: //; s/[,-].*//') # a processor that this may use
together() { # ROOT: two threads on it
  mkdir -p "$tap_dir/$1"
  taskset -c "$first" trainer --config "$tap_dir/small.ini" --root "$tap_dir/$1" --set train.threads=2 --quiet
}
says() { grep -h "other programs use the processors" "$tap_dir/$1"/runs/*/*/log.txt; }

train one --set train.threads=1 --quiet; tap_result "one thread" $?
together two; tap_result "two threads on one processor" $?
tap_result "one of them is used, and the log says so once" \
  "$([ "$(says two | grep -c "1 of 2 threads")" = 1 ] && [ "$(says two | wc -l)" = 1 ]; echo $?)" "$(says two)"
same_bytes "the same bytes" one two
TRAINER_THREADS=fixed together fixed; tap_result "two threads that are to stay" $?
tap_check "stay" "$(says fixed)"
tap_done

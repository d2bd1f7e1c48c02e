#!/usr/bin/env bash
# SFL on the command line: a complete small run, stopped and killed runs that end with the same bytes, the output of
# plans and logs, and invalid settings. TAP.
set -u
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/../fault/pace.sh"
tap_cleanup() { kill -9 $(jobs -p) 2>/dev/null; rm -rf "$tap_dir"; }
cd "$tap_dir"
cat >small.ini <<'INI'
[env]
task = random_s
curriculum = sfl
level_count = 10
num = 32
max_steps = 24
[train]
threads = 1
total_steps = 30720
[ppo]
num_steps = 24
num_minibatches = 32
minibatch_by = environments
epochs = 1
[sfl]
batch_size = 64
num_batches = 2
rollout_steps = 48
buffer_size = 16
period = 7
[net]
width = 16
depth = 1
[eval]
episodes = 20
count = 4
[checkpoint]
every = 0
INI
folder() { echo "$1"/runs/*/*; }
newest() { ls "$1"/runs/*/*/ckpt/iteration-*.ckpt 2>/dev/null | tail -1; }
contents() { trainer checkpoint "$(newest "$1")" 2>&1 | grep -vE '^file|section +clock'; }
# Column values by name, one line per iteration, over all attempts; the last attempt's line counts.
column() { # root name...
  local root=$1; shift
  cat $(ls -v "$(folder "$root")"/stats.*.tsv) | awk -F'\t' -v names="$*" '/^#/ { next }
    $1 == "iteration" { for (i = 1; i <= NF; i++) { name = $i; sub(/\[.*/, "", name); at[name] = i }; next }
    length($NF) == 8 { line = $1; k = split(names, wanted, " "); for (i = 1; i <= k; i++) line = line " " wanted[i] "=" $at[wanted[i]]; row[$1] = line }
    END { for (r in row) print row[r] }' | sort -n
}

tap_expect "the plan shows the distribution of levels" 0 'in every iteration 16 environments on new levels, 16 on the 16 most learnable of 128, searched every 7' \
  trainer --config small.ini --dry-run
mkdir reference killed
tap_expect "a run finishes" 0 'finished, 40 of 40 iterations' trainer --config small.ini --root reference
tap_check "new and sampled levels are logged in every iteration, the search in its own" "$(
  column reference solve_rate_new solve_rate_sampled search_solve_rate search_learnability buffer_learnability seconds_levels |
  awk '/solve_rate_new= |sampled= |seconds_levels=$/ { print } { searched = $0 !~ /search_solve_rate= .*buffer_learnability= / }
    searched != (($1 - 1) % 7 == 0) { print "search: " $0 } END { if (NR != 40) print NR " lines" }')"
tap_check "the buffer's levels were worth more than those searched" "$(column reference search_learnability buffer_learnability |
  awk '{ split($2, a, "="); split($3, b, "=") } a[2] != "" && !(b[2] > a[2] && b[2] <= 0.25) { print }')"
tap_check "every evaluation is of the fixed set" "$(grep -v '^#' "$(folder reference)/eval.1.tsv" | awk -F'\t' '
  NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } $at["episodes[episodes]"] != 20 { print } END { if (NR != 6) print NR " lines" }')"
tap_check "a checkpoint holds the buffer and no worlds" "$(contents reference | grep -q 'level buffer' || echo "no buffer"
  contents reference | grep -E 'section +(environment|observations)')"

mkdir sets
tap_expect "more sets are evaluated, new levels getting their slots" 0 'finished, 40 of 40' trainer --config small.ini --root sets \
  --set env.size=m --set eval.levels=random_m
tap_check "each evaluation under its set's name" "$(grep -v '^#' "$(folder sets)/eval.1.tsv" | awk -F'\t' 'NR > 1 { n[$2]++ }
  END { if (n["train"] != 5 || n["random_m"] != 5) for (s in n) print s, n[s] }')"
kinetix=$OLDPWD/../shared/data/kinetix_levels
if [ -d "$kinetix/s" ]; then
  tap_expect "hand-designed levels are such a set" 0 'finished, 40 of 40' trainer --config small.ini --root sets \
    --set eval.levels=kinetix_s --set "env.level_folder=$kinetix"
else
  tap_skip "hand-designed levels are such a set" "no ../shared/data/kinetix_levels here"
fi

moved() { [ "$(newest killed)" != "$before" ]; }
hold
ends=
for signal in TERM KILL TERM KILL TERM KILL; do
  before=$(newest killed)
  "$paced" --config small.ini --root killed --quiet --resume & pid=$!
  tap_wait 60 moved
  kill -$signal $pid
  wait $pid 2>/dev/null; ends+="$? "
done
fast
tap_check "six times it is stopped or killed" "$([ "$ends" = "75 137 75 137 75 137 " ] || echo "exit codes $ends")"
tap_expect "a stopped and killed run resumes" 0 'finished, 40 of 40' trainer --config small.ini --root killed --resume
tap_check "and ends with the same checkpoint and rows" "$(diff <(contents reference) <(contents killed) | head -5
  rows="kl solve_rate solve_rate_new solve_rate_sampled search_solve_rate search_learnability buffer_learnability entropy"
  diff <(column reference $rows) <(column killed $rows) | head -5)"

tap_expect "M of the paper that does not divide N" 2 'env.num = 32 cannot be divided into ppo.num_minibatches = 1024' \
  trainer --config small.ini --set ppo.num_minibatches=1024 --dry-run
tap_expect "M of the paper that does" 0 'updates +8192 per iteration, 192 transitions each' trainer --config small.ini --dry-run \
  --set env.num=65536 --set ppo.num_minibatches=8192
tap_expect "a ratio above 1" 2 'sfl.sampled_ratio' trainer --config small.ini --set sfl.sampled_ratio=1.5
tap_expect "a buffer larger than the search" 2 'sfl.buffer_size = 500 is more than the 128' trainer --config small.ini --set sfl.buffer_size=500
tap_expect "a task without generator" 2 'needs a level generator' trainer --config small.ini --set env.task=loco512
tap_expect "episodes longer than rollouts" 2 'at least env.max_steps' trainer --config small.ini --set env.max_steps=25
tap_expect "a million environments are refused with numbers and settings" 1 'worlds [0-9.]+ GB.*lower env.num' trainer --config small.ini \
  --set env.task=random_l --set env.num=1048576 --set ppo.num_steps=256
tap_done

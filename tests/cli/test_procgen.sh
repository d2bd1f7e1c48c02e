#!/usr/bin/env bash
# Procgen's games on the command line: errors name what is missing and the remedy; a stopped and resumed run ends with
# the bytes of an uninterrupted one; threads change nothing. TAP.
set -u
. tests/cli/tap.sh
. tests/fault/pace.sh
. tests/fault/resume.sh
. tests/cli/procgen.sh
cat >"$tap_dir/small.ini" <<'INI'
[env]
task = procgen/maze
num = 4
[procgen]
num_levels = 3
[train]
threads = 1
total_steps = 640
[ppo]
num_steps = 16
num_minibatches = 2
epochs = 1
[net]
width = 4
depth = 1
[eval]
count = 0
[checkpoint]
every = 0
INI
dry() { trainer --config "$tap_dir/small.ini" --dry-run "$@"; }

tap_run "a game nearly right" 2 "did you mean procgen/coinrun" dry --set env.task=procgen/coinrum
tap_run "a mode that is none" 2 "procgen.mode = tiny is not one of" dry --set procgen.mode=tiny
tap_run "the list has games" 0 "procgen/starpilot" trainer tasks
mkdir "$tap_dir/empty"
empty() { PROCGEN_HOME=$tap_dir/empty dry; }
tap_run "a folder without a library" 2 "run \`make procgen\`, or set PROCGEN_HOME" empty
if ! dry >"$tap_dir/out" 2>&1; then
  tap_skip "the rest" "$(tail -n 1 "$tap_dir/out")"
  tap_done
fi
mkdir -p "$tap_dir/text/procgen/data/"{prebuilt,assets}; echo "no library" >"$tap_dir/text/procgen/data/prebuilt/libenv.so"
text() { PROCGEN_HOME=$tap_dir/text dry; }
tap_run "a library that is none" 2 "libenv.so: " text
echo "int libenv_version(void) { return 7; }" >"$tap_dir/other.c"
gcc -shared -fPIC -o "$tap_dir/text/procgen/data/prebuilt/libenv.so" "$tap_dir/other.c"
tap_run "a library without the functions" 2 "has no libenv_make" text

quick_pictures
tap_run "a run trains to its end" 0 "finished, 10 of 10 iterations" train whole
stopped_and_resumed parts
tap_result "a stop saves it, and it resumes" $?
same_bytes "stopped and resumed: the bytes of an undisturbed run" whole parts
train threads --quiet --set train.threads=2
same_bytes "two threads: the same bytes" whole threads
train levels --quiet --set procgen.num_levels=0
tap_result "other levels: other bytes" "$(cmp -s <(contents whole) <(contents levels) && echo 1 || echo 0)"

# ---- evaluations on levels that are not trained on
sets() { cut -f 1-7 "$tap_dir/$1"/runs/*/*/eval.*.tsv | tr ',' '\n' | grep -oE '^(train|all|[0-9]+-[0-9]+)$|	(train|all|[0-9]+-[0-9]+)(	|$)' | tr -d '\t' | sort -u | tr '\n' ' '; }
evaluated=(--set eval.count=1 --set eval.episodes=6 --set env.task=procgen/coinrun --set train.total_steps=64)
# is NAME ROOT WANTED: the sets of its evaluations
is() { tap_result "$1" "$([ "$(sets "$2")" = "$3" ]; echo $?)" "$(sets "$2"), wanted $3"; }
train few --quiet "${evaluated[@]}"
is "three levels are trained on: evaluations are on them and on all" few "all train "
train none --quiet "${evaluated[@]}" --set eval.levels=none
is "none: on them alone" none "train "
train ranges --quiet "${evaluated[@]}" --set eval.levels=1000-1499+all+7-7
is "by number" ranges "1000-1499 7-7 all train "
train endless --quiet "${evaluated[@]}" --set procgen.num_levels=0
is "all are trained on: there are no others" endless "train "
trained() { contents "$1" | grep -v '^run '; } # two configurations are two runs
tap_check "evaluation sets change no byte of the training" "$(diff <(trained few) <(trained ranges))"
tap_run "levels that are none" 2 "eval.levels: 9-3 is not a set of Procgen levels" dry "${evaluated[@]}" --set eval.levels=9-3
tap_run "a folder is none" 2 "eval.levels: kinetix_s is not a set of Procgen levels" dry "${evaluated[@]}" --set eval.levels=all+kinetix_s

# ---- pixels as bytes
impala=(--set net.encoder=impala --set train.total_steps=192)
train pixels --quiet "${impala[@]}"
stopped_and_resumed pixel_parts "${impala[@]}"
tap_result "an encoder of pixels, stopped and resumed" $?
same_bytes "ends with the bytes of an undisturbed run" pixels pixel_parts
train pixel_layers --quiet "${impala[@]}" --set metrics.layers=yes --set metrics.representation_every=1 >/dev/null
layers=$(awk -F'\t' '$2 == "actor" { print $3 }' "$tap_dir"/pixel_layers/runs/*/*/layers.1.tsv | sort -n | tail -n 1)
tap_result "15 convolutions, a hidden layer and the head have rows" "$([ "$layers" = 17 ]; echo $?)" "the last is $layers"
tap_done

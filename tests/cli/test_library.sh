#!/usr/bin/env bash
# User environments in C: the documented example trains and resumes bit for bit, errors have messages, and sweeps run
# such a library only if the user trusts it. TAP.
set -u
. tests/cli/tap.sh
. tests/fault/pace.sh
. tests/fault/resume.sh
mkdir -p "$tap_dir/include/sweep"
cp trainer/envs/library/environment.h "$tap_dir/include/sweep/"
compile() { # source library
  gcc -O2 -std=c17 -Wall -Wextra -Werror -shared -fPIC -I"$tap_dir/include" -o "$2" "$1"
}
library=$tap_dir/corridor.so
tap_run "the example compiles without warnings" 0 "" compile docs/examples/corridor.c "$library"
echo '#include <sweep/environment.h>' >"$tap_dir/header.cc"
if command -v g++ >/dev/null; then tap_run "the header is C++ too" 0 "" g++ -fsyntax-only -I"$tap_dir/include" "$tap_dir/header.cc"; fi
cat >"$tap_dir/sweep.ini" <<INI
[sweep]
name = corridor
[env]
task = library:$library/corridor
num = 16
[train]
threads = 1
total_steps = 20480
[ppo]
num_steps = 32
num_minibatches = 4
epochs = 4
learning_rate = 3e-3
[net]
width = 16
depth = 1
[eval]
count = 2
episodes = 64
[checkpoint]
every = 0
INI
sed '/^\[sweep\]/,/^name/d' "$tap_dir/sweep.ini" >"$tap_dir/small.ini"

# ---- as many actions as two arms with a hand each, on the CPU and on the emulated device
arms=$tap_dir/arms.so
tap_run "an environment of many actions compiles" 0 "" compile tests/cli/environments/arms.c "$arms"
reach() { # NAME OPTIONS...
  local task=$1; shift
  train "arms-$RANDOM" --quiet --set "env.task=library:$arms/$task" --set train.total_steps=2560 --set eval.count=1 "$@"
}
tap_run "SAPG trains on 46 continuous actions" 0 "" reach two --set algo.name=sapg --set sapg.blocks=4
tap_run "PPO does on a device" 0 "" env CORE_DEVICE=emulated trainer --config "$tap_dir/small.ini" --quiet --root "$tap_dir/device" \
  --set "env.task=library:$arms/two" --set train.device=cuda --set train.total_steps=1024 --set eval.count=1
tap_run "64 discrete actions are possible" 0 "" reach most
tap_run "65 are not" 2 "65 factors and 0 values; expected 1 to 64 of one of them" reach excess

# ---- training, stop and resume
tap_run "a run trains to its end, and finds the way out" 0 "solve rate 100" train whole
stopped_and_resumed parts
tap_result "a stop saves it, and it resumes" $?
same_bytes "stopped and resumed: the bytes of an undisturbed run" whole parts
train threads --quiet --set train.threads=2
same_bytes "two threads: the same bytes" whole threads

# ---- worlds that cannot be saved go on with other episodes
sed -e 's/.state_bytes = sizeof(Corridor)/.state_bytes = 0/' -e 's/#include <stdlib.h>/#include <stdio.h>\n&/' \
  -e 's/^  show(corridor, observation);\n}/&/; /PLACES \/ 2 - 1/a\  FILE *seeds = fopen(getenv("CORRIDOR_SEEDS"), "a");\n  fprintf(seeds, "%llu\\n", (unsigned long long)seed);\n  fclose(seeds);' \
  docs/examples/corridor.c >"$tap_dir/unsaved.c"
gcc -O1 -shared -fPIC -I"$tap_dir/include" -o "$tap_dir/unsaved.so" "$tap_dir/unsaved.c"
export CORRIDOR_SEEDS=$tap_dir/seeds
cp "$tap_dir/small.ini" "$tap_dir/saved.ini"
sed -i -e "s|corridor.so/|unsaved.so/|" -e 's/^count = 2/count = 0/' "$tap_dir/small.ini"
stopped_and_resumed unsaved --set train.seed=7
tap_result "a library without states is stopped, and resumes" $?
mv "$tap_dir/seeds" "$tap_dir/all_seeds"
train other --quiet --set train.seed=8 # random play that the box of the coverage comes from is the same in every process
mv "$tap_dir/saved.ini" "$tap_dir/small.ini"
grep -vxF -f "$tap_dir/seeds" "$tap_dir/all_seeds" >"$tap_dir/own_seeds"
tap_result "no episode is played twice ($(wc -l <"$tap_dir/own_seeds") of them)" \
  "$([ -s "$tap_dir/own_seeds" ] && [ -z "$(sort "$tap_dir/own_seeds" | uniq -d)" ]; echo $?)" \
  "$(sort "$tap_dir/own_seeds" | uniq -c | sort -rn | head -3)"

# ---- errors
dry() { trainer --config "$tap_dir/small.ini" --dry-run --set env.task="$1"; }
tap_run "no file" 2 "none.so: cannot open" dry "library:$tap_dir/none.so/corridor"
tap_run "no name" 2 "must be library:FILE/NAME" dry "library:corridor.so"
tap_run "no environment of that name" 2 "has no environment maze" dry "library:$library/maze"
wrong() { # name message sed-script
  sed "$3" docs/examples/corridor.c >"$tap_dir/wrong.c"
  gcc -O1 -shared -fPIC -I"$tap_dir/include" -o "$tap_dir/wrong.so" "$tap_dir/wrong.c"
  tap_run "$1" 2 "$2" dry "library:$tap_dir/wrong.so/corridor"
}
wrong "a function that is not there" "has no sweep_environment_step" 's/sweep_environment_step/step/'
wrong "another version" "with version 0 of environment.h" 's/return SWEEP_ENVIRONMENT_VERSION/return 0/'
wrong "no observations" "has empty observations" 's/.observations = PLACES/.observations = 0/'
wrong "no actions" "0 factors and 0 values" 's/.factors = 1/.factors = 0/'
wrong "too many classes" "300 classes" 's/{2}/{300}/'
wrong "a world that cannot be put back" "no sweep_environment_save" 's/sweep_environment_load/load/'
wrong "a saved world that no memory holds" "state_bytes = 18446744073709551600; the maximum is 1073741824" \
  's/.state_bytes = sizeof(Corridor)/.state_bytes = (size_t)-16/'
wrong "too many observations" "observations have 2000000000 values; the maximum is" 's/.observations = PLACES/.observations = 2000000000/'
wrong "a limit that is none" "expected 1 to 1048576 steps" 's/.limit = LIMIT/.limit = 2147483647/'
# ends NAME CODE STATEMENT: the library runs STATEMENT in its sixth step; the run has failed, and its state says why
ends() {
  sed -e 's/#include <stdlib.h>/&\n#include <pthread.h>\n#include <signal.h>\n#include <unistd.h>/' -e "s/^  result->reward = /  if (corridor->steps == 6) $3;\n&/" \
    docs/examples/corridor.c >"$tap_dir/ends.c"
  gcc -O1 -shared -fPIC -I"$tap_dir/include" -o "$tap_dir/ends.so" "$tap_dir/ends.c" || return
  rm -rf "$tap_dir/ends"
  tap_run "$1" "$2" "ends.so/corridor" train ends --set "env.task=library:$tap_dir/ends.so/corridor" --set train.total_steps=2048 --set train.threads=${threads:-1}
  tap_run "which the state says" 0 "message=$4" grep -A30 "^status=failed" "$tap_dir"/ends/runs/*/*/state
}
ends "a library that calls exit(0)" 1 'exit(0)' "library:$tap_dir/ends.so/corridor called exit(0)"
ends "a library that calls _exit(7)" 1 '_exit(7)' "library:$tap_dir/ends.so/corridor called exit(7)"
for threads in 1 2; do
  ends "a library that ends one of $threads threads" 1 'pthread_exit(NULL)' "library:$tap_dir/ends.so/corridor ended its thread (pthread_exit)"
  ends "one that cancels its thread" 1 'pthread_cancel(pthread_self()); pthread_testcancel()' "library:$tap_dir/ends.so/corridor ended its thread (pthread_exit)"
done
unset threads
ends "a library that aborts" 134 'abort()' "signal 6 (Aborted) in library:"
ends "a library that writes to nowhere" 139 'raise(SIGSEGV)' "signal 11 (Segmentation fault) in library:"
sed 's/^int sweep_environment_version(void) {/&\n  exit(0);/' docs/examples/corridor.c >"$tap_dir/wrong.c"
gcc -O1 -shared -fPIC -I"$tap_dir/include" -o "$tap_dir/wrong.so" "$tap_dir/wrong.c"
tap_run "exit() while a run is planned" 1 "called exit(0)" dry "library:$tap_dir/wrong.so/corridor"
sed 's/result->reward = .*/result->reward = 0.0f \/ (float)(corridor->place - 3);/' docs/examples/corridor.c >"$tap_dir/nan.c"
gcc -O1 -shared -fPIC -I"$tap_dir/include" -o "$tap_dir/nan.so" "$tap_dir/nan.c"
tap_run "values that are not finite end episodes, and are reported" 0 "reached NaN or infinity" \
  train nan --set "env.task=library:$tap_dir/nan.so/corridor" --set train.total_steps=2048
sed '/^void sweep_environment_reset/,/^}/s/^}/  observation[0] = 0.0f \/ 0.0f;\n}/' docs/examples/corridor.c >"$tap_dir/nanreset.c"
gcc -O1 -w -shared -fPIC -I"$tap_dir/include" -o "$tap_dir/nanreset.so" "$tap_dir/nanreset.c"
tap_run "an observation that a reset returns is named" 1 "the environment returned it" \
  train nanreset --set "env.task=library:$tap_dir/nanreset.so/corridor" --set train.total_steps=2048

# ---- sweeps
root=$tap_dir/workspace
mkdir "$root"
plan() { sweep plan "$tap_dir/sweep.ini" --root "$root" "$@"; }
submit() { sweep submit "$tap_dir/sweep.ini" --root "$root" --local --wait "$@"; }
tap_run "a plan names the code, and its hash" 0 "brings code that you have not trusted: $library (BLAKE2b $(b2sum -l 128 "$library" | cut -c1-32))" plan
tap_run "and a submit refuses it" 2 "pass --trust once" submit
tap_run "with --no-check too" 2 "pass --trust once" submit --no-check
tap_result "nothing has run" "$([ ! -e "$root/runs" ]; echo $?)"
tap_run "once trusted it runs" 0 "" submit --trust
tap_run "the user's list has it" 0 "$library" cat "$XDG_CONFIG_HOME/sweep/trusted"
tap_check "and only the owner may write it" "$([ "$(stat -c %a "$XDG_CONFIG_HOME/sweep/trusted")" = 600 ] || stat -c %a "$XDG_CONFIG_HOME/sweep/trusted")"
tap_result "the workspace has no such list" "$([ ! -e "$root/trusted" ]; echo $?)"
tap_run "so a plan is checked" 0 "the trainer would start it" plan
chmod g+w "$XDG_CONFIG_HOME/sweep/trusted"
tap_run "a list that others may write does not count" 1 "writable by no other" submit
chmod g-w "$XDG_CONFIG_HOME/sweep/trusted"
mv "$XDG_CONFIG_HOME" "$tap_dir/others"; cp "$tap_dir/others/sweep/trusted" "$root"
tap_run "nor one of the workspace" 0 "that you have not trusted" plan
mkdir -p "$tap_dir/home/.config"; mv "$tap_dir/others/sweep" "$tap_dir/home/.config"
tap_run "without XDG_CONFIG_HOME it is that of the home" 0 "the trainer would start it" env -u XDG_CONFIG_HOME HOME="$tap_dir/home" sweep plan "$tap_dir/sweep.ini" --root "$root"
mkdir "$XDG_CONFIG_HOME"; mv "$tap_dir/home/.config/sweep" "$XDG_CONFIG_HOME"
sed -e 's/#include <stdlib.h>/&\n#include <sys\/syscall.h>\n#include <unistd.h>/' -e 's/^  result->reward = /  if (corridor->steps == 6) syscall(SYS_exit_group, 0);\n&/' \
  docs/examples/corridor.c >"$tap_dir/gone.c"
mkdir "$tap_dir/gone"
gcc -O1 -shared -fPIC -I"$tap_dir/include" -o "$tap_dir/gone.so" "$tap_dir/gone.c"
sed -e "s|corridor.so/|gone.so/|" "$tap_dir/sweep.ini" >"$tap_dir/gone.ini"
tap_expect "a process that a library ends by a system call has not finished its run" 1 "1 failed" \
  sweep submit "$tap_dir/gone.ini" --root "$tap_dir/gone" --local --wait --trust
tap_expect "which the status says" 0 "failed .*ended with exit code 0 before the run had finished" \
  sweep status corridor --runs --root "$tap_dir/gone"
sed 's/LIMIT = 50/LIMIT = 51/' docs/examples/corridor.c >"$tap_dir/changed.c"
compile "$tap_dir/changed.c" "$library"
tap_run "another file under that name is another one" 0 "that you have not trusted" plan

# ---- commands that would run an untrusted library
cat >"$tap_dir/loud.c" <<C
#include <stdio.h>
__attribute__((constructor)) static void begin(void) { FILE *f = fopen("$tap_dir/ran", "a"); if (f) fclose(f); }
C
gcc -O1 -shared -fPIC -o "$library" "$tap_dir/loud.c"
tap_run "a plan of it" 0 "that you have not trusted" plan
tap_run "a submission" 2 "that you have not trusted" submit
tap_run "more seeds" 2 "that you have not trusted" sweep submit corridor --seeds 3 --root "$root" --local --wait
tap_run "a trainer that sweep starts" 2 "that you have not trusted" \
  trainer --root "$root" --set "env.task=library:$library/corridor" --trusted-only --quiet
tap_run "nor does a check of configurations load it" 0 "that you have not trusted" trainer check-configs \
  <<<"env.task=library:$library/corridor"$'\n'
if [ "$(id -u)" = 0 ]; then # a run of another user
  one=$(ls -d "$root"/runs/*/* | head -1); chown 12345 "$one/config.ini"
  tap_run "another user's run is not played" 2 "that you have not trusted" trainer play --checkpoint "$one" -o "$tap_dir/play.gif"
  chown 0 "$one/config.ini"
fi
cp "$library" "$tap_dir/kept.so"; compile docs/examples/corridor.c "$library"
tap_run "a sweep of it is prepared" 0 "" sweep submit "$tap_dir/sweep.ini" --root "$root" --local --no-start --trust --set env.num=8
cp "$tap_dir/kept.so" "$library" # changed between the submission and the start
tap_run "and refused when it has changed since" 2 "that you have not trusted" sweep submit corridor --root "$root" --local --wait
tap_result "nothing of it has run" "$([ ! -e "$tap_dir/ran" ]; echo $?)"
tap_done

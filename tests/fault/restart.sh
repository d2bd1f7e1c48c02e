# Sourced by tests that interrupt a trainer (fault/test_trainer_restart.sh, long/test_many_kills.sh): a small run with a
# checkpoint after each iteration, and a comparison of two results. `steps` overrides its budget.
. "$(dirname "${BASH_SOURCE[0]}")/../cli/tap.sh"
. "$(dirname "${BASH_SOURCE[0]}")/pace.sh"
work=$tap_dir mounted=
tap_cleanup() { kill -9 $(jobs -p) 2>/dev/null; [ -n "$mounted" ] && umount "$mounted"; rm -rf "$work"; }
cat >"$work/small.ini" <<INI
[env]
morphologies = car
difficulty = 0
level_count = 4
num = 8
[train]
threads = 1
total_steps = ${steps:-25600}
[algo]
name = ppo_ewma
[ppo]
num_steps = 16
num_minibatches = 2
epochs = 1
ewma_rule = bias_corrected
lr_schedule = linear
[net]
width = 16
depth = 1
[eval]
episodes = 4
count = 6
[checkpoint]
every = 0
INI
train() { # root options...
  local root=$1; shift
  mkdir -p "$root"
  trainer --config "$work/small.ini" --root "$root" --quiet "$@"
}
start() { # root options...: the same in the background; sets pid
  local root=$1; shift
  mkdir -p "$root"
  "$paced" --config "$work/small.ini" --root "$root" --quiet "$@" & pid=$!
}
folder() { echo "$1"/runs/*/*; }
state() { sed -n "s/^$2=//p" "$(folder "$1")/state"; }
newest() { ls "$(folder "$1")"/ckpt/iteration-*.ckpt | tail -1; }
# Contents of a checkpoint, without the clock and the file's own name.
contents() { trainer checkpoint "$(newest "$1")" 2>&1 | grep -vE '^file|section +clock'; }
# One line an iteration (the last attempt's), less timing and checksums; "differs" lines where two attempts disagree.
rows() { # root kind
  cat $(ls -v "$(folder "$1")/$2".*.tsv) | awk -F'\t' -v OFS='\t' '
    /^#/ { next }
    $1 == "iteration" { fields = NF; for (i = 1; i <= NF; i++) drop[i] = $i ~ /^(steps_per_second|seconds_|wall_seconds|crc32)/; next }
    NF != fields || length($NF) != 8 { next }
    { line = $1; for (i = 2; i <= NF; i++) if (!drop[i]) line = line OFS $i
      if ($1 in seen && seen[$1] != line) print "differs " line
      seen[$1] = line }
    END { for (k in seen) print seen[k] }' | sort -n
}
same_as_reference() { # root [reference]
  local reference=${2:-$work/reference}
  diff <(contents "$reference") <(contents "$1") | head -5
  diff <(rows "$reference" stats) <(rows "$1" stats) | head -5
  diff <(rows "$reference" eval) <(rows "$1" eval) | head -5
}
has_checkpoint() { compgen -G "$1/runs/*/*/ckpt/iteration-*.ckpt" >/dev/null; }

newest_name() { ls "$1"/runs/*/*/ckpt 2>/dev/null | grep 'ckpt$' | tail -1; }
# A checkpoint newer than `before` is there, or the process is not.
moved_or_ended() { [ "$(newest_name "$1")" != "$before" ] || ! kill -0 $pid 2>/dev/null; }
# Starts the run, which does an iteration and waits, and ends it with that signal. Sets code, 137 after SIGKILL.
interrupt() { # signal root options...
  local signal=$1 root=$2; shift 2
  before=$(newest_name "$root")
  hold
  start "$root" "$@" --resume
  tap_wait 60 moved_or_ended "$root" || echo "# no checkpoint before SIG$signal"
  kill "-$signal" $pid 2>/dev/null
  wait $pid 2>/dev/null
  code=$?
  fast
}
# Starts the run again and again and kills it, by turns at a random moment of its full speed and behind its next
# checkpoint, until it was killed alive so many times. A run that came to its end before that was too fast for the waits:
# it starts over with half of them, so that it takes no luck on any machine. Sets kills.
kill_often() { # root kills longest-wait-in-ms
  local longest=$3
  kills=0 RANDOM=4
  while [ $kills -lt "$2" ]; do
    if [ $((kills % 2)) -eq 0 ]; then
      start "$1" --resume
      sleep "0.$(printf %03d $((RANDOM % longest)))"
      kill -9 $pid 2>/dev/null
      wait $pid 2>/dev/null
      code=$?
    else
      interrupt KILL "$1"
    fi
    if [ $code -eq 137 ]; then
      kills=$((kills + 1))
    else
      rm -rf "${1:?}/runs"
      longest=$((longest / 2 + 1)) kills=0
    fi
  done
}
# The process keeps stops instead of dying of them, or is gone: it is a trainer by now (a shell before, with traps of its
# own), and has a handler for SIGTERM (core/signals.c).
expects_stop() {
  local program caught
  program=$(readlink "/proc/$pid/exe") # first: the mask of signals is the trainer's then, not the shell's before it
  caught=$(sed -n 's/^SigCgt:\s*//p' "/proc/$pid/status" 2>/dev/null)
  [ -n "$caught" ] || return 0
  case $program in *trainer) (( 0x$caught & 0x4000 )) ;; *) return 1 ;; esac
}
# Starts the run again and again and stops it by SIGTERM, SIGINT, SIGUSR1 and SIGUSR2 in turn, each at a random moment of
# its start or its full speed, so many times. One that ends before that starts over, as in kill_often. Sets stops, and
# problems: each exit code that was not 75. `launcher` may be (mpirun -n 2), `options` more of the trainer's.
launcher=() options=()
stop_often() { # root stops longest-wait-in-ms
  local root=$1 longest=$3 signals=(TERM INT USR1 USR2) signal code
  stops=0 problems= RANDOM=5
  mkdir -p "$root"
  while [ $stops -lt "$2" ]; do
    signal=${signals[stops % 4]}
    "${launcher[@]}" "$paced" --config "$work/small.ini" --root "$root" --quiet "${options[@]}" --resume 2>"$root/said" & pid=$!
    tap_wait 60 expects_stop || problems+="stop $stops: the trainer never expects one"$'\n'
    sleep "0.$(printf %03d $((RANDOM % longest)))"
    kill "-$signal" $pid 2>/dev/null
    wait $pid 2>/dev/null
    code=$?
    if [ $code -eq 0 ]; then
      rm -rf "${root:?}/runs"
      longest=$((longest / 2 + 1)) stops=0
    else
      [ $code -eq 75 ] || problems+="stop $stops by SIG$signal: exit $code: $(tail -1 "$root/said")"$'\n'
      stops=$((stops + 1))
    fi
  done
}
# The undisturbed run, the same one stopped so often and resumed to its end: one test. `options` as above.
stops_change_nothing() { # name stops longest-wait-in-ms
  train "$work/reference.$stopped_runs" "${options[@]}" || echo "# the undisturbed run: exit $?"
  stop_often "$work/stopped.$stopped_runs" "$2" "$3"
  train "$work/stopped.$stopped_runs" "${options[@]}" --resume || problems+="then: exit $?"$'\n'
  tap_check "$1: stopped $stops times, exit code 75 each time, then the rows and checkpoint of an undisturbed run" \
    "$problems$(same_as_reference "$work/stopped.$stopped_runs" "$work/reference.$stopped_runs")"
  stopped_runs=$((stopped_runs + 1))
}
stopped_runs=0

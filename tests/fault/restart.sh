# Sourced by tests that interrupt a trainer (fault/test_trainer_restart.sh, long/test_many_kills.sh): a small run with a
# checkpoint after each iteration, and whether two of them ended alike. `steps` overrides its budget.
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
newest() { ls "$(folder "$1")"/ckpt/*.ckpt | tail -1; }
# What a checkpoint holds, less the clock and the file's own name.
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
has_checkpoint() { compgen -G "$1/runs/*/*/ckpt/*.ckpt" >/dev/null; }

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

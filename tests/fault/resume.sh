# Sourced after cli/tap.sh and fault/pace.sh by tests that train $tap_dir/small.ini in directories of $tap_dir, stop it,
# resume it, and compare checkpoints.
# train ROOT OPTIONS...
train() {
  local root=$tap_dir/$1; shift
  mkdir -p "$root"
  trainer --config "$tap_dir/small.ini" --root "$root" "$@"
}
newest() { ls "$tap_dir/$1"/runs/*/*/ckpt/iteration-*.ckpt 2>/dev/null | tail -1; } # ROOT: its newest checkpoint
# Contents without the clock and the file's own name.
contents() { trainer checkpoint "$(newest "$1")" | grep -vE '^file|section +clock'; }
# same_bytes NAME ROOT ROOT: a test
same_bytes() {
  tap_result "$1" "$([ -s "$(newest "$2")" ] && cmp -s <(contents "$2") <(contents "$3"); echo $?)" \
    "$(diff <(contents "$2") <(contents "$3"))"
}
has_checkpoint() { ls "$tap_dir/$1"/runs/*/*/ckpt/*[1-9].ckpt >/dev/null 2>&1; }
children_of() { grep -lE "^PPid:[[:space:]]+$1\$" /proc/[0-9]*/status 2>/dev/null | cut -d/ -f3; } # a bare Debian has no pgrep
# stopped ROOT OPTIONS...: stopped by a signal when it has saved; the trainer's exit code is ours
stopped() {
  local root=$1; shift
  mkdir -p "$tap_dir/$root"
  hold
  "$paced" --config "$tap_dir/small.ini" --root "$tap_dir/$root" --quiet "$@" & pid=$!
  tap_wait 60 has_checkpoint "$root"
  workers=$(children_of $pid | wc -l)
  kill -USR1 $pid
  wait $pid; local code=$?
  fast
  return $code
}
# As above, then resumes it to its end.
stopped_and_resumed() {
  stopped "$@"
  [ $? -eq 75 ] || return 1
  local root=$1; shift
  train "$root" --quiet --resume "$@"
}

#!/usr/bin/env bash
# sweep status --cost counts the work that an attempt did again: programs that are killed on this machine, with and without
# checkpoints. TAP.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
export SWEEP_ROOT=$tap_dir/work HOME=$tap_dir PATH=$(cd "$SWEEP_BUILD" && pwd)/bin:$PATH SLURM_CONF=/nonexistent
unset SLURMRESTD
mkdir "$SWEEP_ROOT"
# Logs 40 steps in its first attempt, and waits to be killed; then the steps up to 80, from the beginning or from 41.
cat >"$tap_dir/train.sh" <<'SH'
step=0 end=40
[ "$SWEEP_ATTEMPT" = 1 ] || end=80
[ "$SWEEP_ATTEMPT" = 1 ] || [ "$1" = lost ] || step=40
while [ $step -lt $end ]; do
  step=$((step + 1))
  echo "{\"step\": $step, \"reward\": 1}" >>"$SWEEP_METRICS"
  sleep 0.02
done
[ "$SWEEP_ATTEMPT" = 1 ] || exit 0
echo $$ >"$SWEEP_DIR/.pid" && mv "$SWEEP_DIR/.pid" "$SWEEP_DIR/pid"
exec sleep 3600
SH
for kind in lost saved; do
  printf '[sweep]\nname = %s\nseeds = 1\ngoal = max reward\n[program]\ncommand = sh train.sh {kind}\nstep = step of 80\n' $kind
  printf '[settings]\nkind = %s\n' $kind
done >"$tap_dir/both"
csplit -sz -f "$tap_dir/part" "$tap_dir/both" '/^\[sweep\]/' '{*}'
mv "$tap_dir/part00" "$tap_dir/lost.ini"; mv "$tap_dir/part01" "$tap_dir/saved.ini"

directory() { local id; id=$(tail -1 "$SWEEP_ROOT/sweeps/$1/manifest.tsv" 2>/dev/null | cut -f2); echo "$SWEEP_ROOT/runs/${id:0:2}/$id"; }
number() { sweep status "$1" --cost --json | sed -nE "s/^  *\"$2\": ([0-9.]+),/\1/p" | head -1; }
logged() { [ "$(grep -c . "$(directory "$1")/stats.1.tsv" 2>/dev/null)" = 42 ]; } # two lines are its head
killed() { # NAME: its first attempt is killed once it has logged everything
  sweep submit "$tap_dir/$1.ini" --wait >"$tap_dir/$1.out" 2>&1 &
  local submit=$! pid
  tap_wait 60 logged "$1"
  pid=$(find "$(directory "$1")" -name pid -exec cat {} +)
  kill -9 "$pid"
  wait $submit
  tap_result "$1: killed once, and finished" $? "$(cat "$tap_dir/$1.out")"
  first=$(awk -F'\t' '$1 == 1 { print ($9 > 0 ? $9 : $8) - $7 }' "$(directory "$1")/attempts.tsv")
}
killed lost
tap_check "all of an attempt that began again at step 0 is wasted" \
  "$(awk -v all="$first" -v wasted="$(number lost wasted_s)" 'BEGIN { if (!(all > 0.5 && wasted > 0.95 * all && wasted < 1.05 * all)) print wasted " s of " all " s" }')"
tap_check "report says so" "$(sweep status lost --cost | grep -qE "ran .* in total, [0-9.]+ m?s of it wasted" || sweep status lost --cost)"
killed saved
tap_check "nothing of one that resumed at its last step is" \
  "$(awk -v all="$first" -v wasted="$(number saved wasted_s)" 'BEGIN { if (!(wasted < 0.05 * all)) print wasted " s of " all " s" }')"
tap_check "both count the time of all attempts" \
  "$(awk -v all="$first" -v spent="$(number saved spent_s)" 'BEGIN { if (!(spent > all)) print spent " s, not " all " s and more" }')"
tap_done

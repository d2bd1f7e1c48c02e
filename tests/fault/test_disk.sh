#!/usr/bin/env bash
# Commands on a disk that fails at each of their changes in turn: it becomes full, fails once, or the command is killed.
# The same command then completes the work and leaves nothing else behind. `make check` takes every third change,
# check-long all of them. TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
. tests/fault/disk.sh
disk_build || { tap_skip "failing disks" "the shim cannot be built: $(head -1 "$tap_dir/out")"; tap_done; }
cd "$tap_dir" || exit 1
export SWEEP_TRAINER=/bin/false
experiment() { # NAME SEEDS
  printf '[sweep]\nname = %s\nseeds = %s\n[env]\nnum = 16\nlevel_count = 8\n[train]\ntotal_steps = 512\n[grid g]\nppo.epsilon = 0.1, 0.2\n' \
    "$1" "$2"
}
members() { tool sql w/results.db "SELECT count(*) FROM sweep_run WHERE sweep = 's'"; }
listed() { grep -c '^[0-9]' w/sweeps/s/manifest.tsv; }

ended() { # no executor is at work
  local pid; pid=$(sed -n "s/.*process \([0-9]*\).*/\1/p" "w/.executor.$(id -u).lock" 2>/dev/null)
  [ -z "$pid" ] || [ ! -e "/proc/$pid" ]
}
# each_fault BEFORE CHECK COMMAND...: CHECK prints what is wrong after the command was repeated. One kind of fault after the
# other, at each ($step * $stride)-th change
kinds=(full error kill) step=1 stride=3
! is_long || stride=1
each_fault() {
  local before=$1 check=$2 kind n total said code; shift 2
  rm -rf w; cp -a "$before" w
  total=$(disk_changes "$@")
  tap_wait 60 ended
  [ "${total:-0}" -ge 5 ] || echo "only $total changes"
  for ((n = 1; n <= total; n += step * stride)); do
    kind=${kinds[n / (step * stride) % ${#kinds[@]}]}
    tap_wait 60 ended
    rm -rf w; cp -a "$before" w
    on_disk $kind:$n "$@" >first 2>&1; code=$?
    said=$($check "$@" 2>&1)
    [ -z "$said" ] || echo "$kind at change $n of $total ($(tail -1 first)): $said"
  done
}

# ---- sweep submit --seeds
experiment s 2 >s.ini
mkdir two; sweep submit s.ini --root two --no-start --no-check >/dev/null
is_complete() { # after the repeated command
  [ "$(listed)" = 6 ] || echo "$(listed) runs in the manifest"
  [ "$(members)" = 6 ] || echo "$(members) runs in results.db"
  ! grep unfinished w/sweeps/s/extended
}
extends_again() { # a fault that did not matter has ended nothing
  [ $code = 0 ] || "$@" >again 2>&1 || tail -1 again
  is_complete
  ! "$@" >again 2>&1 && grep -q "already has the seeds 0..2" again || echo "a third time: $(cat again)"
}
tap_check "sweep submit --seeds can be repeated after any fault" \
  "$(each_fault two extends_again sweep submit s --seeds 3 --root w --no-start --no-check | head -5)"
step=3
submits_again() { # sweep submit completes an extension that has begun
  [ -e w/sweeps/s/extended ] || return 0
  sweep submit s.ini --root w --no-start --no-check >again 2>&1 || tail -1 again
  is_complete
}
tap_check "or is completed by sweep submit" \
  "$(each_fault two submits_again sweep submit s --seeds 3 --root w --no-start --no-check | head -5)"
extends_further() {
  sweep submit s --seeds 4 --root w --no-start --no-check >again 2>&1 || tail -1 again
  [ "$(listed) $(members)" = "8 8" ] || echo "$(listed) runs in the manifest, $(members) in results.db"
  ! grep unfinished w/sweeps/s/extended
}
tap_check "or by more seeds" "$(each_fault two extends_further sweep submit s --seeds 3 --root w --no-start --no-check | head -5)"
idle() { [ ! -e w/sweeps/s/queued ] && ended; } # neither a request nor an executor
starts_again() {
  tap_wait 60 ended
  "$@" >again 2>&1 || grep -q "already has the seeds 0..2" again || tail -1 again
  is_complete
  tap_wait 60 idle
  [ "$(find w/runs -name state | wc -l)" = 6 ] || echo "$(find w/runs -name state | wc -l) runs were started"
}
kinds=(kill) step=5
tap_check "so are its runs started" "$(each_fault two starts_again sweep submit s --seeds 3 --root w --local --no-check | head -5)"
kinds=(full error kill) step=1

# ---- sweep bundle, archive, rm
sweep bundle s --root two -o good.zst >/dev/null
bundles_again() {
  [ ! -e w/out.zst ] || cmp w/out.zst good.zst || echo "and has the final name"
  "$@" >again 2>&1 || tail -1 again
  cmp w/out.zst good.zst
  [ -z "$(find w -name '*out.zst?*')" ] || echo "left: $(find w -name '*out.zst?*')"
}
step=4
tap_check "sweep bundle leaves no partial files, and removes leftovers" \
  "$(each_fault two bundles_again sweep bundle s --root w -o w/out.zst | head -5)"
unbundles_again() {
  [ $code = 0 ] || "$@" >again 2>&1 || tail -1 again
  (cd w/out && sha256sum -c --quiet SHA256SUMS && ls -A | grep unbundling)
}
step=1
tap_check "sweep unbundle leaves nothing half done either" \
  "$(each_fault two unbundles_again sweep unbundle good.zst w/out | head -5)"
cp -a two saved
for id in $(sed -n 's/^[0-9]*\t//p' two/sweeps/s/manifest.tsv); do
  mkdir -p "saved/runs/${id:0:2}/$id/ckpt"
  touch "saved/runs/${id:0:2}/$id/ckpt/iteration-1.ckpt" "saved/runs/${id:0:2}/$id/ckpt/iteration-2.ckpt"
done
archives_again() {
  "$@" >again 2>&1 || tail -1 again
  find w \( -name '*.ckpt' -o -name '.removed*' \) -printf 'left: %P\n'
}
tap_check "sweep rm --checkpoints too" "$(each_fault saved archives_again sweep rm s --checkpoints --yes --root w | head -5)"
removes_again() {
  "$@" >again 2>&1 || grep -q "there is no sweep 's'" again || tail -1 again
  find w/runs w/sweeps -mindepth 1 ! -name '??' -printf 'left: %P\n'
  [ "$(members)" = 0 ] || echo "$(members) rows"
}
tap_check "and sweep rm" "$(each_fault saved removes_again sweep rm s --yes --root w | head -5)"

# ---- reading the time of a shared disk
reads_again() { find w -name '.clock-*'; }
cp -a two looked
id=$(sed -n '3s/^[0-9]*\t//p' two/sweeps/s/manifest.tsv); mkdir -p "looked/runs/${id:0:2}/$id"
printf '%s\n' status=running attempt=1 host=elsewhere pid=1 started_unix_s=1 heartbeat_unix_s=2 iteration=1 iterations=8 \
  >"looked/runs/${id:0:2}/$id/state" # its age is computed from the disk's clock
kinds=(kill) step=1
nameless='import os; os.close(os.open(".", os.O_TMPFILE | os.O_WRONLY))' # not on every file system
if python3 -c "$nameless" 2>/dev/null; then
  tap_check "nor does a command that only reads" "$(each_fault looked reads_again sweep status --root w | head -5)"
else tap_skip "nor does a command that only reads" "no files without names here, or no python3"; fi
tap_done

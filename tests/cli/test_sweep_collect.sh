#!/usr/bin/env bash
# `sweep collect` and `sweep rebuild` over a run folder written here by the format's description alone (store/runlog/runlog.h),
# damaged lines included.
set -u
. "$(dirname "$0")/tap.sh"
root=$tap_dir/root; mkdir "$root"
rows() { sweep collect --root "$root" | head -1; }

tap_run "an empty workspace has nothing to collect" 0 "0 new rows from 0 runs" sweep collect --root "$root"
tap_run "a sweep that is not there" 2 "there is no sweep 'x'" sweep collect x --root "$root"
tap_run "a workspace that is not there" 1 "nowhere" sweep collect --root "$tap_dir/nowhere"

# log FIRST LAST: appends iterations to the run's log, the header first when there is none
run=0123456789abcdef folder=$root/runs/0123456789abcdef
log() {
  local names=$'iteration\ttransitions[transitions]\tsolve_rate\tsteps_per_second[transitions/s]\tcrc32'
  mkdir -p "$folder"
  if [ ! -e "$folder/stats.1.tsv" ]; then
    printf '#runlog 1 stats %s 1 %s\n%s\n' $run "$(tool crc <<<"$names" | sed 's/.*\t//')" "$names" >"$folder/stats.1.tsv"
  fi
  awk -v first="$1" -v last="$2" 'BEGIN { for (i = first; i <= last; i++) printf "%d\t%d\t%g\t5000\n", i, i * 128, i / 1000 }' |
    tool crc >>"$folder/stats.1.tsv"
}

log 1 10
out=$(rows)
tap_result "new rows are counted" "$([ "$out" = "10 new rows from 1 run" ]; echo $?)" "$out"
tap_run "nothing comes twice" 0 "0 new rows from 0 runs" sweep collect --root "$root"

printf '11\t1408\t0.5\t5000\tdeadbeef\nrubbish\n' >>"$root/runs/0123456789abcdef/stats.1.tsv"
log 12 20
tap_run "damaged lines are skipped and told, what follows is read" 0 "2 damaged lines skipped, the first: " \
  sweep collect --root "$root"

sweep collect --root "$root" --follow --every 0.1 >"$tap_dir/follow" & follower=$!
log 21 25
tap_wait 60 grep -q "^5 new rows" "$tap_dir/follow"
tap_result "--follow sees what is added" $? "$(cat "$tap_dir/follow")"
kill -TERM $follower; wait $follower
tap_result "--follow ends quietly when asked" $? "$(cat "$tap_dir/follow")"

tap_run "rebuild reads all again" 0 "24 new rows from 1 run" sweep rebuild --root "$root"
tap_result "rebuild keeps the old file" "$([ -s "$root/results.db.old" ]; echo $?)" "$(ls "$root")"
rm -f "$root"/results.db*
tap_run "results.db may be deleted" 0 "24 new rows from 1 run" sweep rebuild --root "$root"
mkdir -p "$root/sweeps/fig"
printf '[sweep]\nname = fig\n' >"$root/sweeps/fig/sweep.ini"
printf '# manifest 1 fig\nindex\trun\n0\t%s\n' $run >"$root/sweeps/fig/manifest.tsv"
rm -f "$root"/results.db*; : >"$root/results.db.new"; : >"$root/results.db.new-wal" # as a rebuild that was killed leaves it
tap_run "collect alone makes a results.db without sweeps, and says what to do" 0 "knows none of the 1 sweeps" sweep collect --root "$root"
tap_run "rebuild does it" 0 "24 new rows from 1 run" sweep rebuild --root "$root"
tap_result "and clears away what was left" "$([ -z "$(find "$root" -name 'results.db.new*')" ]; echo $?)" "$(ls -A "$root")"
tap_result "nothing is said then" "$(sweep collect --root "$root" 2>&1 | grep -c "knows none")"
tap_run "after a rebuild nothing is new" 0 "0 new rows from 0 runs" sweep collect --root "$root"
tap_done

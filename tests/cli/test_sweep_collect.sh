#!/usr/bin/env bash
# `sweep collect` and `sweep collect --rebuild` of a run directory that is written here from the description of the format alone
# (store/runlog/runlog.h), including damaged lines.
set -u
. "$(dirname "$0")/tap.sh"
root=$tap_dir/root; mkdir "$root"
rows() { sweep collect --root "$root" | head -1; }

tap_run "an empty workspace has nothing to collect" 0 "0 new rows from 0 runs" sweep collect --root "$root"
tap_run "a sweep that is not there" 2 "there is no sweep 'x'" sweep collect x --root "$root"
tap_run "a workspace that is not there" 1 "nowhere" sweep collect --root "$tap_dir/nowhere"

# log FIRST LAST: appends iterations to the run's log, the header first when there is none
run=0123456789abcdef folder=$root/runs/01/0123456789abcdef
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

printf '11\t1408\t0.5\t5000\tdeadbeef\nrubbish\n' >>"$root/runs/01/0123456789abcdef/stats.1.tsv"
log 12 20
tap_run "damaged lines are skipped and reported, later lines are read" 0 "2 damaged lines skipped, the first: " \
  sweep collect --root "$root"

sweep collect --root "$root" --follow --every 0.1 >"$tap_dir/follow" & follower=$!
log 21 25
tap_wait 60 grep -q "^5 new rows" "$tap_dir/follow"
tap_result "--follow imports added lines" $? "$(cat "$tap_dir/follow")"
sweep collect --rebuild --root "$root" >/dev/null
log 26 29
has_29() { [ "$(tool sql "$root/results.db" "SELECT max(iteration) FROM iteration" 2>&1)" = 29 ]; }
tap_wait 60 has_29
tap_result "after a rebuild, into the file that it has made" $? "$(cat "$tap_dir/follow")"
kill -TERM $follower; wait $follower
tap_result "--follow ends quietly on a signal" $? "$(cat "$tap_dir/follow")"

tap_run "rebuild reads all again" 0 "28 new rows from 1 run" sweep collect --rebuild --root "$root"
tap_result "rebuild keeps the old file" "$([ -s "$root/results.db.old" ]; echo $?)" "$(ls "$root")"
rm -f "$root"/results.db*
tap_run "results.db may be deleted" 0 "28 new rows from 1 run" sweep collect --rebuild --root "$root"
mkdir -p "$root/sweeps/fig"
printf '[sweep]\nname = fig\n' >"$root/sweeps/fig/sweep.ini"
printf '# manifest 1 fig\nindex\trun\n0\t%s\n' $run >"$root/sweeps/fig/manifest.tsv"
rm -f "$root"/results.db*; : >"$root/results.db.new"; : >"$root/results.db.new-wal" # as a rebuild that was killed leaves it
tap_run "collect alone creates a results.db without sweeps, and suggests the next step" 0 "knows none of the 1 sweeps" sweep collect --root "$root"
tap_run "rebuild does it" 0 "28 new rows from 1 run" sweep collect --rebuild --root "$root"
tap_result "and removes leftovers" "$([ -z "$(find "$root" -name 'results.db.new*')" ]; echo $?)" "$(ls -A "$root")"
tap_result "then it prints nothing" "$(sweep collect --root "$root" 2>&1 | grep -c "knows none")"
tap_run "after a rebuild nothing is new" 0 "0 new rows from 0 runs" sweep collect --root "$root"
cp -r "$root/sweeps/fig" "$root/sweeps/lost"; sed -i '1s/fig$/lost/' "$root/sweeps/lost/manifest.tsv"
tap_run "a sweep that is missing is named" 0 "results.db does not know 1 of the 2 sweeps of this workspace (lost); run sweep collect --rebuild" \
  sweep collect --root "$root"
rm -r "$root/sweeps/lost"

# ---- a sweep that is submitted while a rebuild works, which has read the manifests and is about to exchange the file
printf '[sweep]\nname = late\n[env]\nnum = 16\nlevel_count = 8\n[ppo]\nnum_steps = 16\nnum_minibatches = 2\n[train]\ntotal_steps = 512\n[net]\nwidth = 8\n' >"$tap_dir/late.ini"
late() { sweep submit "$tap_dir/late.ini" --root "$root" --no-start; }
mkfifo "$tap_dir/hold"
hold() { # a rebuild's lock, until descriptor 4 is closed
  tool hold "$root/.rebuild.lock" 600 <"$tap_dir/hold" >"$tap_dir/said" & holder=$!
  exec 4>"$tap_dir/hold"
  tap_wait 60 grep -q locked "$tap_dir/said"
}
hold
cp "$root/results.db" "$root/results.db.new"
late >"$tap_dir/submit" 2>&1 4>&- & submitter=$!
waits_or_ended() { grep -q "waiting for" "$tap_dir/submit" || ! kill -0 $submitter 2>/dev/null; }
tap_wait 60 waits_or_ended
tap_run "submit waits for a rebuild, and says so" 0 "waiting for process " cat "$tap_dir/submit"
mv "$root/results.db" "$root/results.db.old"; mv "$root/results.db.new" "$root/results.db"
exec 4>&-
wait $submitter
tap_result "and continues when it has ended" $? "$(cat "$tap_dir/submit")"
wait $holder
known=$(tool sql "$root/results.db" "SELECT count(*) FROM sweep_run WHERE sweep = 'late'")
tap_check "its runs are in the file that the rebuild has made" "$([ "$known" = 1 ] || echo "$known")"
hold
tap_run "submitting again, with nothing to write, does not wait" 0 "late: 1 runs, 0 new in the manifest" timeout 300 sweep submit "$tap_dir/late.ini" --root "$root" --no-start
exec 4>&-
wait $holder
tap_done

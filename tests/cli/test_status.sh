#!/usr/bin/env bash
# sweep status and sweep status on --cost runs that failed, never started, were removed or are unfinished: the states are
# written here as a trainer writes them, and failing trainers are shell commands.
set -u
. "$(dirname "$0")/tap.sh"
cd "$tap_dir" && mkdir w && export SWEEP_ROOT=$tap_dir/w HOME=$tap_dir SWEEP_SITE=none
cat >study.ini <<'INI'
[sweep]
name = study
seeds = 4
[train]
total_steps = 1024
[env]
num = 8
[ppo]
num_steps = 16
num_minibatches = 2
[grid all]
ppo.com = 8, 16
[algo]
name = ppo_ewma
INI

# ---- runs that were refused at their start
tap_run "the trainer refuses all" 1 "8 runs failed; see sweep status study" \
  env SWEEP_TRAINER="$(command -v false)" sweep submit study.ini --local --wait --jobs 2
out=$(sweep status study --cost)
tap_check "runs that never started took no time" "$(grep -qF '8 runs, 0 finished, 8 never started' <<<"$out" &&
  grep -qE '^  ran +0.00 s in total, 0.00 s of it wasted' <<<"$out" || echo "$out")"
tap_check "and no line of the report has days" "$(sweep status study --cost --runs | grep -E '[0-9] d ')$(sweep status study --cost --csv | grep -E '[0-9]{7}')"

# ---- a reason once, and no 100 % but of finished work
out=$(sweep status study)
tap_check "all have failed, and nothing is done" "$(grep -qE '^study \[-+\] 0 %  8 of 8 failed$' <<<"$out" || echo "$out")"
tap_check "their reason is printed once" "$([ "$(grep -c 'exit code 1' <<<"$out")" -eq 1 ] || echo "$out")"
tap_check "with some runs, and how to see all" "$(grep -qE '^    [0-9a-f]{16}( [0-9a-f]{16}){3} and 4 more$' <<<"$out" &&
  grep -qF 'sweep status study --failed lists all' <<<"$out" || echo "$out")"
tap_check "--failed lists each" "$(sweep status study --failed | grep -cE '^ +[0-7] +[0-9a-f]{16} +failed' | grep -vx 8)"

# state INDEX KEY=VALUE...: the state that a trainer would have written last
state() {
  local id; id=$(awk -F'\t' -v i="$1" '$1 == i { print $2 }' "$SWEEP_ROOT/sweeps/study/manifest.tsv"); shift
  printf '%s\n' attempt=1 host=elsewhere pid=1 started_unix_s=1000000000 heartbeat_unix_s=1000000010 iterations=8 \
    transitions_total=1024 "$@" >"$SWEEP_ROOT/runs/${id:0:2}/$id/state.new"
  mv "$SWEEP_ROOT/runs/${id:0:2}/$id/state.new" "$SWEEP_ROOT/runs/${id:0:2}/$id/state" # replaced, as importers expect
}
value() { sweep status study --json | tool json 0 "$@"; }
done_=(iteration=8 transitions=1024 finished_unix_s=1000000010)
for i in 0 1 2 3; do state $i status=finished "${done_[@]}"; done
for i in 4 5; do state $i status=stopped iteration=7 transitions=1024; done # as in its last evaluation
state 6 status=failed iteration=3 transitions=384 "message=no progress at iteration 3; see sweep logs 0123456789abcdef"
state 7 status=failed iteration=4 transitions=512 "message=no progress at iteration 4; see sweep logs 89abcdef01234567"
out=$(sweep status study)
tap_check "a run that failed half way does not count as half done" "$(grep -qE ' 74 %  4 finished, 2 stopped, 2 failed$' <<<"$out" || echo "$out")"
tap_check "messages that differ in numbers are one" "$(grep -qxF '  2 failed: no progress at iteration ...; see sweep logs ...' <<<"$out" || echo "$out")"
tap_check "runs without an executor are counted" "$(grep -qF 'no executor runs 2 of them; sweep submit study starts one' <<<"$out" || echo "$out")"
for i in 6 7; do state $i status=stopped iteration=8 transitions=1024; done
tap_check "100 % requires finished runs" "$(sweep status study | grep -F '100 %')"
for i in 4 5 6; do state $i status=finished "${done_[@]}"; done
state 7 status=diverged iteration=8 transitions=1024 "message=NaN in the loss"
tap_check "also with one that has diverged" "$(sweep status study | grep -qE ' 87 %  7 finished, 1 diverged$' || sweep status study)"

tap_check "--json: settings in which runs differ" "$([ "$(value run 3 settings)" = '{"train.seed":1,"ppo.com":16.0}' ] || value run 3 settings)"
tap_check "its moments and folder" "$([ "$(value run 3 started_unix_s) $(value run 3 directory)" = "1000000000.0 runs/$(value run 3 run | cut -c1-2)/$(value run 3 run)" ] ||
  value run 3)"
tap_check "failures by reason" "$([ "$(value failures 0 reason) $(value failures 0 count)" = "NaN in the loss 1" ] || value failures)"
tap_check "a run that never started has no start" "$(state 7 status=pending attempt=0 started_unix_s=0
  [ "$(value run 7 started_unix_s)" = null ] || value run 7)"

# ---- the time left counts runs that are running or will start by themselves: here no process starts the others
running=(status=running iteration=4 transitions=512 train_seconds=10 steps_per_second=128)
for i in 1 2 3 4 5 6 7; do state $i status=pending attempt=0; done
state 0 "${running[@]}"
tap_check "pending runs that will not start take no time" "$([ "$(value eta_s)" = 10.0 ] || value eta_s)"
state 0 "${running[@]}" "parent=0123456789abcdef@3"
tap_check "a run has not the speed of its parent's transitions" "$([ "$(value eta_s)" = 4.0 ] || value eta_s)"
state 0 "${running[@]}"; state 1 "${running[@]}" train_seconds=1024
tap_check "no less than the slowest needs" "$([ "$(value eta_s)" = 1024.0 ] || value eta_s)"
state 0 status=finished "${done_[@]}"; state 1 status=finished "${done_[@]}"
tap_check "inactive runs have no time left" "$([ "$(value eta_s)" = null ] || value eta_s)"
for i in 2 3 4 5 6; do state $i status=finished "${done_[@]}"; done

state 7 status=running iteration=4 transitions=512 solve_rate=0.25
tap_check "--runs has a column of solve rates" "$(out=$(sweep status study --runs); grep -qE ' of +solve rate +best +steps' <<<"$out" && grep -q ' 0\.250 ' <<<"$out" || echo "$out")"
state 7 status=running iteration=4 transitions=512 episode_return=1234.5
tap_check "without goals it has returns" "$(out=$(sweep status study --runs); grep -qE ' of +return +best +steps' <<<"$out" && grep -qE ' 123[45] ' <<<"$out" || echo "$out")"
tap_check "--json says which" "$([ "$(value run 7 solve_rate) $(value run 7 episode_return)" = "null 1234.5" ] || value run 7)"
out=$(sweep status study --csv)
tap_check "--csv has returns, and the settings in which runs differ" "$(
  [ "$(head -1 <<<"$out")" = "sweep,index,run,status,attempt,iteration,iterations,solve_rate,steps_per_second,job,host,reason,best_solve_rate,episode_return,best_return,train.seed,ppo.com" ] &&
  [ "$(sed -n '9p' <<<"$out" | cut -d, -f2,4,13-)" = "7,running,,1234.5,,3,16" ] || echo "$out")"
tap_check "--runs has these settings" "$(out=$(sweep status study --runs); grep -qE ' steps/s +train.seed +ppo.com +message' <<<"$out" &&
  grep -qE '^ +7 +[0-9a-f]{16} +running .* - +3 +16' <<<"$out" || echo "$out")"
id=$(value run 7 run)
tool sql w/results.db "INSERT INTO evaluation(run_id, iteration, level_set, transitions, episode_return)
  VALUES ('$id', 0, 'train', 0, 20), ('$id', 4, 'train', 512, 1300), ('$id', 8, 'train', 1024, 1200), ('$id', 8, 'other', 1024, 9000)" >/dev/null
tap_check "the best return is of the levels trained on" "$(out=$(sweep status study --csv)
  [ "$(sed -n '9p' <<<"$out" | cut -d, -f13-15)" = ",1234.5,1300" ] || echo "$out")"
state 7 status=failed iteration=4 transitions=512 "message==1+1" 'host==HYPERLINK("x")'
tap_check "no cell is a formula" "$(out=$(sweep status study --csv); grep -E '(^|,)"?[=+@-][^,]' <<<"$out"; grep -q "'=1+1" <<<"$out" || echo "$out")"

# ---- runs that a changed file no longer has
state 7 status=failed iteration=1 transitions=128 message=gone
sed -i 's/ppo.com = 8, 16/ppo.com = 8, 32/' study.ini # 1, 3, 5 and 7 had 16
tap_run "a changed file" 0 "4 earlier ones are no longer in the file" sweep submit study.ini --local --no-start
out=$(sweep status study)
tap_check "removed runs no longer count, except finished ones" "$(grep -qE ' 63 %  7 finished, 4 pending, 1 no longer in the file$' <<<"$out" &&
  ! grep -q gone <<<"$out" || echo "$out")"
tap_check "--runs says so of the run" "$(sweep status study --runs | grep -qE '^ +7 .*no longer in the sweep.s file' || sweep status study --runs)"
tap_check "--json too" "$([ "$(value run 7 in_file) $(value run 7 settings) $(value not_in_file)" = 'false {"train.seed":3,"ppo.com":16.0} 1' ] || value run 7)"
sed -i 's/seeds = 4/seeds = 2/' study.ini
sweep submit study.ini --local --no-start >/dev/null
rm "$SWEEP_ROOT"/runs/*/*/state # all of them wait
tap_run "a sweep with a damaged file is still shown" 0 "12 pending" bash -c '
  echo "[grid" >"$SWEEP_ROOT/sweeps/study/sweep.ini"; sweep status study'

# ---- damaged files hide nothing else
sweep submit study.ini --local --no-start >/dev/null # the file is whole again
state 0 status=finished "${done_[@]}"
echo rubbish >"$SWEEP_ROOT/$(value run 2 directory)/state"
out=$(sweep status study)
tap_check "a damaged state is one run's fault" "$(grep -qE ' 1 finished, [0-9]+ pending, 1 failed' <<<"$out" &&
  grep -q 'state is damaged' <<<"$out" || echo "$out")"
rm "$SWEEP_ROOT"/runs/*/*/state
sed 's/name = study/name = other/' study.ini >other.ini
sweep submit other.ini --local --no-start >/dev/null
echo rubbish >"$SWEEP_ROOT/sweeps/other/manifest.tsv"
tap_run "a damaged manifest is reported, the other sweeps are shown" 1 "pending" sweep status
tap_run "and named" 1 "sweeps/other/manifest.tsv" sweep status
rm -r "$SWEEP_ROOT/sweeps/other"
printf 'jobs=1\nforce=0\nexecutor=1\n' >"$SWEEP_ROOT/sweeps/study/queued"
tap_run "--watch ends where the executor is gone" 0 "the executor is gone" timeout 300 sweep status study --watch
rm "$SWEEP_ROOT/sweeps/study/queued"

# ---- for scripts
tap_run "collect --json" 0 '{"rows": 0, "runs": ' sweep collect --json
tap_run "rebuild --json" 0 '"damaged_lines": 0, "first_damage": null}' sweep collect --rebuild --json
tap_check "stop --json" "$([ "$(sweep stop study --json 2>/dev/null | tool json sweep 0)" = '{"name":"study","was_queued":false,"ended":true}' ] ||
  sweep stop study --json)"
tap_check "each is one JSON value" "$(for command in "status" "status study --cost" "collect" "stop study" "collect --rebuild" "doctor"; do
  sweep $command --json 2>/dev/null | tool json >/dev/null || echo "$command"; done)"

# ---- a workspace that is not there
for command in "status" "status study --cost" "doctor" "stop" "collect"; do
  tap_run "$command in a workspace that is not there" 1 "workspace 'nowhere' does not exist yet: no such directory" \
    sweep $command --root nowhere
done

# ---- one way to name a run
id=$(sed -n 10p "$SWEEP_ROOT/sweeps/study/manifest.tsv" | cut -f2) # not among the first of a listing
tap_run "logs of a run by its first digits" 0 "" sweep logs "${id:0:5}"
tap_run "by sweep and index" 0 "" sweep logs study/7
tap_run "by its folder" 0 "" sweep logs "$SWEEP_ROOT/runs/${id:0:2}/$id/"
tap_run "stop takes them too" 2 "run $id is not running: it is pending" sweep stop "runs/${id:0:2}/${id:0:8}"
tap_run "a run that is none" 2 "'zzz' is not a run of $SWEEP_ROOT" sweep logs zzz
sed "s/^com = .*//; s/ppo.com = .*/ppo.com = 8/" study.ini >child.ini
printf '[init]\nfrom = run:%s\n' "${id:0:6}" >>child.ini
tap_run "a parent's id that is cut short is refused with the whole one" 2 "the whole id has to stand there: run:$id" sweep plan child.ini
tap_done

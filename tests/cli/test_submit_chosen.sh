#!/usr/bin/env bash
# sweep submit --failed and sweep submit NAME RUN on this machine: only the chosen runs start; options that contradict
# each other are refused. slurm/test_submit.sh and slurm/test_resources.sh test the same on Slurm. TAP.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
export SWEEP_ROOT=$tap_dir/work
trap 'sweep stop --no-wait >/dev/null 2>&1; tap_cleanup' EXIT
cd "$tap_dir" || exit 1
cat >study.ini <<INI
[sweep]
name = study
seeds = 4
[program]
command = sh -c "echo start >>$tap_dir/starts.{seed}; test -e $tap_dir/good.{seed}"
code = none
INI
touch good.0
starts() { cat starts.* | wc -l; }
chosen() { sweep submit study "$@"; }

# ---- nothing to choose from
tap_run "a sweep that was not submitted" 2 "there is no sweep 'study'" chosen --failed --no-check
tap_run "of a file, too" 2 "there is no sweep 'study'" sweep submit study.ini --failed

# ---- failed runs, and no others
tap_run "three of four fail" 1 "3 runs failed" sweep submit study.ini --wait --trust
sweep stop study >/dev/null
rm -r "$SWEEP_ROOT"/runs/*/"$(sed -n 6p "$SWEEP_ROOT/sweeps/study/manifest.tsv" | cut -f2)" # run 3 waits again
touch good.1
before=$(starts)
tap_run "--failed" 1 "1 runs failed" chosen --failed --wait
tap_check "starts the failed ones only" "$([ "$(starts)" = $((before + 2)) ] || tail starts.*)"
tap_run "one is finished now" 0 "2 finished, 1 pending, 1 failed" sweep status study
touch good.2 good.3
tap_check "--failed --json" "$([ "$(chosen --failed --wait --json 2>/dev/null | tool json run)" = \
  "[\"$(sed -n 5p "$SWEEP_ROOT/sweeps/study/manifest.tsv" | cut -f2)\"]" ] || echo other)"
tap_run "no run has failed" 0 "study: nothing to submit: no run has failed or was lost" chosen --failed

# ---- named runs
tap_run "a finished run" 0 "nothing to start: 1 runs are finished" chosen 0
tap_run "a run that failed and one that is finished, with --failed" 0 "nothing to submit" chosen 0 1 --failed
before=$(starts)
tap_run "a run by its index" 0 "1 runs to do" chosen 3 --wait
tap_check "is the only one that starts" "$([ "$(starts)" = $((before + 1)) ] || tail starts.*)"
tap_run "two by --force" 0 "2 runs to do" chosen 0 study/1 --force --wait
tap_check "start again" "$([ "$(starts)" = $((before + 3)) ] || tail starts.*)"
tap_run "--where chooses among them" 2 "no run of study has that" chosen 0 --where seed=1 --force
tap_run "--where with a run's id" 0 "nothing to start: 1 runs are finished" chosen --where "run=$(sed -n 4p "$SWEEP_ROOT/sweeps/study/manifest.tsv" | cut -f2)"
tap_run "a run that there is not" 2 "expected an index or an id that sweep status study --runs lists" chosen none
sed -i 's/seeds = 4/seeds = 5/; s/name = study/name = other/' study.ini
sweep submit study.ini --no-start >/dev/null && sed -i 's/seeds = 5/seeds = 4/' study.ini && sweep submit study.ini --no-start >/dev/null
tap_run "a run that the file does not have any more" 2 "is no longer in the file of other" sweep submit other 4

# ---- options
refused() { local name=$1 text=$2; shift 2; tap_run "$name" 2 "$text" chosen "$@"; }
refused "--mem without a choice" "--mem changes the limit of chosen runs: add --failed or RUN; for all runs set slurm.mem" --mem 1G
refused "--time without a choice" "--time changes the limit of chosen runs" --time 01:00:00
refused "--mem on this machine" "--mem is a limit of Slurm jobs, and these runs start on this machine" 0 --mem 1G
refused "--seeds and --failed" "--seeds adds runs, and --failed, --by-rule and RUN choose some" --seeds 6 --failed
refused "--seeds and a run" "--seeds adds runs" 0 --seeds 6
refused "--seeds twice" "both set seeds" --seeds 6 --set sweep.seeds=7
refused "--no-start and a run" "--no-start and a choice of runs exclude each other" 0 --no-start
refused "--force and --keep" "--force and --keep exclude each other" --failed --force --keep
tap_run "plan: --script and --test-only" 2 "--script, --test-only and --json exclude each other" sweep plan study.ini --script 0 --test-only
tap_run "plan: --test-only of two files" 2 "--script and --test-only take one file" sweep plan study.ini study --test-only
tap_done

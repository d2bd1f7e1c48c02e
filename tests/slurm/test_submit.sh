#!/usr/bin/env bash
# sweep submit, status, stop, hold, status, and repeated submission on a real Slurm: jobs are submitted exactly once, and
# the output is right. Runs last a second; those that must stay in the queue are submitted held.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
. tests/slurm/cluster.sh
. tests/slurm/sweep.sh
export HOME=$tap_dir # the queue's cache
unset SWEEP_TRAINER # the one next to sweep
cluster_conf="MaxArraySize=10"
if ! cluster_start; then tap_skip "sweep submit to a real cluster" "$cluster_problem"; tap_done; fi
fresh_status() { rm -rf "$tap_dir/.cache"; sweep status "$@"; }

# ---- nothing is done before it is requested
experiment first 25 20 "time = 00:10:00"
tap_expect "plan --test-only says how it would be cut, its cost, and when Slurm would start it" 0 \
  "25 tasks in 3 arrays; at most 4.167 CPU-hours.*Slurm would start the first task" \
  bash -c "sweep plan '$tap_dir/first.ini' --test-only | tr -s ' \n' ' '"
[ ! -e "$SWEEP_ROOT/sweeps" ] && [ ! -e "$SWEEP_ROOT/results.db" ] && queue_empty; tap_result "it leaves nothing behind" $?
experiment big 2 20 "cpus_per_run = 3"
tap_run "resources that no node has are rejected before submission" 2 "at most 2 CPUs" submit big
experiment nowhere 2 20 "partition = gpu"
tap_run "a partition that is not there" 2 "it has main" submit nowhere

# ---- arrays of at most MaxArraySize, each run once
tap_run "25 runs as arrays of at most 10" 0 "25 runs submitted in 3 arrays" submit first --hold
[ "$(in_queue first)" = 25 ]; tap_result "all are in the queue" $? "$(squeue)"
tap_run "submitting again submits nothing" 0 "25 in the queue already" submit first
tap_run "status reports that they are held, with the remedy" 0 "25 held: held: sweep hold --off lets it start" fresh_status first
tap_run "hold --off of one" 0 "1 runs released" sweep hold --off first 3
tap_wait 120 finished 1; tap_result "it runs and finishes" $? "$(fresh_status first)"
id=$(sed -n 6p "$SWEEP_ROOT/sweeps/first/manifest.tsv" | cut -f2) # index 3
tap_check "hold --off --json of a run that is done, by its first digits" "$([ "$(sweep hold --off first "${id:0:8}" --json | tool json runs)" = 0 ] ||
  sweep hold --off first "${id:0:8}" --json)"
id=$(sed -n 9p "$SWEEP_ROOT/sweeps/first/manifest.tsv" | cut -f2) # index 6
tap_check "hold --json says which" "$([ "$(sweep hold first "${id:0:8}" --json | tool json run)" = "[\"$id\"]" ] || sweep hold first 6 --json)"
tap_run "stop some" 0 "stopping 2 runs" sweep stop first 4 5
tap_run "status knows who cancelled them" 0 "cancelled: by $(id -un) with sweep stop before it started" fresh_status first
scancel "$(squeue -h -n first -o %F | sort -n | tail -1)" # the third array, by hand
tap_run "and that others were cancelled by hand" 0 "cancelled: by hand (scancel) before it started" fresh_status first
tap_run "submit resumes the cancelled ones" 0 "7 runs submitted in 1 array" submit first
sweep hold --off first >/dev/null
tap_wait 300 queue_empty
counts first 25 20
tap_run "nothing is left to submit" 0 "nothing to submit" submit first
tap_run "--seeds adds seeds" 0 "5 runs submitted" sweep submit first --seeds 30
tap_wait 300 queue_empty
counts first 30 20
tap_run "status of all sweeps" 0 "30 finished" fresh_status
tap_run "status --json" 0 '"condition": "finished"' fresh_status first --json
tap_run "status --csv" 0 "first,0," fresh_status first --csv

# ---- several runs a task, several nodes a run, one sweep after another
experiment packed 5 20 "runs_per_task = 2"
tap_run "two runs a task" 0 "5 runs to submit as 3 tasks" submit packed --hold
experiment later 2 20 "after = packed"
submit later >/dev/null
waits() { squeue -h -n later -o %r | grep -q Dependency; }
tap_wait 60 waits
tap_run "a sweep waits for another" 0 "2 queued: waits for the sweep named by slurm.after" fresh_status later
sweep hold --off packed >/dev/null
tap_wait 300 queue_empty
counts packed 5 20
counts later 2 20
if command -v mpirun >/dev/null && srun -n1 --mpi=list 2>&1 | grep -q pmix; then
  experiment ranks 2 20 "nodes = 2" "ranks_per_run = 2"
  submit ranks >/dev/null
  tap_wait 300 queue_empty
  counts ranks 2 20
  id=$(tail -1 "$SWEEP_ROOT/sweeps/ranks/manifest.tsv" | cut -f2)
  grep -qh "rank 1" "$SWEEP_ROOT/runs/${id:0:2}/$id/log.txt"
  tap_result "as two ranks on two nodes" $? "$(cat "$SWEEP_ROOT/runs/${id:0:2}/$id/log.txt")"
else
  tap_skip "ranks on two nodes" "no MPI with PMIx here"
fi
tap_run "plan --script shows the script" 0 "#SBATCH --partition=gpu" sweep plan "$tap_dir/nowhere.ini" --script 0

# ---- failures and retries
experiment broken 2 20
SWEEP_TRAINER=/nonexistent/trainer submit broken >/dev/null
tap_wait 300 queue_empty
tap_run "a trainer that is not there fails with the reason" 0 "failed: the trainer cannot be started" fresh_status broken
tap_run "--failed submits failed runs again, with more memory" 0 "2 runs submitted in 1 array" sweep submit broken --failed --mem +50%
grep -q "slurm.mem=150M" "$SWEEP_ROOT/sweeps/broken/batches/000002.tsv"; tap_result "150 M" $?
tap_wait 300 queue_empty
counts broken 2 20
# batches are counted sweep by sweep, also where sweeps share runs; a start that was killed does not count
sed 's/^name = .*/name = again/' "$tap_dir/broken.ini" >"$tap_dir/again.ini"
cat >"$tap_dir/dies_once" <<SH
#!/bin/sh
mkdir "$tap_dir/died" 2>/dev/null && kill -9 \$\$
exec "$SWEEP_BUILD/bin/trainer" "\$@"
SH
chmod +x "$tap_dir/dies_once"
attempts() { for id in $(tail -n +3 "$SWEEP_ROOT/sweeps/again/manifest.tsv" | cut -f2); do grep -h ^attempt= "$(folder_of "$id")/state"; done; }
before=$(attempts)
SWEEP_TRAINER=$tap_dir/dies_once submit again --no-check --force >/dev/null
tap_wait 300 queue_empty
tap_result "--force starts runs over that another sweep has finished, also when a start is killed" \
  "$([ -d "$tap_dir/died" ] && [ "$(attempts)" = $'attempt=2\nattempt=2' ]; echo $?)" "$before, then $(attempts)"
# runs that a changed file no longer has are Slurm's as long as it has them
experiment changed 2 20
submit changed --hold >/dev/null
sed -i 's/^seeds = .*/seeds = 7, 8/' "$tap_dir/changed.ini"
submit changed --hold >/dev/null
tap_run "removed from the file, but still in the queue" 0 "4 held" fresh_status changed
sweep stop changed >/dev/null
tap_run "once they are not, they are distinguished" 0 "2 cancelled, 2 no longer in the file" fresh_status changed
experiment waited 2 20
tap_run "submit --wait stays until all have ended" 0 "2 finished" submit waited --wait
tap_run "stop of a sweep that is done" 0 "nothing is running or waiting" sweep stop broken
tap_run "--local runs on this machine" 0 "executor" submit later --force --local --wait

# ---- a limit on the jobs in the queue
limit 2
attempts_of() { for id in $(tail -n +3 "$SWEEP_ROOT/sweeps/$1/manifest.tsv" | cut -f2); do sed -n 's/^attempt=//p' "$(folder_of "$id")/state"; done | tr '\n' ' '; }
experiment few 5 20
SWEEP_TRAINER=/nonexistent/trainer submit few --no-check >/dev/null
tap_wait 300 queue_empty
tap_run "--failed submits the runs that fit, and reports the others" 75 "3 runs are not submitted yet" limited sweep submit few --failed
for i in 1 2; do tap_wait 300 queue_empty; limited sweep submit few --failed >/dev/null 2>&1; done
tap_wait 300 queue_empty
counts few 5 20
tap_run "submit --force --wait stays, and starts each run over once" 0 "5 finished" limited sweep submit few --force --wait
[ "$(attempts_of few)" = "2 2 2 2 2 " ]; tap_result "all of them" $? "$(attempts_of few)"

# ---- sweep rm during a submission
mkdir "$tap_dir/bin"
cat >"$tap_dir/bin/sbatch" <<SH
#!/bin/bash
touch "$tap_dir/asked"
while [ ! -e "$tap_dir/go" ]; do sleep 0.1; done
exec $(command -v sbatch) "\$@"
SH
chmod +x "$tap_dir/bin/sbatch"
experiment leaving 2 20
PATH=$tap_dir/bin:$PATH sweep submit "$tap_dir/leaving.ini" --hold >"$tap_dir/out" 2>&1 & pid=$!
tap_wait 60 test -e "$tap_dir/asked"
tap_run "a sweep that is being submitted is not archived" 1 "another process is submitting or changing this sweep" sweep rm leaving --checkpoints --yes
tap_run "nor removed" 1 "another process is submitting or changing this sweep" sweep rm leaving --yes
touch "$tap_dir/go"
wait $pid; tap_result "its submission continues" $? "$(cat "$tap_dir/out")"
tap_run "nor one that is in the queue" 2 "is in Slurm's queue" sweep rm leaving --yes
sweep stop leaving >/dev/null
tap_wait 60 queue_empty
tap_run "one that is not is" 0 "removed leaving: 2 runs" sweep rm leaving --yes

# ---- slurm.setup: shell of the user's own file, of no one else's
experiment setup 2 20 'setup = export SETUP=$((40 + 2)) && echo "$SETUP" >>"$HOME/setup.out"'
tap_run "plan --script shows it" 0 'export SETUP=$((40 + 2)) && echo' sweep plan "$tap_dir/setup.ini" --script 0
submit setup >/dev/null
tap_wait 300 queue_empty
counts setup 2 20
tap_check "each job runs it" "$([ "$(sort "$tap_dir/setup.out" | uniq -c | tr -d ' ')" = 242 ] || cat "$tap_dir/setup.out")"
mkdir -p "$tap_dir/foreign/sweeps"
cp -r "$SWEEP_ROOT/sweeps/setup" "$tap_dir/foreign/sweeps/"
foreign() { XDG_CONFIG_HOME=$tap_dir/nobody sweep submit "$1" --root "$tap_dir/foreign" "${@:2}"; }
tap_run "a sweep of somebody else's workspace does not run it" 2 "a sweep that you have not trusted" foreign setup
tap_run "nor its file" 2 "that you have not trusted" foreign "$tap_dir/foreign/sweeps/setup/sweep.ini"
tap_run "of a run neither" 2 "that you have not trusted" env XDG_CONFIG_HOME="$tap_dir/nobody" sweep submit setup 0 --force
tap_run "nor elsewhere, with a list that has these lines here" 2 "a sweep that you have not trusted" \
  sweep submit setup --root "$tap_dir/foreign"
id=$(sed -n 3p "$SWEEP_ROOT/sweeps/setup/manifest.tsv" | cut -f2)
printf '1\tuser\tstop\t%s\tmedian\t-\t100\t1\t2\tas a test\t;\n' "$id" >"$SWEEP_ROOT/sweeps/setup/stop.log"
XDG_CONFIG_HOME=$tap_dir/nobody sweep submit setup 0 --force >/dev/null 2>&1
tap_check "a retry that asks lifts no stop" "$(grep retry "$SWEEP_ROOT/sweeps/setup/stop.log")"
rm "$SWEEP_ROOT/sweeps/setup/stop.log"
[ -z "$(squeue -h -n setup -o %i)" ]; tap_result "nothing was submitted" $? "$(squeue)"
tap_run "with --trust it does" 0 "2 runs submitted" foreign setup --hold --trust
scancel -n setup
tap_wait 60 queue_empty
experiment broken 1 20 "setup = false"
submit broken >/dev/null
tap_wait 300 queue_empty
tap_run "its failure is the reason" 0 "slurm.setup failed with exit code 1" fresh_status broken

# ---- jobs that Slurm has forgotten, without an accounting database
experiment modules 2 20 "modules = nowhere/1"
forget_jobs
submit modules >/dev/null
tap_wait 300 forgotten modules; tap_result "slurmctld has forgotten the jobs" $? "$(squeue -t all)"
tap_run "a module that is missing is still the reason" 0 "2 failed: ended before the run began: module load failed" fresh_status modules
tap_done

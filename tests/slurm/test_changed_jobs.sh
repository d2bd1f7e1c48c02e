#!/usr/bin/env bash
# Jobs whose comment or name a user or a plugin of the site has changed are still those of their sweep, and jobs of
# others that got the same ids are not. On a real Slurm, through its commands and slurmrestd. TAP.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
chmod 755 "$tap_dir"
mkdir -p "$tap_dir/build/bin" "$tap_dir/build/tests/fault"
cp "$SWEEP_BUILD"/bin/{sweep,trainer,analyze} "$tap_dir/build/bin" # slurmrestd's user cannot enter the build
cp "$SWEEP_BUILD/tests/fault/paced_trainer" "$tap_dir/build/tests/fault"
export SWEEP_BUILD=$tap_dir/build PATH=$tap_dir/build/bin:$PATH
. tests/slurm/cluster.sh
. tests/slurm/sweep.sh
export HOME=$tap_dir
if ! cluster_start; then tap_skip "changed jobs" "$cluster_problem"; tap_done; fi
fresh_status() { rm -rf "$tap_dir/.cache"; sweep status "$@"; }
job_of() { squeue -h -a -t all -o '%F %j %k %Z' | sed -n "s, .*$SWEEP_ROOT\$,,p" | sort -un | tail -1; } # the latest of the workspace
alter() { scontrol update jobid="$1" "${@:2}" || echo "# scontrol update failed: $*"; }

# seen WHAT NAME RUNS: status, submit and stop know all jobs of the sweep
seen() {
  tap_run "$1: status" 0 "$3 held" fresh_status "$2"
  tap_run "$1: submitted only once" 0 "nothing to submit" submit "$2" --hold
  tap_run "$1: stop" 0 "stopping $3 runs" sweep stop "$2"
  tap_check "$1: none is left in the queue" "$(squeue -h -t PD)"
}
experiment held 3 10
changed() { # WHAT KEY=VALUE...: changes made to the whole array
  submit held --hold >/dev/null
  alter "$(job_of)" "${@:2}"
  seen "$1" held 3
}
changed "a comment replaced" comment=abc
changed "a comment emptied" comment=
changed "a comment that looks like a row of squeue" comment=$'x\n1|0-2|CANCELLED|None|1|1|1|root|main|n1'
changed "a project appended to the comment" comment="sweep=held batch=1.0123456789abcdef project=x"
changed "a job renamed" jobname="nightly|run 7"
changed "a job renamed, with another comment" jobname=nightly comment=abc
submit held --hold >/dev/null
job=$(job_of)
alter "${job}_1" jobname=one
alter "${job}_2" comment=two jobname=two
seen "single tasks changed" held 3

# ---- a running task, requeued later
hold
experiment again 2 40
submit again >/dev/null
tap_wait 120 running 2
job=$(job_of)
alter "$job" comment=abc jobname=other
scontrol requeue "${job}_0"
requeued() { fresh_status again | grep -q "1 running, 1 queued"; }
tap_wait 60 requeued; tap_result "a requeued task is still known" $? "$(fresh_status again; squeue)"
tap_run "and not submitted again" 0 "nothing to submit" submit again
fast
tap_wait 300 finished 2
tap_wait 300 queue_empty
counts again 2 40

# ---- names and comments of others
experiment forged 2 10
submit forged --hold >/dev/null
job=$(job_of)
sbatch -Q -H -J $'x\ny|z' --comment="$(printf 'x\n%s|0-1|CANCELLED|None|5:00|1|1|%s|main||forged|x|%s\n' "$job" "$(id -un)" "$SWEEP_ROOT")" --wrap true
tap_run "a foreign comment that looks like our row" 0 "2 held" fresh_status forged
tap_run "changes nothing" 0 "stopping 2 runs" sweep stop forged
scancel -u "$(id -un)"

# ---- ids that start over: the controller has lost its state
experiment lost 3 10
submit lost --hold >/dev/null
job=$(job_of)
cluster_controller kill
rm -rf "$cluster_dir"/state/*
cluster_controller start
tap_wait 60 cluster_is_up
foreign() { squeue -h -t PD -o %F | grep -qx "$job"; }
try_foreign() { foreign || sbatch -Q --parsable -H -J lost --array=0-2 "$@" --wrap true >/dev/null; foreign; }
tap_wait 60 try_foreign; tap_result "job $job is another one now" $? "$(squeue)"
tap_run "it is not taken for the sweep's" 0 "3 cancelled" fresh_status lost
tap_run "so its runs are submitted again" 0 "3 runs submitted" submit lost --hold
tap_run "and cancelled" 0 "stopping 3 runs" sweep stop lost
foreign; tap_result "without the foreign job" $? "$(squeue)"
scancel "$job"

# ---- an accounting database, which has no comments: a stand-in for sacct
experiment past 2 10
submit past --hold >/dev/null
job=$(job_of)
scancel "$job"
forget_jobs
tap_wait 120 forgotten past
limit 1000 # with its scontrol there is a database
accounted() { # DIRECTORY: in which the database says that the job was submitted
  cat >"$tap_dir/limited/sacct" <<SH
#!/bin/bash
[[ "\$*" == *"JobID,State,ExitCode,Submit,Start,User,Partition,NodeList,Reason,WorkDir" ]] || exit 1
echo "${job}_[0-1]|CANCELLED by $(id -u)|0:0|1700000000|Unknown|$(id -un)|main|None assigned|None|$1"
SH
  chmod +x "$tap_dir/limited/sacct"
}
accounted "$SWEEP_ROOT"
tap_run "accounting knows who cancelled the job" 0 "by user $(id -un)" env PATH="$tap_dir/limited:$PATH" XDG_CACHE_HOME=/nonexistent sweep status past
accounted /elsewhere
tap_run "but not of a job that had the same id elsewhere" 0 "by hand (scancel)" env PATH="$tap_dir/limited:$PATH" XDG_CACHE_HOME=/nonexistent sweep status past

# ---- slurmrestd
if ! cluster_rest start; then tap_skip "slurmrestd" "$cluster_problem"; tap_done; fi
person=$cluster_rest_name
mkdir "$tap_dir/home" "$tap_dir/rest"; chown "$person" "$tap_dir/home" "$tap_dir/rest"
SWEEP_ROOT=$tap_dir/rest
as() { rm -rf "$tap_dir/home/.cache"; cluster_as_rest env HOME="$tap_dir/home" XDG_CONFIG_HOME="$tap_dir/home" "$@"; } # through the commands
rest() { as env PATH=/nonexistent "$SWEEP_BUILD/bin/sweep" "$@"; } # there are none
experiment rest 3 10
for change in comment=abc comment= jobname=other; do
  tap_run "slurmrestd: submit" 0 "3 runs submitted" rest submit "$tap_dir/rest.ini" --no-check --hold
  alter "$(job_of)" "$change"
  tap_run "slurmrestd, $change: status" 0 "3 held" rest status rest
  tap_run "slurmrestd, $change: status through the commands" 0 "3 held" as sweep status rest
  tap_run "slurmrestd, $change: submitted only once" 0 "nothing to submit" rest submit "$tap_dir/rest.ini" --no-check
  tap_run "slurmrestd, $change: stop" 0 "stopping 3 runs" rest stop rest
done
tap_done

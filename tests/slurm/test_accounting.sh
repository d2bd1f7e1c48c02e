#!/usr/bin/env bash
# A cluster with an accounting database (slurmdbd and a MariaDB that this test starts): an account's limits in plan and
# submit, and jobs that slurmctld has forgotten and only the database knows.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
. tests/slurm/cluster.sh
. tests/slurm/sweep.sh
export HOME=$tap_dir
cluster_accounting=1
cluster_conf="MinJobAge=5
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
JobAcctGatherParams=OverMemoryKill"
if ! cluster_start; then tap_skip "a cluster with accounting" "$cluster_problem"; tap_done; fi
fresh_status() { rm -rf "$tap_dir/.cache"; sweep status "$@"; }
me=$(id -un)
sacctmgr -Qi modify user "$me" set DefaultAccount=lab >/dev/null
sacctmgr -Qi modify user "$me" where account=lab set MaxSubmitJobs=5 >/dev/null
sacctmgr -Qi modify account lab set GrpTRESMins=cpu=60 >/dev/null
sacctmgr -Qi add qos small MaxSubmitJobsPerUser=3 MaxTRESMinsPerJob=cpu=5 >/dev/null
sacctmgr -Qi modify user "$me" where account=lab set qos+=small >/dev/null
limited() { scontrol show assoc_mgr accounts=lab flags=assoc | grep -q "MaxSubmitJobs=5("; }
tap_wait 60 limited; tap_result "slurmctld knows the limits" $? "$(scontrol show assoc_mgr accounts=lab flags=assoc)"

# ---- limits of the account
experiment many 12 20 "time = 00:10:00"
tap_run "plan names the limit on queued jobs" 0 "account lab may have 5 jobs in the queue (MaxSubmitJobs), 5 more now" sweep plan "$tap_dir/many.ini"
tap_run "and the processor time that is left" 0 "account lab has 1 CPU-hours left (GrpTRESMins), these runs may use 2" sweep plan "$tap_dir/many.ini"
tap_run "submit takes the runs that fit and reports the others" 75 "7 runs are not submitted yet" submit many --hold
[ "$(in_queue many)" = 5 ]; tap_result "5 are in the queue" $? "$(squeue)"
tap_run "while they are there, no more" 75 "7 runs are not submitted yet" submit many --hold
sweep hold --off many 0 1 >/dev/null
two_done() { [ "$(in_queue many)" = 3 ]; }
tap_wait 120 two_done
tap_run "two have ended: two more" 75 "2 runs submitted in 1 array" submit many
sweep hold --off many >/dev/null
tap_run "--wait continues until all are done" 0 "12 finished" submit many --wait
counts many 12 20
experiment small 8 20 "qos = small" "time = 00:10:00"
tap_run "a quality of service has limits too" 0 "may have 3 jobs in the queue" sweep plan "$tap_dir/small.ini"
tap_run "on a task's processor time as well" 0 "(MaxTRESMinsPerJob), these request 0.1667: none would start" sweep plan "$tap_dir/small.ini"
experiment strange 2 20 "account = nobody"
tap_run "an account that is not ours is Slurm's to refuse" 1 "Invalid account" submit strange

# ---- jobs in the database that slurmctld has forgotten
hold
experiment long 3 100
submit long >/dev/null
live() { for id in $(tail -n +3 "$SWEEP_ROOT/sweeps/long/manifest.tsv" | cut -f2); do grep -qs '^status=running' "$(folder_of "$id")/state" || return 1; done; }
tap_wait 120 live
scancel -n long
tap_wait 120 forgotten long; tap_result "slurmctld has forgotten the cancelled jobs" $? "$(squeue -t all)"
tap_run "status knows from sacct who cancelled them" 0 "by user $me" fresh_status long
run_memory=8M
experiment hungry 1 100
run_memory=
submit hungry >/dev/null
over() { sacct -X -n -P --name hungry -o State | grep -qvE 'PENDING|RUNNING|^$'; }
tap_wait 120 over
tap_wait 120 forgotten hungry
tap_run "and the runs that were out of memory" 0 "1 out of memory" fresh_status hungry
cluster_database stop
tap_run "the database is down: status does without it" 0 "12 finished" fresh_status many
tap_run "and shows what is known of the others" 0 "long" fresh_status long
tap_done

#!/usr/bin/env bash
# Out of memory by the kernel's accounting: Slurm gives each job a control group with the limit slurm.mem, where the
# kernel kills the trainer. sweep task, in the same group, survives and reports it; nothing is retried before it is
# given more.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
. tests/slurm/cluster.sh
. tests/slurm/sweep.sh
export HOME=$tap_dir
cluster_cgroup=1 cluster_nodes=1 cluster_conf="TaskPlugin=task/cgroup"
if ! cluster_start; then tap_skip "memory limited by control groups" "$cluster_problem"; tap_done; fi
fresh_status() { rm -rf "$tap_dir/.cache"; sweep status "$@"; }
ended() { [ "$(in_queue kernel)" = 0 ]; }

# The trainer rejects buffers that exceed the limit, and its libraries can be paged out: so one that needs more than it knows.
cat >"$tap_dir/trainer" <<SH
#!/bin/bash
x=\$(head -c 100000000 /dev/zero | tr '\\0' x)
exec $SWEEP_BUILD/bin/trainer "\$@"
SH
chmod +x "$tap_dir/trainer"
export SWEEP_TRAINER=$tap_dir/trainer
run_memory=40M
experiment kernel 2 20
submit kernel >/dev/null
tap_wait 120 ended
tap_run "status says that memory ran out" 0 "2 out of memory" fresh_status kernel
tap_check "by the kernel's hand, as sweep task saw it" "$(grep -L '^cause=out_of_memory' "$SWEEP_ROOT"/runs/*/*/job)"
tap_run "submit does not try again" 0 "2 ran out of memory" submit kernel
tap_check "each was started once" "$(grep -Lx 'starts=1' "$SWEEP_ROOT"/runs/*/*/job)"
tap_run "nor does --mem at a limit that was exceeded" 2 "ran out of memory at 40M" sweep submit kernel --failed --mem 40M
tap_run "more is given" 0 "2 runs submitted" sweep submit kernel --failed --mem 1G
tap_wait 120 ended
counts kernel 2 20
tap_check "memory is the peak of the job's control group" "$(grep -L '^source=cgroup' "$SWEEP_ROOT"/runs/*/*/memory)"
tap_run "the exceeded limit is not forgotten" 0 "40M was too little): more runs fit a node" sweep status kernel --cost
tap_done

#!/usr/bin/env bash
# Faults of a machine with a real Slurm: one of several ranks killed, clocks an hour off, out of memory by Slurm's
# accounting and by the kernel. After each: no runs and no rows lost, or the reason is reported and nothing is retried.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
. tests/slurm/cluster.sh
. tests/slurm/sweep.sh
export HOME=$tap_dir
cluster_conf="JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=1
JobAcctGatherParams=OverMemoryKill"
if ! cluster_start; then tap_skip "a machine's faults on a real cluster" "$cluster_problem"; tap_done; fi
fresh_status() { rm -rf "$tap_dir/.cache"; sweep status "$@"; }
ids_of() { tail -n +3 "$SWEEP_ROOT/sweeps/$1/manifest.tsv" | cut -f2; }

# ---- kill -9 of one rank of two, on two nodes
if command -v mpirun >/dev/null && srun -n1 --mpi=list 2>&1 | grep -q pmix; then
  experiment ranks 1 100 "nodes = 2" "ranks_per_run = 2"
  hold
  submit ranks >/dev/null
  run=$(folder_of "$(ids_of ranks)")
  saved() { ls "$run"/ckpt/iteration-* >/dev/null 2>&1; }
  tap_wait 60 saved; tap_result "a run of two ranks saves a checkpoint" $? "$(fresh_status ranks; cat "$run/log.txt")"
  rank=$(for pid in $(trainer_pids); do grep -qszx "SLURM_PROCID=1" "/proc/$pid/environ" && echo "$pid"; done)
  [ "$(wc -w <<<"$rank")" = 1 ] && kill -9 "$rank"; tap_result "its second rank is killed" $? "processes: $rank"
  second() { began=$(awk 'NR == 3 { print $1 }' "$run/stats.2.tsv" 2>/dev/null) && [ -n "$began" ]; }
  tap_wait 60 second; tap_result "the whole run is started again in place" $? "$(fresh_status ranks; cat "$run/log.txt")"
  [ "${began:-0}" -gt 1 ]; tap_result "from its checkpoint" $? "it began at iteration $began"
  fast
  tap_wait 300 queue_empty
  counts ranks 1 100
else
  tap_skip "a rank is killed" "no MPI with PMIx here"
fi

# ---- clocks an hour off: of the nodes, and of whoever looks. The trainers have another host's name, so that no lock tells that they live.
clock=$tap_dir/clock.so
clocked() { # seconds host program...
  local offset=$1 host=$2; shift 2
  env CLOCK_OFFSET_S="$offset" CLOCK_HOST="$host" LD_PRELOAD="$clock" "$@"
}
if ${CC:-gcc} -shared -fPIC -O1 -o "$clock" tests/fault/clock.c 2>"$tap_dir/out" && [ "$(clocked 3600 far date +%s)" -gt $(($(date +%s) + 3000)) ]; then
  slow 1000
  for offset in -3600 3600; do
    cat >"$tap_dir/trainer$offset" <<SH
#!/bin/sh
CLOCK_OFFSET_S=$offset CLOCK_HOST=far LD_PRELOAD=$clock exec $paced "\$@"
SH
    chmod +x "$tap_dir/trainer$offset"
    name=$([ $offset -lt 0 ] && echo behind || echo ahead)
    experiment "$name" 2 300
    SWEEP_TRAINER=$tap_dir/trainer$offset submit "$name" >/dev/null
  done
  beaten() { # each has reported progress
    local id
    for id in $(ids_of behind) $(ids_of ahead); do grep -qs '^iteration=[1-9]' "$(folder_of "$id")/state" || return 1; done
  }
  tap_wait 120 beaten
  grep -qx "host=far" "$(folder_of "$(ids_of behind | head -1)")/state"; tap_result "trainers whose clocks are an hour behind and ahead" $? "$(cat "$SWEEP_ROOT"/runs/*/*/state)"
  beat=$(sed -n 's/^heartbeat_unix_s=\([0-9]*\).*/\1/p' "$(folder_of "$(ids_of behind | head -1)")/state")
  [ "$beat" -lt $(($(date +%s) - 3000)) ]; tap_result "write times that are" $? "$beat"
  for offset in 0 -3600 3600; do # of sweep status
    for name in behind ahead; do
      rm -rf "$tap_dir/.cache"
      tap_run "nodes' clocks $name, ours $offset s off: 2 runs live" 0 "2 running" clocked $offset near sweep status $name
      out=$(clocked $offset near sweep status $name --json)
      eta=$(sed -n 's/.*"eta_s": *\([-0-9.e]*\).*/\1/p' <<<"$out" | head -1)
      awk -v eta="${eta:-1e9}" 'BEGIN { exit !(eta >= 0 && eta < 3600) }'; tap_result "and a sane ETA" $? "eta $eta in: $out"
    done
  done
  tap_run "no second writer gets in" 1 "is being written by process" trainer --quiet --root "$SWEEP_ROOT" --config "$(folder_of "$(ids_of ahead | head -1)")/config.ini" --resume
  fast
  tap_wait 300 queue_empty
  counts behind 2 300
  counts ahead 2 300
  out=$(sweep status behind --cost --csv; sweep status ahead --cost --csv)
  grep -q "finished" <<<"$out" && ! grep -qE ',-[0-9]' <<<"$out"; tap_result "no duration is negative" $? "$out"
else
  tap_skip "clocks that are wrong" "the shim cannot be built: $(head -1 "$tap_dir/out")"
fi

# ---- memory that runs out: Slurm looks every second and ends the whole task, which can leave no word of its own. The
# trainers of "early" die as soon as the daemon has said so, before the task: what one with luck sees of "hungry".
ended() { [ "$(in_queue "$1")" = 0 ]; }
cat >"$tap_dir/early" <<SH
#!/bin/bash
$paced "\$@" &
until grep -qs "StepId=\$SLURM_JOB_ID\.batch exceeded memory limit" "$SWEEP_ROOT"/sweeps/early/batches/*; do
  kill -0 \$! || exit 1
  sleep 0.002
done
kill -9 \$! \$\$
SH
chmod +x "$tap_dir/early"
run_memory=8M
experiment hungry 2 100
experiment early 2 100
run_memory=
hold
submit hungry >/dev/null
SWEEP_TRAINER=$tap_dir/early submit early >/dev/null
tap_wait 120 ended hungry
tap_wait 120 ended early
fast
for name in hungry early; do
  tap_run "status says that memory ran out" 0 "2 out of memory" fresh_status $name
  tap_run "submit does not try again" 0 "2 ran out of memory" submit $name
  starts=$(for id in $(ids_of $name); do sed -n 's/^starts=//p' "$(folder_of "$id")/job"; done | xargs)
  [ "$starts" = "1 1" ]; tap_result "each was started once" $? "$starts"
  tap_run "nor does --mem at a limit that was exceeded" 2 "ran out of memory at 8M" sweep submit $name --failed --mem 8M
  tap_run "report names a larger one" 0 "sweep submit $name --failed --mem 100M" sweep status $name --cost
  tap_run "more is given" 0 "2 runs submitted" sweep submit $name --failed --mem 100M
  tap_wait 120 ended $name
  counts $name 2 100
  tap_check "$name: the exceeded limit is not forgotten" "$(for id in $(ids_of $name); do grep -L "^exceeded_mb=8" "$(folder_of "$id")/memory"; done)"
done
tap_done

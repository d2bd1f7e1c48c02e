#!/usr/bin/env bash
# Environment and memory of runs on a real Slurm: runs get the submitter's variables even if Slurm passes none on, and
# worker processes of environments count toward a run's memory. TAP.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
. tests/slurm/cluster.sh
. tests/slurm/sweep.sh
export HOME=$tap_dir
if ! cluster_start; then tap_skip "environment and memory on a cluster" "$cluster_problem"; tap_done; fi

# The trainer that writes down its environment, and has two workers of 60 MB each.
cat >"$tap_dir/note" <<SH
#!/bin/bash
if [ -n "\${SWEEP_RUN:-}" ]; then
  env >"$tap_dir/noted.\$SWEEP_RUN.\$SLURM_JOB_ID"
  for i in 1 2; do
    [ -z "\$HUNGRY" ] || awk 'BEGIN { for (i = 0; i < 8e5; i++) a[i] = i "............................"; system("sleep 6") }' &
  done
  [ -z "\$HUNGRY" ] || sleep 7
fi
exec "$paced" "\$@"
SH
chmod +x "$tap_dir/note"
ids() { tail -n +3 "$SWEEP_ROOT/sweeps/$1/manifest.tsv" | cut -f2; }
noted() { cat "$tap_dir/noted.$1".* 2>/dev/null | grep -Fqx -- "$2"; }
mkdir "$tap_dir/site" # a site that hands no variables on
printf '#!/bin/sh\nexec %s --export=NONE "$@"\n' "$(command -v sbatch)" >"$tap_dir/site/sbatch"
chmod +x "$tap_dir/site/sbatch"
export PATH=$tap_dir/site:$PATH SWEEP_TRAINER=$tap_dir/note

experiment seen 2 20
(cd "$tap_dir" && MARK="of the submitter" CUDA_VISIBLE_DEVICES=7 MY_TOKEN=hush submit seen --no-check) >"$tap_dir/out" 2>&1
tap_result "it is submitted" $? "$(cat "$tap_dir/out")"
tap_wait 60 finished 2
tap_wait 60 queue_empty
id=$(ids seen | head -1)
noted "$id" "MARK=of the submitter"; tap_result "runs get the submitter's variables" $? "$(cat "$tap_dir"/noted.* | grep -v LS_COLORS | head -30)"
! noted "$id" CUDA_VISIBLE_DEVICES=7; tap_result "but not its GPUs" $?
[ "$(grep -c '^SLURM_JOB_ID=' "$tap_dir/noted.$id".*)" = 1 ]; tap_result "and keep their job's own variables" $?
! grep -rqs hush "$SWEEP_ROOT"; tap_result "no secret is written" $?
tap_run "submit --seeds names the changes" 0 "last submission in MARK" env MARK=later sweep submit seen --seeds 3 --no-check
tap_wait 60 finished 3
noted "$(ids seen | tail -1)" MARK=later; tap_result "and its runs get it" $?

# workers count
experiment hungry 1 20
HUNGRY=1 submit hungry --no-check >/dev/null
tap_wait 60 finished 4
tap_wait 60 queue_empty
id=$(ids hungry)
peak=$(sed -n 's/^peak_mb=//p' "$(folder_of "$id")/memory")
[ "${peak:-0}" -ge 100 ]; tap_result "memory is that of all processes of a run" $? "$(cat "$(folder_of "$id")/memory")"
tap_run "sweep plan reports it" 0 "runs until now used at most $peak MB" sweep plan hungry --no-check
tap_run "so does sweep status --cost" 0 "memory     $peak MB at most" sweep status hungry --cost
tap_done

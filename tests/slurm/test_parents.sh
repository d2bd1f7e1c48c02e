#!/usr/bin/env bash
# Runs that begin from other runs' checkpoints (init.from), on a real Slurm: each waits for its own parent only; effects
# of a failed parent, and its repetition. And the preview, which equals what Slurm stores, to the byte.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
. tests/slurm/cluster.sh
. tests/slurm/sweep.sh
export HOME=$tap_dir
cluster_conf="MaxArraySize=4"
if ! cluster_start; then tap_skip "parents on a real cluster" "$cluster_problem"; tap_done; fi
fresh_status() { rm -rf "$tap_dir/.cache"; sweep status "$@"; }

# family NAME PARENTS [LINES of [slurm]...]: so many parents, and two children of each
family() {
  experiment "$1" "$2" 20 "${@:3}"
  cat >>"$tap_dir/$1.ini" <<'INI'
[grid parents]
ppo.epsilon = 0.2
[grid children]
ppo.epsilon = 0.3, 0.4
init.from = "run:{ppo.epsilon=0.2}"
init.restore = weights
INI
}
stored() { scontrol write batch_script "$1" - 2>/dev/null; }
same() { cmp "$1" <(stored "$2"); }
id_of() { sed -n "$(($2 + 3))p" "$SWEEP_ROOT/sweeps/$1/manifest.tsv" | cut -f2; }
job_of() { awk -F'\t' -v b="$2" -v a="$3" '$3 == "took" && $4 == b && $5 == a { print $6 }' "$SWEEP_ROOT/sweeps/$1/submit.log"; }

# ---- the preview
family kin 5
for k in 0 1 2; do sweep plan "$tap_dir/kin.ini" --script $k >"$tap_dir/preview.$k" 2>/dev/null; done
tap_run "as many arrays as there are" 2 "kin makes arrays 0 to 5" sweep plan "$tap_dir/kin.ini" --script 6
[ ! -e "$SWEEP_ROOT/sweeps" ]; tap_result "a preview leaves nothing behind" $?
tap_run "5 parents and 10 children as arrays of at most 4" 0 "15 runs submitted in 6 arrays" submit kin
tap_check "plan --script equals what Slurm stores, to the byte" "$(same "$tap_dir/preview.0" "$(job_of kin 1 0)")"
tap_check "the second array's too" "$(same "$tap_dir/preview.1" "$(job_of kin 1 1)")"
tap_check "a child's, except for the job id that its parents do not have yet" "$(
  diff <(grep -v "^# It also depends.* aftercorr: array 0 of batch 1;$" "$tap_dir/preview.2") \
       <(stored "$(job_of kin 2 0)" | grep -vE "^#SBATCH --(dependency=aftercorr:$(job_of kin 1 0)|kill-on-invalid-dep=yes)$")
  [ "$(grep -c 'aftercorr: array 0 of batch 1' "$tap_dir/preview.2")" = 1 ] || echo "no remark")"
tap_wait 300 queue_empty
counts kin 15 20
tap_check "each child began from its parent's end" "$(
  began=$(grep -lE '^parent=[0-9a-f]{16}@20$' "$SWEEP_ROOT"/runs/*/*/state | wc -l); [ "$began" = 10 ] || echo "$began of 10")"

# ---- each waits for its own
family own 3
submit own --hold >/dev/null
sweep hold --off own 1 2 3 4 5 6 7 8 >/dev/null # all but the first parent
six_done() { fresh_status own | grep -q "6 finished"; }
tap_wait 120 six_done
tap_run "children do not wait for others' parents" 0 "6 finished" fresh_status own # 2 parents with 2 children each
tap_run "waiting runs name their parents" 0 "2 queued: waits for parent runs (init.from)" fresh_status own
sweep hold --off own >/dev/null
tap_wait 300 queue_empty
counts own 9 20

# ---- a parent fails
family broken 3
mkdir "$tap_dir/bin"
cat >"$tap_dir/bin/trainer" <<SH
#!/bin/bash
[ -e "$tap_dir/bad" ] && grep -q "\$(cat "$tap_dir/bad")" <<<"\$*" && exit 1
exec "$(command -v trainer)" "\$@"
SH
chmod +x "$tap_dir/bin/trainer"
sweep plan "$tap_dir/broken.ini" --runs | grep -oE '\b[0-9a-f]{16}\b' | head -1 >"$tap_dir/bad"
bad=$(cat "$tap_dir/bad")
export SWEEP_TRAINER=$tap_dir/bin/trainer
submit broken >/dev/null
tap_wait 300 queue_empty; tap_result "no run waits indefinitely" $? "$(squeue)"
out=$(fresh_status broken)
for words in "6 finished" "2 orphaned" "1 failed" "orphaned: its parent run $bad failed: exit code 1; sweep submit broken $bad submits both again"; do
  tap_check "status says: ${words:0:60}" "$(grep -qF "$words" <<<"$out" || echo "$out")"
done
tap_run "a child alone is not submitted" 0 "2 start from runs that are neither done nor in a queue ($bad)" \
  sweep submit broken $(fresh_status broken --csv | grep orphaned | cut -d, -f2)
rm "$tap_dir/bad"
said=$(sweep submit broken "$bad" --json 2>/dev/null)
tap_check "the parent takes its children along" \
  "$([ "$(tool json submitted <<<"$said")" = 3 ] && [ "$(tool json run <<<"$said" | tr ',' '\n' | wc -l)" = 3 ] || echo "$said")"
tap_wait 300 queue_empty
counts broken 9 20

# ---- parents of another sweep, and max_running
experiment elder 1 20
submit elder --hold >/dev/null
elder=$(id_of elder 0)
sed "s/^name = elder/name = younger/; \$a [init]\nfrom = run:$elder\nrestore = weights" "$tap_dir/elder.ini" >"$tap_dir/younger.ini"
submit younger >/dev/null
waits() { squeue -h -n younger -o %r | grep -q Dependency; }
tap_wait 60 waits
tap_run "a run waits for its parent in another sweep" 0 "1 queued: waits for parent runs" fresh_status younger
sweep hold --off elder >/dev/null
tap_wait 300 queue_empty
counts younger 1 20
family slow 3 "max_running = 1"
submit slow >/dev/null
tap_wait 300 queue_empty
tap_check "max_running holds for parents and children together" "$(
  for i in $(seq 0 8); do
    sed -nE 's/^(started|finished)_unix_s=//p' "$(folder_of "$(id_of slow "$i")")/state" | xargs
  done | sort -g | awk 'NF != 2 { print "no times: " $0 } NR > 1 && $1 < end { print "at " $1 " another ran until " end } { end = $2 } END { if (NR != 9) print NR " runs" }')"
counts slow 9 20
tap_done

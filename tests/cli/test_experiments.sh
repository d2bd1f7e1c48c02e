#!/usr/bin/env bash
# Every file in experiments/ can be planned unchanged and with both profiles, prints its claims, and shares the
# documented runs with other files. Then runs that begin from another run of their sweep. TAP.
set -u
. "$(dirname "$0")/tap.sh"
cd "$(dirname "$0")/../.." || exit 1
root=$tap_dir/root; mkdir "$root"
export SWEEP_PYTHON=$SWEEP_BUILD/python/bin/python; [ -x "$SWEEP_PYTHON" ] || unset SWEEP_PYTHON
files=$(find experiments -name '*.ini' | sort)

# ---- each file; at full size with the GPUs that it needs: those of 24 GB hold the largest run, and none idles
without_levels=()
gpu_problems() { grep -E 'gpus_per_run|slurm.mem:|device = auto' "$tap_dir/out" | head -3; }
for file in $files; do
  problems= wasted=
  for profile in "" laptop demo; do
    plan=(sweep plan "$file" --root "$root")
    if [ -n "$profile" ]; then plan+=(--profile $profile); else plan+=(--set slurm.gpu_mem=24G); fi
    # Ten games are ten starts of Python: two of them are enough, in the laptop's profile.
    [ -z "$profile" ] && grep -q '^env.task = atari/Amidar' "$file" && plan+=(--no-check)
    "${plan[@]}" >"$tap_dir/out" 2>&1; code=$?
    if [ -z "$profile" ]; then
      if [ $code = 0 ]; then wasted=$(gpu_problems); else without_levels+=("$file"); fi
    fi
    [ "$profile" = laptop ] && [ $code = 0 ] && wasted+=$(gpu_problems)
    [ $code != 0 ] || continue
    # Kinetix' own levels are not in this tree; the demo runs without them and without optional packages.
    absent='make mujoco'; [ "$profile" = demo ] || absent+='|levels: .*kinetix/.*No such file|make procgen|has no package'
    others=$(grep -vE "$absent|^sweep: these runs would fail|^and [0-9]+ more kinds" "$tap_dir/out")
    [ -z "$others" ] && "${plan[@]}" --no-check >"$tap_dir/out" 2>&1 && continue
    problems+="${profile:-paper}: $(head -2 "$tap_dir/out") "
  done
  grep -q '^; Claim: ' "$file" || problems+="no line '; Claim: ...' "
  stem=$(basename "$file" .ini)
  grep -qE "^name  = (onpolicy_|fixed_point_)?${stem%%_*}" "$file" || problems+="the sweep's name does not begin with ${stem%%_*} "
  [ -z "$problems" ]; tap_result "$file: paper, laptop and demo" $? "$problems"
  [ -z "$wasted" ]; tap_result "$file: its GPUs hold it, and are used" $? "$wasted"
done
for file in "${without_levels[@]}"; do
  sed -E '/^(eval.levels|level_folder) /d' "$file" >"$tap_dir/needs.ini" # Kinetix' levels are not in this tree
  sweep plan "$tap_dir/needs.ini" --set slurm.gpu_mem=24G --root "$root" >"$tap_dir/out" 2>&1
  problems=$(gpu_problems)
  [ -z "$problems" ]; tap_result "$file: its GPUs hold it, without Kinetix' levels" $? "$problems"
done
tap_expect "a run of 128 GPUs is priced as 128, with its searches" 0 "GPUs         41\.2 k GPU-hours" sweep plan experiments/fig11_sfl.ini --set sweep.grids=n1m \
  --where env.task=random_l --where seed=0 --no-check --speed 1e6 --root "$root"
tap_run "a million environments request 128 GPUs on 16 nodes" 0 "#SBATCH --ntasks=128" sweep plan experiments/fig11_sfl.ini \
  --set sweep.grids=n1m --no-check --script 0 --root "$root"
tap_check "8 on each" "$(sweep plan experiments/fig11_sfl.ini --set sweep.grids=n1m --no-check --script 0 --root "$root" |
  grep -cE '^#SBATCH --(nodes=16|gres=gpu:8|ntasks-per-node=8)$' | grep -qx 3 || echo no)"
tap_run "the comparison with Kinetix in JAX can be planned" 0 "runs         4" sweep plan docs/examples/kinetix_jax.ini --no-check --root "$root"
names=$(sed -n 's/^name  = //p' $files | sort | uniq -d)
[ -z "$names" ]; tap_result "no two files have one sweep's name" $? "$names"

# ---- all of them together
printf '#!/bin/sh\nexec python3 -S -E "$@"\n' >"$tap_dir/bare"; chmod +x "$tap_dir/bare"
row() { sweep plan "$@" --root "$root" | awk -v name="$last" '$1 == name { print $2, $3 }'; }
tap_run "sweep plan prices the whole paper" 0 "total, each run once" sweep plan $files --root "$root"
last=fig8_ddr; pooled=$(row experiments/fig5_regularisation.ini experiments/fig6_epochs.ini experiments/fig7_minibatch.ini experiments/fig8_ddr.ini)
[ "$pooled" = "310 60" ]; tap_result "Fig. 8 pools the runs of Figs. 5 to 7, except those of other sizes" $? "$pooled"
last=onpolicy_fig3_dynamics; shared=$(row experiments/onpolicy/fig1b_more_data.ini experiments/onpolicy/fig3_dynamics.ini)
[ "$shared" = "150 0" ]; tap_result "the dynamics are those of runs that Fig. 1b has" $? "$shared"
last=onpolicy_fig15_exploration; shared=$(row experiments/onpolicy/fig3_dynamics.ini experiments/onpolicy/fig15_exploration.ini)
[ "$shared" = "30 15" ]; tap_result "of the games of hard exploration Phoenix is there" $? "$shared"
tap_expect "a Python without ale-py is named, with the remedy" 2 "atari/MontezumaRevenge: .* has no package .* install it with" \
  env SWEEP_PYTHON="$tap_dir/bare" sweep plan experiments/onpolicy/fig15_exploration.ini --root "$root"
last=fixed_point_fig3; shared=$(row experiments/fixed_point/*.ini)
[ "$shared" = "32 0" ]; tap_result "the KL profiles are those of runs that Fig. 1 has" $? "$shared"
one=$(sweep plan experiments/fig5_regularisation.ini experiments/fig8_ddr.ini --root "$root" --json)
# 65 runs of 310 are shared. 3e9 transitions in whole iterations of N * 256: 30 runs each with N = 512 and 8192, 250 with 2048.
all=$((30 * 22889 * 512 * 256 + 250 * 5723 * 2048 * 256 + 30 * 1431 * 8192 * 256))
grep -q '"added": 310,' <<<"$one" && grep -q "\"transitions\": $all.0" <<<"$one"
tap_result "shared runs are counted once" $? "$one"
tap_run "--speed prices" 0 " 259 " sweep plan experiments/fig5_regularisation.ini experiments/fig8_ddr.ini --root "$root" --speed 1e6
tap_run "a bad file among several is named" 1 "nothing.ini" sweep plan experiments/fig8_ddr.ini "$tap_dir/nothing.ini" --root "$root"
tap_run "--speed -1" 2 "--speed" sweep plan experiments/fig8_ddr.ini experiments/fig1a_com.ini --root "$root" --speed=-1
tap_run "--runs is for one file" 2 "one file" sweep plan experiments/fig8_ddr.ini experiments/fig1a_com.ini --root "$root" --runs

# ---- runs that begin from others of their sweep
cat >"$tap_dir/switch.ini" <<'INI'
[sweep]
name = switch
seeds = 2
[env]
num = 16
level_count = 4
morphologies = car
[train]
total_steps = 2560
[ppo]
num_steps = 16
num_minibatches = 2
epochs = 1
[net]
width = 8
depth = 1
[eval]
count = 1
episodes = 4
[checkpoint]
every_iterations = 5
keep = 10
[grid switched]
algo.name = ppo_ewma
ppo.com = 512
init.from = run:{ppo.com=8}@5
[grid parents]
algo.name = ppo_ewma
ppo.com = 8
INI
tap_run "only the additional part of a continued run is estimated" 0 "transitions  7.68 k" sweep plan "$tap_dir/switch.ini" --root "$root"
tap_run "they wait for those that they begin from" 0 "4 finished" sweep submit "$tap_dir/switch.ini" --root "$root" --jobs 2 --wait
first=$(analyze sql "$root/results.db" --csv "SELECT DISTINCT min(i.iteration) FROM iteration i GROUP BY run_id ORDER BY 1" | tr '\n' ' ')
grep -q '1 6 $' <<<"$first"; tap_result "and go on where those stood" $? "$first"
part=(sweep submit "$tap_dir/switch.ini" --root "$tap_dir/part" --local)
tap_run "--where of a run without its parent is refused" 2 "which is not done; select both" "${part[@]}" --where grid=switched
tap_run "--where trains a part of a sweep on this machine" 0 "2 finished, 2 pending" "${part[@]}" --where grid=parents --wait
tap_run "and then one run that begins from it" 0 "3 finished, 1 pending" "${part[@]}" --where grid=switched --where seed=1 --wait
# queue CONDITION...: the request of an executor that was killed
queue() { printf '%s\n' jobs=1 force=0 executor=0 asked=1 "$@" >"$tap_dir/part/sweeps/$(cd "$tap_dir/part/sweeps" && ls)/queued"; }
queue where=grid=parents
tap_run "--force of a part is refused while other runs are queued" 2 "--force would apply to all or none of them" "${part[@]}" --force --where grid=switched --where seed=1
queue where=nothing=1
"${part[@]}" --where grid=switched --where seed=0 --wait >"$tap_dir/out" 2>&1
tap_run "a queued condition that cannot be read starts no run" 0 "3 finished, 1 pending" sweep status --root "$tap_dir/part"
tap_run "and the log has the reason" 0 "cannot read the queued request; submit it again: --where nothing=1" cat "$tap_dir/part/executor.log"
queue where=grid=parents
tap_run "a part continues the runs queued earlier" 0 "the runs queued earlier continue, too" "${part[@]}" --where grid=switched --where seed=0 --wait
tap_run "and starts those of its own" 0 "4 finished" sweep status --root "$tap_dir/part"
printf '[sweep]\nname = waves\nseeds = 1\n[search s]\nmethod = tpe\nstartup = 4\ntrials = 10\nppo.epochs = 1 .. 4\n' >"$tap_dir/waves.ini"
tap_run "a part of a search in waves is refused" 2 "runs as a whole" sweep submit "$tap_dir/waves.ini" --root "$root" --local --no-check --where seed=0
for bad in 'run:{ppo.com=8' 'run:{}@5' 'run:{ppo.con=8}@5' 'run:{ppo.com=8}x' 'run:{ppo.com=eight}' 'run:{init.restore=all}'; do
  sed "s/^init.from.*/init.from = $bad/" "$tap_dir/switch.ini" >"$tap_dir/bad.ini"
  tap_run "init.from = $bad is refused" 2 "init.from = run:{" sweep plan "$tap_dir/bad.ini" --root "$root"
done
tap_done

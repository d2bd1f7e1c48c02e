#!/usr/bin/env bash
# `analyze` gives the same bits for an experiment after unrelated data are added to the database: other experiments,
# some of which share its runs or have copies of them, other tasks, and runs that failed, diverged, were stopped or
# never began. A random set of such runs is used, or UNRELATED_WORLDS; in check-long two. TAP.
set -u
. tests/cli/tap.sh
. tests/cli/runs.sh
root=$tap_dir/work small="[env]
num = 4
[train]
total_steps = 512
threads = 1
[ppo]
num_steps = 16
num_minibatches = 2
epochs = 1
[net]
width = 8
depth = 1
[eval]
count = 2
episodes = 24
[checkpoint]
every = 0
[metrics]
layers = true
profile_every = 2
representation_every = 1
visited_states = 64"
trained() { # NAME TASK: an experiment that is trained, for data that only a trainer writes
  printf '[sweep]\nname = %s\nseeds = 3\n%s\n[grid g]\nenv.task = %s\nppo.epsilon = 0.1, 0.3\n' "$1" "$small" "$2" >"$tap_dir/$1.ini"
  sweep submit "$tap_dir/$1.ini" --local --wait --root "$root" >"$tap_dir/$1.log" 2>&1 || { echo "Bail out! $(tail -3 "$tap_dir/$1.log")"; exit 1; }
}

# Scores of an experiment's own model; some runs break down, or are stopped.
fill_first() {
  fill "$root" "env.num scale.factor ppo.com ppo.epsilon algo.name init.from" '
    BEGIN { srand(1) }
    { end = 0.8 - 0.1 * rand(); fate = rand(); last = iterations; status = "finished"
      if (v["algo.name"] == "ppo_ewma") end -= v["ppo.com"] < 8 ? 0.3 : 0
      if (fate < 0.05) status = "diverged"; else if (fate < 0.1) status = "failed"; else if (fate < 0.15) status = "stopped"
      if (status != "finished") last = int(iterations * rand()) + 1
      run(last, status); eval(0, 0.05)
      for (q = 1; q <= 10; q++) { i = int(iterations * q / 10)
        if (i <= last) { eval(i, end * (1 - exp(-q / 3)) + 0.01 * rand())
          stat(i, "kl=" 0.01 + 0.02 * rand() " grad_norm_actor=" 1 + rand() " steps_per_second=" 1000 + int(100 * rand()) \
            " coverage_50=" 0.05 * q " coverage_states=" i * each) } } }'
}

# Unrelated data: outcomes and values of a random world, on another scale.
fill_unrelated() { # WORLD
  fill "$root" "env.task" '
    BEGIN { srand(100 + '"$1"') }
    { fate = rand(); last = iterations; status = "finished"; high = v["env.task"] ~ /mujoco/
      if (rand() < 0.1) next
      if (fate < 0.2) status = "diverged"; else if (fate < 0.3) status = "failed"; else if (fate < 0.4) status = "stopped by rule"
      else if (fate < 0.5) status = "stopped"
      if (status != "finished") last = int(iterations * rand() / 2) + 1
      run(last, status); if (rand() < 0.7) eval(0, high ? "-" : rand(), high ? -1000 : "-")
      for (q = 1; q <= 4; q++) { i = int(iterations * q / 4)
        if (i <= last && rand() < 0.8) { eval(i, high ? "-" : rand(), high ? 5000 * rand() : "-")
          stat(i, "kl=" (rand() < 0.1 ? "inf" : 100 * rand()) " grad_norm_actor=" 1000 * rand() " coverage_50=" rand() \
            " coverage_states=" int(100 * rand())) } } }'
}

# Saves all output about the first experiments in a directory: text, CSV, SVG, scripts, pages, without dates.
say_all() { # FOLDER
  local n=0 line
  rm -rf "$1"
  mkdir -p "$1"
  cd "$root" || exit 1 # so that no path distinguishes the databases
  while read -r line; do
    n=$((n + 1))
    rm -rf out
    # shellcheck disable=SC2086
    analyze $line >"$1/$n.txt" 2>&1 || [ $? = 1 ] || echo "usage: $line"
    sed -i "1i analyze $line" "$1/$n.txt"
    if [ -d out ]; then mv out "$1/$n"; fi
  done
  cd "$OLDPWD" || exit 1
  find "$1" -name '*.p[dn][fg]' -delete
  # Membership of runs depends on the database, and so do settings that are not part of a run's identity.
  find "$1" \( -name run.csv -o -name run_summary.csv \) -delete
  # How many claims --claim leaves out is a statement about the whole database.
  find "$1" -name '*.txt' -exec sed -i '/^[0-9]* more claims have runs here/,/omit --claim/d' {} +
  find "$1" -type f -exec sed -i -E 's/20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9:]{5,8}( UTC)?/DATE/g' {} +
  echo "$n"
}
own="fig5_regularisation fig9_scaling fig3a_switch"
claims="com_low com_high epsilon_high epsilon_low switch_up switch_down switch_same scale_minibatches scale_larger scale_sqrt
  scale_smaller scale_speed"
commands() {
  local sweep
  for sweep in $own; do
    echo "curves results.db --sweep $sweep -o out"
    echo "curves results.db --sweep $sweep --y kl --interval bootstrap -o out"
    echo "bars results.db --sweep $sweep -o out"
    echo "bars --profile results.db --sweep $sweep -o out"
    echo "table results.db --sweep $sweep -o out"
    echo "table --runs results.db --sweep $sweep --measure final,best,ddr,speed,coverage,gain,early,late_gain --format csv"
    echo "claims results.db --sweep $sweep --json"
    echo "ddr-vs-solve results.db --sweep $sweep -o out"
    echo "advise results.db --sweep $sweep --json"
    echo "report results.db --sweep $sweep --no-figures -o out" # those have dates, and are drawn above
  done
  echo "settings results.db --sweep fig5_regularisation --x ppo.epsilon -o out"
  echo "settings results.db --sweep fig9_scaling --x env.num --measure coverage -o out"
  echo "settings results.db --sweep fig9_scaling --x env.num --measure normalized_score --aggregate iqm -o out"
  echo "heatmap results.db --sweep fig9_scaling --x env.num --y scale.scheme -o out"
  echo "bars results.db --sweep fig5_regularisation --interval bootstrap --measure best -o out"
  echo "compare results.db com=8 com=128 --sweep fig5_regularisation --json"
  echo "compare results.db eps=0.1 eps=0.8 --sweep fig5_regularisation --measure ddr"
  echo "curves results.db --sweep first --y iteration.dormant_actor -o out"
  echo "layers results.db --sweep first -o out"
  echo "kl-profile results.db --sweep first -o out"
  echo "coverage results.db --sweep first -o out"
  for figure in fig3a fig5a fig5b fig9 fig13 fig14; do echo "$figure results.db -o out"; done
  for claim in $claims; do echo "claims results.db --claim $claim"; done
  echo "claims results.db --correct$(printf ' --claim %s' $claims)"
  echo "export csv results.db --sweep fig5_regularisation -o out"
}

submit "$root" experiments/fig5_regularisation.ini --profile demo --set sweep.seeds=3
submit "$root" experiments/fig9_scaling.ini --profile study --set sweep.seeds=3
submit "$root" experiments/fig3a_switch.ini --profile demo --set sweep.seeds=3
fill_first
trained first loco512
said=$(commands | say_all "$tap_dir/before")
# Only the parents of switches are too few for advice.
tap_check "$said commands report on an experiment" "$(grep -l '^analyze: ' "$tap_dir"/before/*.txt | tail -n +2
  [[ $said =~ ^[0-9]+$ ]] || echo "$said")"
cp -r "$root" "$tap_dir/base"
for ((world = 1; world <= ${UNRELATED_WORLDS:-$(is_long && echo 2 || echo 1)}; world++)); do
  rm -rf "$root" && cp -r "$tap_dir/base" "$root"
  for other in fig4_learning_rate fig6_epochs fig12_com_epsilon fig1b_convex onpolicy/fig8_locomotion; do
    submit "$root" experiments/$other.ini --profile demo --set sweep.seeds=2
  done
  submit "$root" experiments/fig8_ddr.ini --profile study --set sweep.seeds=4
  submit "$root" experiments/fig8_ddr.ini --profile demo --set sweep.seeds=4
  # The same settings under another name, and runs that draw the same numbers: PPO does not read ppo.com.
  sed 's/^name .*/name = same/' experiments/fig5_regularisation.ini >"$tap_dir/same.ini"
  submit "$root" "$tap_dir/same.ini" --profile demo --set sweep.seeds=3
  sed '/grid com\]/,/^$/d; s/^name .*/name = copies/' experiments/fig5_regularisation.ini >"$tap_dir/copies.ini"
  submit "$root" "$tap_dir/copies.ini" --profile demo --set sweep.seeds=3 --set ppo.com=77
  fill_unrelated $world
  [ $world -gt 1 ] || trained second random_s
  said=$(commands | say_all "$tap_dir/after")
  runs=$(tool sql "$root/results.db" "SELECT count(*) FROM run")
  tap_check "and the same with other data, $runs runs ($world)" "$(diff -rq "$tap_dir/before" "$tap_dir/after" | head -20
    diff -r "$tap_dir/before" "$tap_dir/after" | grep '^[<>]' | cut -c1-200 | head -20)"
done
tap_done

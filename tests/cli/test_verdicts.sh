#!/usr/bin/env bash
# `analyze` on small databases with a known correct answer that is easy to miss: runs that break down, are stopped or
# are shared, additional tasks, a single infinite value. TAP.
set -u
. tests/cli/tap.sh
. tests/cli/runs.sh
small="env.num=32 train.total_steps=409600 ppo.num_steps=64 ppo.num_minibatches=4 eval.count=4"
ini() { # NAME SEEDS SETTINGS GRID...: an experiment file; SETTINGS section.key=value, GRID section.key=values
  local setting
  printf '[sweep]\nname = %s\nseeds = %s\n' "$1" "$2"
  for setting in $3; do printf '[%s]\n%s = %s\n' "${setting%%.*}" "$(cut -d= -f1 <<<"${setting#*.}")" "${setting#*=}"; done
  printf '[grid g]\n'
  printf '%s\n' "${@:4}"
}
says() { # NAME PATTERN COMMAND...: white space does not matter
  local name=$1 pattern=$2 out; shift 2
  out=$("$@" 2>&1 | tr -s ' \n' ' ')
  tap_check "$name" "$(grep -qE -- "$pattern" <<<"$out" || echo "no /$pattern/ in: $out")"
}
finds() { # NAME WANTED ROOT CLAIM FIELDS [OPTIONS...]
  local name=$1 want=$2 got; shift 2
  got=$(analyze_json "$tap_dir/$1/results.db" "${@:2}" 2>&1)
  tap_check "$name" "$([ "$got" = "$want" ] || echo "'$got' instead of '$want'")"
}

# ---- the margin is of the claim's own runs
for other in "" 1; do
  root=$tap_dir/margin$other
  submit "$root" experiments/fig4_learning_rate.ini --profile demo --set sweep.seeds=16
  [ -z "$other" ] || submit "$root" experiments/fig1b_convex.ini --profile demo --set sweep.seeds=1
  fill "$root" "algo.name ppo.com ppo.learning_rate" '
    { if (v["algo.name"] == "noisy_sgd") { run(iterations, "finished"); stat(iterations, "distance=-3"); next }
      rate = v["ppo.learning_rate"]; com = v["ppo.com"]; mean = 0.4
      if (rate == 0.001) mean = com == 2 ? 0.6 : 0.5
      if (rate == 0.003) mean = com == 2 ? 0.5 : 0.6
      run(iterations, "finished"); eval(0, 0.05); eval(iterations, mean + 0.01 * z(16)) }'
  finds "the margin of a claim${other:+, with a run without a solve rate}" "contradicted 0.1 0.05 difference" "margin$other" \
    lr_independent "verdict estimate margin scale"
done

# ---- bounds of an interval are those of its own runs
for other in "" 1; do
  root=$tap_dir/bounds$other
  submit "$root" "$(ini b 3 "$small" ppo.epsilon=0.1,0.2)"
  [ -z "$other" ] || submit "$root" "$(ini c 1 "$small" env.task=mujoco/HalfCheetah-v4)"
  fill "$root" "env.task ppo.epsilon" '
    BEGIN { split("1 0.98 0.93", good, " "); split("0.03 0 0.08", bad, " ") }
    { run(iterations, "finished")
      if (v["env.task"] ~ /Cheetah/) eval(iterations, "-", -3)
      else eval(iterations, v["ppo.epsilon"] == 0.1 ? good[seed + 1] : bad[seed + 1]) }'
  says "an interval near 1${other:+, with a run of another task}" '0\.970 \[0\.740, 0\.997\].*0\.037 \[0\.0038, 0\.28\]' \
    analyze bars "$root/results.db" --group ppo.epsilon,env.task -o "$tap_dir/f" --aggregate mean
done

# ---- copies of other experiments' runs do not speak for a claim's own
for other in "" 1; do
  root=$tap_dir/copies$other
  submit "$root" experiments/fig9_scaling.ini --profile study
  [ -z "$other" ] || submit "$root" experiments/fig8_ddr.ini --profile study
  fill "$root" "env.num scale.factor" '
    BEGIN { split("16 32 64 128 256 512", n, " "); split("0.46 0.6 0.66 0.72 0.74 0.76", m, " "); for (i in n) mean[n[i]] = m[i] }
    { run(iterations, "finished"); eval(0, 0.05); eval(iterations, mean[v["env.num"] * v["scale.factor"]] + 0.02 * z(5))
      stat(iterations, "kl=0.01") }'
  for sweep in "" fig9_scaling; do
    of=${sweep:+--sweep $sweep} with="${other:+, with copies of runs}${sweep:+, --sweep}"
    finds "more environments$with" "supported 6 30 0" "copies$other" scale_minibatches "verdict configurations runs mixed" $of
    finds "larger minibatches$with" "undecided 0.5 10 50 0" "copies$other" scale_larger "verdict estimate configurations runs mixed" $of
    finds "smaller minibatches$with" "undecided 0.5 4 20 0" "copies$other" scale_smaller "verdict estimate configurations runs mixed" $of
  done
done

# ---- runs that break down are the worst, not missing
for kind in finished diverged failed; do
  root=$tap_dir/$kind
  submit "$root" experiments/fig12_com_epsilon.ini --profile demo --set sweep.seeds=5
  fill "$root" "ppo.epsilon" '
    { half = int(iterations / 2); good = 0.6 + 0.02 * z(5); broken = v["ppo.epsilon"] == 0.8
      run(broken && "'$kind'" != "finished" ? half + 3 : iterations, broken ? "'$kind'" : "finished")
      eval(0, 0.05); eval(half, good + (broken ? 0.05 : -0.05))
      if (!broken) eval(iterations, good)
      else if ("'$kind'" == "finished") eval(iterations, 0.05) }'
  finds "runs that end untrained, $kind" "supported 0.55" $kind com_epsilon_extreme "verdict estimate"
  says "and in a figure" '0\.8 +20 +0\.05 ' analyze settings "$root/results.db" --x ppo.epsilon --group none -o "$tap_dir/f"
done
root=$tap_dir/early
submit "$root" experiments/fig12_com_epsilon.ini --profile demo --set sweep.seeds=10
fill "$root" "ppo.epsilon" '
  { eps = v["ppo.epsilon"]
    if (eps == 0.8 && seed < 6) { run(3, "diverged"); eval(0, 0.05); stat(3, "kl=1"); next }
    run(iterations, "finished"); eval(0, 0.05); eval(iterations, (eps == 0.8 ? 0.66 : 0.6 + 0.02 * z(10))) }'
finds "runs that break down before an evaluation" "supported 0.306 24" early com_epsilon_extreme "verdict estimate diverged"

# ---- runs that a rule stopped give no verdict, but at the budget that all reached
for kind in finished stopped; do
  root=$tap_dir/$kind.rule
  submit "$root" experiments/fig5_regularisation.ini --profile demo --set sweep.seeds=10
  fill "$root" "algo.name ppo.epsilon" '
    { inf = v["algo.name"] == "ppo" && v["ppo.epsilon"] == "inf"; bad = inf && seed >= 3
      end = inf ? (bad ? 0.1 : 0.55) : 0.5; last = bad && "'$kind'" == "stopped" ? 4 : 8
      run(last == 4 ? int(iterations / 2) : iterations, last == 4 ? "stopped by rule" : "finished"); eval(0, 0.05)
      for (q = 1; q <= last; q++) eval(int(iterations * q / 8), end + 0.02 * z(10) + (seed % 2 ? 0.002 : -0.002) * (q == 4 || q == 8 ? 0 : q - 5)) }'
done
finds "seven of ten seeds that fail" "supported 0.265 0" finished.rule epsilon_high "verdict estimate censored"
finds "the same, stopped by a rule" "undecided 7" stopped.rule epsilon_high "verdict censored"
says "says which budget all reached" "7 runs were stopped by a rule; --budget [0-9]+ compares what all reached" \
  analyze claims "$tap_dir/stopped.rule/results.db" --claim epsilon_high
finds "at which there is a verdict" "supported 0.265 0" stopped.rule epsilon_high "verdict estimate censored" --budget 200704

# ---- a plateau is no slow run: the gain of a quarter of the budget, relative to all that was gained
for shape in "t undecided 1" "t^0.5 undecided 1" "t^0.3 undecided 1" "log(1+20*t)/log(21) undecided 1" "1-exp(-10*t) supported 0"; do
  read -r curve verdict <<<"$shape" # and whether plateaus, which can happen, were significantly not seen
  root=$tap_dir/plateau
  rm -rf "$root"
  submit "$root" experiments/fig5_regularisation.ini --profile demo --set sweep.seeds=10
  fill "$root" "algo.name ppo.epsilon" '
    { inf = v["algo.name"] == "ppo" && v["ppo.epsilon"] == "inf"; end = inf ? 0.35 : 0.7
      run(iterations, "finished"); eval(0, 0.05)
      for (q = 1; q <= 12; q++) { t = q / 12; eval(int(iterations * t), 0.05 + (end - 0.05) * ('"$curve"') + 0.02 * z(10) * (q % 2 ? 1 : -1)) } }'
  finds "a setting that ends at half the score and gained as $curve" "$verdict" plateau epsilon_high "verdict not_seen"
done

# ---- a switch gains what its parent does not, and falls below its own score
for lead in "0.1 supported" "0 contradicted"; do
  read -r gain verdict <<<"$lead"
  root=$tap_dir/switch
  rm -rf "$root"
  submit "$root" experiments/fig3a_switch.ini --profile demo --set sweep.seeds=16
  fill "$root" "ppo.com init.from init.restore" '
    { fresh = v["init.restore"] == "weights"; child = v["init.from"] != "" && !fresh; at = v["init.from"]; sub(/.*@/, "", at)
      from = child ? at + 0 : 0; run(iterations, "finished")
      for (i = from; i <= iterations; i++)
        if (i == from || i % 5 == 0 || i == iterations) {
          t = fresh ? 0.5 + 0.5 * i / iterations : i / iterations
          after = fresh ? i / iterations : child ? (i - from) / iterations : 0
          eval(i, 0.2 + 0.3 * t + (after > 0 ? (v["ppo.com"] == 8 ? -0.05 : ('"$gain"' - ('"$gain"' ? 0 : 0.02) + 0.3 * after ^ 2) * (1 + 0.1 * z(16))) : 0) + 0.005 * z(16)) } }'
  finds "runs that rise by themselves, and $gain more at the switch" "$verdict" switch switch_up verdict
  # they end below their parents, which rise further, but above their own score at the switch
  finds "and do not fall" "contradicted" switch switch_down verdict
done

# ---- coverage at the number of states that finished runs have in common
for bad in "" 1; do
  root=$tap_dir/coverage$bad
  submit "$root" "$(ini onpolicy_fig1b_more_data 5 "$small" env.num=32,64)"
  fill "$root" "env.num" '
    { few = v["env.num"] == 32; bad = "'$bad'" && few && seed == 0
      run(bad ? 2 : iterations, bad ? "diverged" : "finished"); eval(bad ? 2 : iterations, 0.5)
      for (i = 1; i <= (bad ? 2 : iterations); i++)
        if (i <= 2 || i % 10 == 0 || i == iterations) {
          share = (few ? 0.5 : 0.6) * (i / iterations) ^ (few ? 0.3 : 0.6) + 0.002 * z(5)
          stat(i, "coverage_50=" share " coverage_states=" i * each) } }'
  finds "coverage${bad:+, with a run that diverged early}" "supported" "coverage$bad" coverage verdict
  says "in a figure${bad:+, with that run}" "32 +$((5 - ${bad:-0})) +0\.50[0-9]* .* 64 +5 +0\.600? " \
    analyze settings "$root/results.db" --x env.num --measure coverage -o "$tap_dir/f"
done

# ---- fractions of a budget are whole iterations, and iteration 0 is not early
root=$tap_dir/rounding expected=
for shape in "64 64 0.1024,0.49971" "125 80 0.1,0.5"; do
  read -r envs steps expected <<<"$shape"
  rm -rf "$root"
  submit "$root" "$(ini fig8_ddr 3 "env.num=$envs train.total_steps=1e6 ppo.num_steps=$steps ppo.num_minibatches=4
    eval.count=10 algo.name=ppo_ewma" ppo.com=8,64)"
  fill "$root" "" '{ run(iterations, "finished"); eval(0, 0)
    for (i = 1; i <= iterations; i++) if (int(i * 10 / iterations) > int((i - 1) * 10 / iterations)) eval(i, i * each / 1e6) }'
  says "a tenth and a half of $envs x $steps" ",$expected" analyze table --runs "$root/results.db" --measure early,gain --format csv
done

# ---- a budget of scaled runs is scaled once
root=$tap_dir/budget
submit "$root" experiments/fig9_scaling.ini --profile study --set sweep.seeds=3
fill "$root" "" '{ run(iterations, "finished"); eval(0, 0)
  for (i = 1; i <= iterations; i++) if (int(i * 12 / iterations) > int((i - 1) * 12 / iterations)) { eval(i, i * each / 1e7); stat(i, "kl=0.01") } }'
values=$(analyze table --runs "$root/results.db" --measure final --budget 375000 --format csv | awk -F, '
  NR > 1 && ($NF < 0.0375 || $NF > 0.0394)
  END { if (NR < 49) print NR " lines" }')
tap_check "--budget of scaled runs" "$values"

# ---- one infinite KL does not empty a configuration
root=$tap_dir/infinite
submit "$root" "$(ini inf 4 "$small algo.name=ppo_ewma" ppo.com=8,64,128,512,1024)"
fill "$root" "ppo.com" '{ run(iterations, "finished"); eval(0, 0.05); eval(iterations, 0.5 + 0.01 * z(4))
  for (i = 1; i <= iterations; i++) stat(i, "kl=" (v["ppo.com"] == 8 && seed == 0 && i == 5 ? "inf" : 0.1 / v["ppo.com"])) }'
says "a table with an infinite KL" "com 8 .*164 ?k" analyze table "$root/results.db" -o "$tap_dir/f"
says "a comparison with one" "A / B: 0\.12" analyze compare "$root/results.db" com=8 com=64 --measure ddr

# ---- tasks: solve rates and returns, seeds a side, correlations within tasks
root=$tap_dir/returns
submit "$root" "$(ini t 5 "$small" ppo.epsilon=0.1,0.2 env.task=loco512,mujoco/HalfCheetah-v4)"
fill "$root" "env.task" '{ run(iterations, "finished")
  if (v["env.task"] ~ /Cheetah/) eval(iterations, "-", 3000 + 300 * z(5))
  else eval(iterations, 0.6 + 0.06 * z(5)) }'
cd "$tap_dir" || exit 1 # figures go there
for command in bars table "settings --x ppo.epsilon" "compare eps=0.1 eps=0.2"; do
  read -r verb options <<<"$command"
  # shellcheck disable=SC2086
  says "$verb mixes no returns with solve rates" "returns|HalfCheetah" analyze $verb "$root/results.db" $options
done
cd "$OLDPWD" || exit 1
root=$tap_dir/sides
submit "$root" "$(ini t 5 "$small" ppo.epsilon=0.1,0.2 env.task=loco512,random_s,random_m,random_l)"
fill "$root" "ppo.epsilon" '{ run(iterations, "finished"); eval(iterations, (v["ppo.epsilon"] == 0.1 ? 0.6 : 0.55) + 0.06 * z(5)) }'
# (t(0.975) + t(0.8)) 0.06 sqrt(2 / (4 n)) with 8 (n - 1) degrees: 0.0548 for 5, 0.0497 for 6
says "seeds a side of four tasks" "6 seeds per side" analyze compare "$root/results.db" eps=0.1 eps=0.2
root=$tap_dir/ddr
submit "$root" "$(ini d 3 "${small/409600/1e12} algo.name=ppo_ewma" ppo.com=8,32,128 \
  env.task=loco512,random_s,random_m,random_l)"
fill "$root" "env.task ppo.com" '
  BEGIN { split("loco512 random_s random_m random_l", task, " "); for (i in task) hard[task[i]] = i - 1 }
  { h = hard[v["env.task"]]; com = v["ppo.com"]; run(iterations, "finished")
    eval(iterations, 0.8 - 0.2 * h + 0.02 * log(com) / log(2) + 0.005 * z(3)); stat(iterations, "kl=" 0.1 * 0.01 ^ h / com) }'
says "a correlation within tasks" "(rho|ρ) = \+?1(\.00)? " analyze ddr-vs-solve "$root/results.db" -o "$tap_dir/f"

# ---- ratios: seeds needed of logarithms
root=$tap_dir/ratio
submit "$root" "$(ini r 5 "$small" ppo.epsilon=0.1,0.2)"
fill "$root" "ppo.epsilon" 'BEGIN { split("0.001 0.002 0.003 0.004 0.1 0.01 0.02 0.03 0.04 1", kl, " ") }
  { run(iterations, "finished"); eval(iterations, 0.5); stat(iterations, "kl=" kl[seed + 1 + (v["ppo.epsilon"] == 0.2 ? 5 : 0)]) }'
says "seeds needed of a ratio" "11 seeds per side" analyze compare "$root/results.db" eps=0.1 eps=0.2 --measure kl

# ---- children of one checkpoint are one run
root=$tap_dir/parents
submit "$root" "$(ini p 1 "$small checkpoint.every_iterations=50 checkpoint.keep=100" ppo.epsilon=0.2,0.3)"
for eps in 0.2 0.3; do
  id=$(tool sql "$root/results.db" "SELECT id FROM run WHERE json_extract(config, '$.ppo.epsilon') = $eps")
  submit "$root" "$(ini k${eps#0.} 6 "$small init.from=run:$id@50" ppo.epsilon=$eps)"
done
fill "$root" "ppo.epsilon" '{ run(iterations, "finished"); eval(iterations, (v["ppo.epsilon"] == 0.2 ? 0.6 : 0.66) + (sweep == "p" ? 0 : 0.005 * z(6))) }'
says "children of one checkpoint" "too few runs" analyze compare "$root/results.db" eps=0.2 eps=0.3 --sweep k2,k3

# ---- numbers of levels are tasks of their own
root=$tap_dir/levels
levels="$small env.morphologies=all env.difficulty=1+2"
submit "$root" "$(ini l 3 "$levels env.level_count=24" ppo.epsilon=0.1)"
submit "$root" "$(ini m 9 "$levels env.level_count=24" ppo.epsilon=0.2)"
submit "$root" "$(ini n 9 "$levels env.level_count=256" ppo.epsilon=0.1)"
submit "$root" "$(ini o 3 "$levels env.level_count=256" ppo.epsilon=0.2)"
fill "$root" "env.level_count ppo.epsilon" '
  { run(iterations, "finished"); n = sweep == "l" || sweep == "o" ? 3 : 9
  eval(iterations, (v["env.level_count"] == 256 ? 0.35 : 0.75) + (v["ppo.epsilon"] == 0.1 ? 0.03 : 0) + 0.01 * z(n)) }'
says "unequal seeds on few and many levels" "A - B: \+?0\.030? .*2 tasks|2 tasks.*A - B: \+?0\.030? " analyze compare "$root/results.db" eps=0.1 eps=0.2
tap_done

#!/usr/bin/env bash
# The study of docs/study.md. Usage:
#   tests/tools/study.sh BUILD ROOT run [EXPERIMENT...]   its experiments in their order, in the workspace ROOT; goes on where it was stopped
#   tests/tools/study.sh BUILD ROOT extend [EXPERIMENT...]  five seeds more, where claims were undecided with five
#   tests/tools/study.sh BUILD ROOT restore [STUDY]       a new workspace ROOT with the published runs: their evaluations, DDR, no more.
#                                                         STUDY: main (default), ddr (docs/study-ddr.md), fixed_point (docs/study-fixed-point.md),
#                                                         parallel (docs/study-parallel-data.md), plateau (docs/study-plateau.md),
#                                                         com_epsilon (docs/study-com-epsilon.md)
#   tests/tools/study.sh BUILD ROOT claims                the verdicts
#   tests/tools/study.sh BUILD ROOT table [PAGE]          the rows of a page's table of verdicts (docs/study.md)
#   tests/tools/study.sh BUILD ROOT power                 the power of the main study's claims with ten seeds, by the spread of the runs in ROOT
#   tests/tools/study.sh BUILD ROOT controller            the controller against the best fixed settings
#   tests/tools/study.sh BUILD ROOT draw_ddr              docs/study/: picture and runs of docs/study-ddr.md
#   tests/tools/study.sh BUILD ROOT draw_parallel         docs/study/: pictures and runs of docs/study-parallel-data.md
#   tests/tools/study.sh BUILD ROOT com_epsilon           train the runs of docs/study-com-epsilon.md in ROOT, or resume them
#   tests/tools/study.sh BUILD ROOT draw_com_epsilon      docs/study/: its runs and pictures
#   tests/tools/study.sh BUILD ROOT plateau               train the runs of docs/study-plateau.md in ROOT, or resume them
#   tests/tools/study.sh BUILD ROOT draw_plateau          docs/study/: its runs and pictures
#   tests/tools/study.sh BUILD ROOT table_plateau         the rows of its table of settings
#   tests/tools/study.sh BUILD ROOT plasticity            docs/study/: probes of its checkpoints (docs/study/plan-plasticity.md)
#   tests/tools/study.sh BUILD ROOT draw_fixed_point      docs/study/: pictures of docs/study-fixed-point.md, from whole runs
#   tests/tools/study.sh BUILD ROOT limits                docs/study/: limits of frozen batches of docs/study-fixed-point.md
#   tests/tools/study.sh BUILD ROOT draw [PICTURE...]     docs/study/: pictures (fig9 ...; all), the runs as CSV, verdicts, the controller against
#                                                         the grid. fig2b, fig2c need whole runs: not those of `restore`;
#                                                         fig8 then has the panel of the whole budget only
set -eu
cd "$(dirname "$0")/../.."
build=$(cd "$1/bin" && pwd) target=$PWD/docs/study
mkdir -p "$2" && root=$(cd "$2" && pwd)
order="fig3a_switch fig8_ddr fig5_regularisation fig6_epochs ddr_target fig1a_com fig9_scaling fig12_com_epsilon fig7_minibatch fig4_learning_rate"
parallel="fig1b_more_data fig3_dynamics fig6_pqn fig8_locomotion"
second="fig3a_switch fig8_ddr fig5_regularisation fig6_epochs fig9_scaling fig7_minibatch fig4_learning_rate"

train() { "$build/sweep" submit "$@" --root "$root" --local --wait; }
run() { for experiment in ${*:-$order}; do train "experiments/$experiment.ini" --profile study; done; }

more() { # EXPERIMENT OPTIONS...
  local experiment=$1; shift
  "$build/sweep" submit "$experiment" --seeds 10 --root "$root" --local "$@"
}
extend() { for experiment in ${*:-$second}; do more "$experiment" --wait; done; }

# What is finished here is not trained again; `extend EXPERIMENT` trains five seeds more. Memberships first, so that each
# run's configuration is known.
manifest() { "$build/sweep" submit "$@" --root "$root" --local --no-start --no-check; }
planned() { # train|manifest PLAN EXPERIMENT PROFILE OPTIONS...
  "$1" "experiments/$3.ini" --profile "$4" --set sweep.plan="docs/study/plan-$2.md" "${@:5}"
}
com_epsilon() { planned "$1" com-epsilon fig12_com_epsilon study --set sweep.seeds=10..19; }
plateau() { for experiment in fig3a_switch fig1a_com; do planned "$1" plateau $experiment plateau; done; }
restore() {
  local runs=runs
  case ${1:-main} in
    main)
      for experiment in $order; do manifest "experiments/$experiment.ini" --profile study; done
      for experiment in $second; do more "$experiment" --no-start --no-check; done ;;
    ddr) runs=ddr; for experiment in ddr_levers ddr_universal; do planned manifest ddr $experiment study; done ;;
    fixed_point)
      runs=fixed-point
      for experiment in experiments/fixed_point/*.ini; do manifest "$experiment" --profile study; done ;;
    parallel)
      runs=parallel-data
      for experiment in $parallel; do planned manifest parallel-data onpolicy/$experiment study; done ;;
    com_epsilon) runs=com-epsilon; com_epsilon manifest ;;
    plateau) runs=plateau; plateau manifest ;;
    *) echo "study.sh: no study $1" >&2; exit 2 ;;
  esac
  python3 tests/tools/study_restore.py "$target/$runs.csv" "$root"
  "$build/sweep" collect --root "$root"
}

# All claims that have runs: a page that chose some of them would choose its verdicts.
verdicts() { COLUMNS=80 "$build/analyze" claims "$root/results.db" --correct; }
table() { "$build/analyze" claims "$root/results.db" --correct --json | python3 tests/tools/study_table.py "${1:-docs/study.md}"; }

power() {
  for experiment in $order; do
    [ "$experiment" = ddr_target ] && continue # it has no claims
    echo "# $experiment"
    "$build/sweep" plan "experiments/$experiment.ini" --profile study --set sweep.seeds=10 --power --root "$root"
  done
}

# Without the apostrophes that keep spreadsheets from reading ids as numbers.
sql() { "$build/analyze" sql results.db "$1" --csv | sed "s/^'//; s/,'/,/g"; }

draw() { # image, then the arguments of analyze
  local picture=$1; shift
  case " ${pictures:-$picture} " in *" $picture "*) ;; *) return ;; esac
  if "$build/analyze" "$@" -o study >study.txt 2>&1; then cp "study/$1.svg" "$target/$picture.svg"
  else echo "$picture: $(tail -1 study.txt)" >&2; fi
  rm -rf study study.txt
}

# A run a line: the given columns, its DDR, a mean over its last quarter, and the solve rates of its evaluations.
export_runs() { # COLUMNS NAME MEAN CONDITION SOURCE ORDER: MEAN as NAME where CONDITION holds
  sql "SELECT $1, printf('%.6g', (SELECT ddr FROM run_ddr WHERE run_id = run.id)) AS ddr,
    (SELECT iif($4, printf('%.6g', $3), '') FROM iteration WHERE run_id = run.id AND iteration >= run.iteration - run.iteration / 4) AS $2,
    (SELECT group_concat(printf('%.4g', solve_rate), ' ') FROM (SELECT solve_rate FROM evaluation WHERE run_id = run.id
      ORDER BY iteration)) AS solve_rates FROM $5 ORDER BY $6"
}
# The commit and the plan that a run recorded.
origin="git_commit AS 'commit', substr(json_extract(config, '$.train.plan'), 1, 12) AS plan"
sweeps="(SELECT group_concat(DISTINCT sweep) FROM sweep_run WHERE run_id = run.id) AS sweeps"

# The study's runs, by their settings.
export_study() {
  export_runs "run.id, $sweeps,
    json_extract(config, '$.algo.name') AS algorithm, json_extract(config, '$.ppo.com') AS com,
    json_extract(config, '$.ppo.epsilon') AS epsilon, json_extract(config, '$.ppo.ddr_target') AS ddr_target,
    json_extract(config, '$.ppo.ddr_schedule') AS ddr_schedule, json_extract(config, '$.ppo.epochs') AS epochs,
    json_extract(config, '$.env.num') AS environments, json_extract(config, '$.ppo.num_minibatches') AS minibatches,
    json_extract(config, '$.ppo.learning_rate') AS learning_rate, json_extract(config, '$.ppo.lr_schedule') AS lr_schedule,
    json_extract(config, '$.scale.scheme') AS scheme, json_extract(config, '$.scale.factor') AS factor,
    json_extract(config, '$.init.from') AS begun_from, json_extract(config, '$.init.restore') AS restored, run.seed, run.status,
    git_commit AS 'commit', run.transitions, round(run.train_seconds) AS seconds" \
    grad_norm "avg(grad_norm_actor)" "count(grad_norm_actor) > 0" run \
    "sweeps, algorithm, com, epsilon, epochs, environments, begun_from, run.seed"
}

# The runs of study-ddr.md, by the setting that differs from the usual ones, with the gradient noise scale.
export_ddr() {
  export_runs "$sweeps, setting, CASE WHEN setting <> '' THEN json_extract(config, '$.' || setting) END AS value, seed, id AS run,
    $origin, iteration, transitions" noise_scale "sum(grad_variance_actor) / sum(grad_square_actor)" "sum(grad_square_actor) > 0" \
    "(SELECT *, CASE WHEN json_extract(config, '$.algo.name') = 'ppo_ewma' THEN 'ppo.com'
    WHEN json_extract(config, '$.ppo.target_kl') > 0 THEN 'ppo.target_kl' WHEN json_extract(config, '$.ppo.kl_penalty') > 0 THEN 'ppo.kl_penalty'
    WHEN json_extract(config, '$.ppo.epochs') <> 8 THEN 'ppo.epochs' WHEN json_extract(config, '$.scale.factor') <> 1 THEN 'scale.factor'
    WHEN json_extract(config, '$.ppo.learning_rate') <> 1e-3 THEN 'ppo.learning_rate'
    WHEN json_extract(config, '$.ppo.epsilon') <> 0.2 THEN 'ppo.epsilon' ELSE '' END AS setting FROM run) AS run" \
    "setting, 0 + value, seed"
}
draw_ddr() {
  cd "$root"
  draw ddr ddr-vs-solve results.db --sweep ddr_universal --budget 1500000 --measure final
  export_ddr >"$target/ddr.csv"
}

# The runs of study-com-epsilon.md.
export_com_epsilon() {
  export_runs "run.id AS run, json_extract(config, '$.ppo.com') AS com, json_extract(config, '$.ppo.epsilon') AS epsilon, seed,
    $origin, iteration, transitions" grad_norm "avg(grad_norm_actor)" "count(grad_norm_actor) > 0" run "com, epsilon, seed"
}
draw_com_epsilon() {
  cd "$root"
  draw com-epsilon fig12b results.db
  draw com-epsilon-best fig12a results.db
  export_com_epsilon >"$target/com-epsilon.csv"
}

# The runs of study-parallel-data.md: their settings and evaluations, with the other measures that its claims compare.
parallel_sql="SELECT id AS run, (SELECT group_concat(sweep, ' ') FROM (SELECT DISTINCT sweep FROM sweep_run WHERE run_id = id)) AS sweeps,
  CASE json_extract(config, '$.env.task') WHEN 'loco512' THEN json_extract(config, '$.env.morphologies')
    ELSE json_extract(config, '$.env.task') END AS task, json_extract(config, '$.env.num') AS environments,
  json_extract(config, '$.ppo.num_steps') AS steps, seed, $origin, status, iteration, transitions,
  (SELECT group_concat(printf('%.4g', coalesce(solve_rate, episode_return)), ' ') FROM (SELECT * FROM evaluation
    WHERE run_id = id ORDER BY iteration)) AS scores FROM run ORDER BY id"
draw_parallel() {
  cd "$root"
  "$build/analyze" table --runs results.db --measure feature_rank,inactive,weight_norm,kurtosis,policy_variance,ess,coverage \
    --format csv | sed "s/^'//" | awk -F, 'NR > 1 { for (i = 2; i <= NF; i++) if ($i != "") $i = sprintf("%.6g", $i) } 1' OFS=, |
    { read -r header; echo "$header"; LC_ALL=C sort; } >table.csv
  sql "$parallel_sql" | join -t, --header - table.csv >"$target/parallel-data.csv"
  draw parallel-fig1b onpolicy-fig1b results.db --y normalized_score # of evaluations, which are published
  draw parallel-fig6 onpolicy-fig6 results.db --y normalized_score
  draw parallel-fig8 onpolicy-fig8 results.db --y episode_return
  rm table.csv
}

# The runs past the plateau (docs/study/plan-plateau.md): scores of the evaluations, the mean KL of the iterations before
# each, and over the last quarter the mean gradient norm and both parts of the gradient noise scale, summed. Not those
# from whose checkpoints others have yet to begin.
plateau_sql="WITH finished AS (SELECT id, config, seed, git_commit, transitions, iteration FROM run JOIN sweep_run ON run_id = id
    WHERE sweep = 'fig3a_switch' AND status = 'finished'),
  point AS (SELECT run_id, iteration, solve_rate, lag(iteration) OVER (PARTITION BY run_id ORDER BY iteration) AS before
    FROM evaluation WHERE run_id IN (SELECT id FROM finished)),
  score AS (SELECT run_id, iteration, printf('%.4g', solve_rate) AS rate, iif(before IS NULL, NULL, (SELECT
    printf('%.6g', avg(max(kl, 1e-12))) FROM iteration WHERE run_id = point.run_id AND iteration > before
    AND iteration <= point.iteration)) AS mean_kl FROM point),
  late AS (SELECT run_id, printf('%.6g', avg(grad_norm_actor)) AS grad_norm,
    printf('%.6g', sum(grad_variance_actor)) AS grad_variance, printf('%.6g', sum(grad_square_actor)) AS grad_square
    FROM finished JOIN iteration ON run_id = id
    WHERE iteration.iteration > finished.iteration - finished.iteration / 4 GROUP BY id)
  SELECT id AS run, json_extract(config, '$.env.num') AS environments, json_extract(config, '$.ppo.com') AS com,
    json_extract(config, '$.init.from') AS begun_from, seed, $origin, iteration, transitions,
    grad_norm, grad_variance, grad_square,
    (SELECT group_concat(mean_kl, ' ') FROM (SELECT mean_kl FROM score WHERE run_id = id ORDER BY iteration)) AS mean_kls,
    (SELECT group_concat(rate, ' ') FROM (SELECT rate FROM score WHERE run_id = id ORDER BY iteration)) AS solve_rates
  FROM finished JOIN late ON late.run_id = id WHERE NOT EXISTS (SELECT 1 FROM run WHERE status <> 'finished'
    AND json_extract(config, '$.init.from') LIKE 'run:' || finished.id || '@%')
  ORDER BY seed, environments, com, begun_from"

draw_plateau() {
  local environments
  cd "$root"
  draw plateau-asymptote asymptote results.db --sweep fig1a_com --group ppo.com --panel env.num
  draw plateau-switches fig3a results.db -w env.num=64
  for environments in 64 256; do
    draw plateau-best-$environments best results.db --sweep fig1a_com -x ddr -w env.num=$environments
  done
  sql "$plateau_sql" >"$target/plateau.csv"
}
table_plateau() {
  "$build/analyze" asymptote "$root/results.db" --sweep fig1a_com --group ppo.com --panel env.num -o "$root/study" --json |
    python3 tests/tools/study_plateau.py runs
  rm -r "$root/study"
}

# Probes of the plateau study's networks, a fit of actor or critic a line (docs/study/plan-plasticity.md).
probed_sql="SELECT id AS run, seed, json_extract(config, '$.ppo.com') AS com FROM run WHERE status = 'finished'
  AND json_extract(config, '$.env.num') = 64 AND json_extract(config, '$.init.from') = ''
  AND seed IN (SELECT seed FROM run WHERE status = 'finished' AND json_extract(config, '$.env.num') = 64
    AND json_extract(config, '$.init.from') = '' GROUP BY seed HAVING count(*) = 4) ORDER BY id"
plasticity() {
  local id iteration around checkpoints=()
  cd "$root"
  sql "$probed_sql" >probed.csv
  while IFS=, read -r id _; do
    for iteration in 3662 7325; do
      checkpoints+=("runs/${id:0:2}/$id/ckpt/iteration-$(printf %012d $iteration).ckpt")
    done
  done < <(tail -n +2 probed.csv)

  {
    echo run,iteration,around,network,start,end,fresh,relative
    for around in mean output; do
      "$build/trainer" plasticity "${checkpoints[@]}" --around $around |
        awk -v OFS=, -v around=$around 'NR > 1 { print $1, $2, around, $3, $4, $5, $6, $7 }'
    done | LC_ALL=C sort
  } | join -t, --header probed.csv - >"$target/plasticity.csv"
  rm probed.csv
}

# The limits of frozen batches of study-fixed-point.md: of each iteration that was measured, in their order.
limits_sql="SELECT json_extract(config, '$.env.task') AS task, json_extract(config, '$.env.num') AS environments,
  json_extract(config, '$.ppo.num_minibatches') AS minibatches, seed, id AS run, group_concat(measured, ' ') AS iterations,
  group_concat(printf('%d', limit_epochs), ' ') AS limit_epochs, group_concat(printf('%.4g', limit_moved), ' ') AS limit_moved,
  group_concat(printf('%.4g', kl_limit), ' ') AS kl_limit
  FROM (SELECT run.*, iteration.iteration AS measured, limit_epochs, limit_moved, kl_limit FROM run JOIN iteration ON run_id = run.id
    WHERE status = 'finished' AND limit_epochs IS NOT NULL ORDER BY run.id, iteration.iteration) GROUP BY id
  ORDER BY task, environments, minibatches, seed"

draw_fixed_point() {
  cd "$root"
  draw fixed-point-fig1a fixed-point-fig1a results.db
  draw fixed-point-fig1b fixed-point-fig1b results.db
}

# The fixed setting with the best mean score at a budget, as conditions of analyze compare.
fixed_sql="SELECT run.id, iif(json_extract(config, '$.algo.name') = 'ppo', 'algo.name=ppo,epsilon=' || json_extract(config, '$.ppo.epsilon'),
  'algo.name=ppo_ewma,com=' || printf('%g', json_extract(config, '$.ppo.com'))) AS fixed FROM sweep_run
  JOIN run ON run.id = run_id WHERE sweep = 'fig5_regularisation' ORDER BY run.id"
best_fixed() {
  join -t, <("$build/analyze" table --runs results.db --measure last_two --budget "$1" --sweep fig5_regularisation --format csv | tail -n +2 | sort) \
    <(sql "$fixed_sql" | tail -n +2 | tr -d '"') |
    awk -F, '{ sum[$3 "," $4] += $2; runs[$3 "," $4]++ } END { for (s in sum) printf "%.17g %s\n", sum[s] / runs[s], s }' | sort -g | tail -1 | cut -d' ' -f2
}

# Is the controller as good as the best fixed setting? By non-inferiority with the margin of claims: the lower end of the
# 95 % interval of the difference (2.5 % of one side) lies above -0.05. Worse: the interval lies below 0.
controller() {
  local budget schedule algorithm best json
  cd "$root"
  echo "budget,schedule,algorithm,mean,best fixed setting,its mean,difference,low,high,verdict"
  for budget in 375000 750000 1500000; do
    best=$(best_fixed $budget)
    for schedule in constant power; do
      for algorithm in ppo_ewma ppo; do
        json=$("$build/analyze" compare results.db "ddr_target=60000,ddr_schedule=$schedule,algo.name=$algorithm" \
          "$best,ddr_target=0" --sweep fig5_regularisation,ddr_target --measure last_two --budget $budget --json)
        sql "SELECT $budget, '$schedule', '$algorithm', printf('%.3f', json_extract('$json', '$.a.mean.estimate')),
          '${best#*,}', printf('%.3f', json_extract('$json', '$.b.mean.estimate')),
          printf('%+.3f', json_extract('$json', '$.difference.estimate')),
          printf('%+.3f', json_extract('$json', '$.difference.low')), printf('%+.3f', json_extract('$json', '$.difference.high')),
          CASE WHEN json_extract('$json', '$.difference.high') < 0 THEN 'worse'
            WHEN json_extract('$json', '$.difference.low') > -0.05 THEN 'as good' ELSE 'not shown' END" | tail -1
      done
    done
  done
}

draw_all() {
  mkdir -p "$target"
  cd "$root" # so that no path of this machine gets into the files
  for figure in fig1a fig2b fig2c fig3a fig4 fig5a fig5b fig6a fig6b fig7a fig7b fig8 fig9 fig12a fig12b fig14; do
    draw $figure $figure results.db
  done
  draw controller-curves curves results.db --sweep ddr_target
  export_study >"$target/runs.csv"
  verdicts >"$target/claims.txt"
  controller >"$target/controller.csv"
  du -sh "$target"
}

case "${3:-}" in
  run) shift 3; run "$@" ;;
  extend) shift 3; extend "$@" ;;
  restore) restore "${4:-}" ;;
  claims) verdicts ;;
  table) table "${4:-}" ;;
  power) power ;;
  controller) controller ;;
  draw_ddr) draw_ddr ;;
  draw_parallel) draw_parallel ;;
  com_epsilon) com_epsilon train ;;
  draw_com_epsilon) draw_com_epsilon ;;
  plateau) plateau train ;;
  draw_plateau) draw_plateau ;;
  table_plateau) table_plateau ;;
  plasticity) plasticity ;;
  draw_fixed_point) draw_fixed_point ;;
  limits) cd "$root" && sql "$limits_sql" >"$target/fixed-point-limits.csv" ;;
  draw) shift 3; pictures=$*; draw_all ;;
  *) echo "usage: tests/tools/study.sh BUILD ROOT run|extend|restore|claims|table|power|controller|draw_ddr|draw_parallel|com_epsilon|draw_com_epsilon|plateau|draw_plateau|table_plateau|plasticity|draw_fixed_point|limits|draw" >&2; exit 2 ;;
esac

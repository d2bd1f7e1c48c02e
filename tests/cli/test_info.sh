#!/usr/bin/env bash
# Numbers in the info of environments in Python become rows of `metric`: which numbers, their means in training and
# evaluation, the solve rate, limits, workers, ranks, and a run that stops and resumes. TAP.
set -u
. tests/cli/tap.sh
. tests/cli/small.sh
. tests/fault/pace.sh
. tests/fault/resume.sh
export SWEEP_PYTHON=$SWEEP_BUILD/python/bin/python OPENBLAS_NUM_THREADS=1
if ! "$SWEEP_PYTHON" -c "import gymnasium" 2>/dev/null; then
  tap_skip "numbers in infos" "no Gymnasium in build/python: make python"
  tap_done
fi
export PYTHONWARNINGS=ignore PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$PWD/tests/cli/environments
{ printf '%s\n' '[env]' 'task = gym/infos:Infos-v0' 'num = 6' 'max_steps = 50'; small_settings; } >"$tap_dir/small.ini"
query() { [ -e "$tap_dir/$1/results.db" ] || sweep collect --rebuild --root "$tap_dir/$1" >/dev/null; tool sql "$tap_dir/$1/results.db" "$2"; } # ROOT SQL
names() { query "$1" "SELECT group_concat(name || '=' || value, ' ') FROM (SELECT DISTINCT name, round(value, 6) AS value
  FROM metric WHERE name LIKE '$2%' ORDER BY name)"; }
# same NAME GOT EXPECTED
same() { tap_check "$1" "$([ "$2" = "$3" ] || printf '%s\n%s\n' "got      $2" "expected $3")"; }

# ---- which numbers: an iteration has 16 steps, thus four whole episodes, of each world
tap_run "a run trains to its end, and warns once of what it does not record" 0 "warning: the environment's info: ../escape is not recorded" \
  train infos --set eval.count=2
same "means over the steps that give a number, of the end only for is_success" "$(names infos info/)" \
  "info/array/0d=2.0 info/distance=2.5 info/energy=0.5 info/episode/l=4.0 info/episode/r=4.0 info/fallen=0.5 info/is_success=1.0 info/odd=1.0"
same "those of evaluations" "$(names infos eval/)" "$(names infos info/ | sed 's#info/#eval/info/#g')"
same "a row per iteration and per evaluation" "$(query infos "SELECT (SELECT group_concat(iteration) FROM metric WHERE name = 'info/distance')
  || ' ' || (SELECT group_concat(iteration) FROM metric WHERE name = 'eval/info/distance')")" "1,2,3,4,5,6,7,8,9,10 0,5,10"
same "at the transitions of the iteration" "$(query infos "SELECT count(*) FROM metric JOIN iteration USING (run_id, iteration)
  WHERE step = transitions AND name = 'info/distance'")" 10
same "the environment's success is the solve rate" "$(query infos "SELECT group_concat(DISTINCT solve_rate) || ' ' ||
  (SELECT group_concat(DISTINCT solve_rate) FROM evaluation) FROM iteration")" "1.0 1.0"
same "one warning" "$(grep -c "is not recorded" "$tap_dir"/infos/runs/*/*/log.txt)" 1

# ---- success in every second episode
train half --quiet --set env.task=gym/infos:Half-v0 --set eval.count=2 --set eval.episodes=6
same "half of the training episodes succeed" "$(names half info/) $(query half "SELECT DISTINCT solve_rate FROM iteration")" "info/success=0.5 0.5"
same "an evaluation counts the first episodes only" "$(query half "SELECT group_concat(solve_rate || ' ' || solve_rate_se) FROM evaluation
  WHERE iteration = 0")" "1.0 0.0"

# ---- any number of workers, and log.rows
rows() { cut -f 1-4 "$tap_dir/$1"/runs/*/*/metrics.1.tsv | sed '1,2d; s/\t[0-9a-f]*$//'; }
train workers --quiet --set env.workers=3 --set eval.count=2
tap_check "three workers: the same rows" "$([ "$(rows infos | wc -l)" -gt 80 ] || echo "no rows"; diff <(rows infos) <(rows workers))"
train merged --quiet --set log.rows=5
same "log.rows: means over the merged iterations" "$(query merged "SELECT group_concat(iteration || '=' || value, ' ') FROM metric
  WHERE name = 'info/distance'")" "2=2.5 4=2.5 6=2.5 8=2.5 10=2.5"

# ---- limits
tap_run "hundreds of names, others in each step" 0 "at most 64 numbers are" train many --set train.total_steps=192 --set env.task=gym/infos:Many-v0
same "62 are recorded, and success" "$(query many "SELECT max(n) FROM (SELECT count(*) AS n FROM metric GROUP BY iteration)")" 63
same "which is the solve rate" "$(query many "SELECT min(solve_rate) FROM iteration")" 1.0

# ---- stop and resume
all() { query "$1" "SELECT name, iteration, step, value FROM metric ORDER BY 1, 2"; }
if stopped_and_resumed resumed --set log.rows=5; then
  tap_check "a run that stopped and resumed has the same rows" "$(diff <(all merged) <(all resumed))"
else tap_result "a run stops and resumes" 1; fi

# ---- ranks
if command -v mpirun >/dev/null && ! trainer info | grep -q '^MPI  *no'; then
  export OMP_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
  export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe TMPDIR=/tmp
  mkdir "$tap_dir/ranks"
  timeout 120 mpirun -n 2 trainer --config "$tap_dir/small.ini" --root "$tap_dir/ranks" --quiet --set eval.count=2 >"$tap_dir/out" 2>&1
  tap_check "two ranks: the same rows" "$(diff <(all infos) <(all ranks) || tail -3 "$tap_dir/out")"
else tap_skip "two ranks" "no MPI"; fi
tap_done

#!/usr/bin/env bash
# Result of a search for its transitions: a grid, random trials, Sobol' points, TPE, samplers of Optuna and ASHA (random
# trials, stopped early), each with the transitions of twelve complete trainings, several times with other seeds. A search selects its best finished run;
# its setting is then trained again on unused seeds, and that score counts. Two minutes of a processor per arm. CSV rows as in
# bench.h; intervals are 95 % of Student's t over the repetitions. ARMS: only these, grid first. Arms
# of Optuna (gp, cma) need its Python in SWEEP_PYTHON, and are left out otherwise.
# Usage: tests/bench/search.sh BUILD [REPETITIONS]
set -eu
build=$(cd "$1" && pwd) repetitions=${2:-5}
export PATH=$build/bin:$PATH SWEEP_SITE=none OMP_WAIT_POLICY=passive
work=$(mktemp -d "${TMPDIR:-/tmp}/bench-search.XXXXXX")
trap 'sweep stop >/dev/null 2>&1 || true; rm -rf "$work"' EXIT
export SWEEP_ROOT=$work/root
mkdir "$SWEEP_ROOT"
machine=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -1 | tr ',' ' ')
commit=$(trainer --version | sed 's/.*commit //; s/[^0-9a-f+].*//')
budget=40960
space=("ppo.learning_rate = log 1e-4 .. 1e-1" "ppo.epochs = 1 .. 8" "ppo.gamma = 0.9 .. 0.999")
keys="learning_rate epochs gamma" arms=${ARMS:-grid random sobol tpe asha gp cma}
has() { "${SWEEP_PYTHON:-python3}" -c "import optuna, $1" 2>/dev/null || { echo "search: no arm $2: no optuna with $1" >&2; false; }; }
case " $arms " in *" gp "*) has torch gp || arms=${arms//gp/} ;; esac
case " $arms " in *" cma "*) has cmaes cma || arms=${arms//cma/} ;; esac

# arm NAME REPETITION LINES...: trains a sweep of the task with these lines to its end
arm() {
  local name=$1_$2 seeds=$2..$2; shift 2
  case $name in confirm_*) seeds=1000..1003 ;; esac
  { printf '%s\n' "[sweep]" "name = $name" "seeds = $seeds" "[env]" "morphologies = car+wheelfeet+tree" "difficulty = 0+1" \
      "num = 32" "level_count = 16" "[train]" "total_steps = $budget" "threads = 1" "[ppo]" "num_steps = 32" \
      "num_minibatches = 4" "[net]" "width = 16" "depth = 1" "[eval]" "count = 8" "episodes = 128" "[checkpoint]" "every = 0" "$@"
  } >"$work/$name.ini"
  sweep submit "$work/$name.ini" --local --wait --jobs "$(nproc)" >"$work/$name.log" 2>&1 || { cat "$work/$name.log" >&2; exit 1; }
}
of_method() { # ARM REPETITION METHOD LINES...: a search of twelve trials
  arm "$1" "$2" "[search s]" "method = $3" "trials = 12" "goal = max final" "${space[@]}" "${@:4}"
}

# The middles of equal cells of the same space: 3 x 2 x 2.
grid() {
  arm grid "$1" "[grid g]" "ppo.learning_rate = 3.16228e-4, 3.16228e-3, 3.16228e-2" "ppo.epochs = 2, 6" "ppo.gamma = 0.92475, 0.97425"
}
# A run stops at the first look at results.db after its rung, so these go slower, as larger trainings do: with an iteration
# in a millisecond it would be done before anybody has looked. So many trials take about the others' transitions.
cat >"$work/slower" <<SH
#!/bin/sh
TRAINER_PACE="$work/pace" exec "$build/tests/fault/paced_trainer" "\$@"
SH
chmod +x "$work/slower"
echo 200 >"$work/pace" # milliseconds more
asha() {
  local -x SWEEP_TRAINER=$work/slower
  arm asha "$1" "[search s]" "trials = ${ASHA_TRIALS:-24}" "goal = max final" "${space[@]}" "[stop]" "rule = asha" "min = $((budget / 8))" \
    "eta = 3" "every = 0.1"
}

setting_of() { # RUN: its searched settings on a line
  awk -F' = ' -v keys="$keys" '
    /^\[/ { section = $0 } section == "[ppo]" { value[$1] = $2 }
    END { n = split(keys, key, " "); for (i = 1; i <= n; i++) printf "%s%s", value[key[i]], i < n ? " " : "\n" }
    ' "$SWEEP_ROOT/runs/${1:0:2}/$1/config.ini"
}
finals() { analyze table --runs "$SWEEP_ROOT/results.db" --sweep "$1" --measure final --format csv | tail -n +2; } # SWEEP: run,value
best() { # SWEEP: the setting of its best finished run
  local run value
  finals "$1" | while IFS=, read -r run value; do
    if grep -qx status=finished "$SWEEP_ROOT/runs/${run:0:2}/$run/state"; then echo "$value $run"; fi
  done | sort -rg | head -1 | { read -r value run; setting_of "$run"; }
}
transitions() { # SWEEP: transitions of all its runs, including stopped ones
  analyze sql "$SWEEP_ROOT/results.db" --csv \
    "SELECT sum(r.transitions) FROM run AS r JOIN sweep_run AS s ON s.run_id = r.id WHERE s.sweep = '$1'" | tail -1
}
# confirm ARM: $work/ARM.values has for each repetition the mean score of its setting on new seeds
confirm() {
  local lines=() lr epochs gamma run value i=0
  while read -r lr epochs gamma; do
    i=$((i + 1)); lines+=("[grid c$i]" "ppo.learning_rate = $lr" "ppo.epochs = $epochs" "ppo.gamma = $gamma")
  done < <(sort -u "$work/$1.chosen")
  arm confirm "$1" "${lines[@]}"
  finals "confirm_$1" | while IFS=, read -r run value; do echo "$(setting_of "$run") $value"; done >"$work/$1.scores"
  awk 'NR == FNR { sum[$1 " " $2 " " $3] += $4; n[$1 " " $2 " " $3]++; next } { print sum[$0] / n[$0] }' \
    "$work/$1.scores" "$work/$1.chosen" >"$work/$1.values"
}
row() { # NAME METRIC UNIT, values on stdin: mean and 95 % interval
  awk -v name="$1" -v metric="$2" -v unit="$3" -v rest="1,${machine:-unknown},$commit" '
    BEGIN { split("12.71 4.303 3.182 2.776 2.571 2.447 2.365 2.306 2.262", t, " ") }
    { n++; sum += $1; squares += $1 * $1 }
    END { mean = sum / n; half = n > 1 ? t[n - 1] * sqrt((squares - n * mean * mean) / (n - 1) / n) : 0
      printf "search,%s,%s,%.4g,%s,%s\n", name, metric, mean, unit, rest
      printf "search,%s,%s_low,%.4g,%s,%s\n", name, metric, mean - half, unit, rest
      printf "search,%s,%s_high,%.4g,%s,%s\n", name, metric, mean + half, unit, rest }'
}

for ((r = 0; r < repetitions; r++)); do
  for name in $arms; do
    case $name in
      grid | asha) $name $r ;;
      random | sobol) of_method $name $r $name ;;
      tpe) of_method tpe $r tpe "startup = 4" "wave = 2" ;;
      gp) of_method gp $r "optuna:GPSampler(n_startup_trials=4)" "startup = 4" "wave = 2" ;;
      cma) of_method cma $r optuna:CmaEsSampler "startup = 4" "wave = 2" ;;
    esac
    best ${name}_$r >>"$work/$name.chosen"
    transitions ${name}_$r >>"$work/$name.transitions"
  done
done
for name in $arms; do
  confirm $name
  row $name score "solve rate" <"$work/$name.values"
  if [ -e "$work/grid.values" ]; then
    paste "$work/$name.values" "$work/grid.values" | awk '{ print $1 - $2 }' | row $name score_over_grid "solve rate"
  fi
  row $name transitions transitions <"$work/$name.transitions"
  paste "$work/$name.chosen" "$work/$name.values" | sed "s/^/# $name chose /"
done

#!/usr/bin/env bash
# Programs that log in every way (JSON lines, CSV, TensorBoard, output; appended, begun anew, rewritten, rotated), with
# and without checkpoints, while they or their supervisors are killed KILLS times: each step is a row once. TAP.
set -u
cd "$(dirname "$0")/../.."
. tests/cli/tap.sh
kills=${KILLS:-$(is_long && echo 5 || echo 2)}
if ! command -v python3 > /dev/null; then
  tap_skip "programs of all sources, killed" "no python3"
  tap_done
  exit
fi
PATH=$SWEEP_BUILD/bin:$PATH
program=$PWD/tests/fault/sources.py
cd "$tap_dir" || exit 1

metrics_of() { # SOURCE
  case $1 in
    jsonl) echo jsonl ;;
    file) echo 'jsonl:{dir}/log.jsonl' ;;
    csv) echo 'csv:{dir}/log.csv' ;;
    tensorboard) echo 'tensorboard:{dir}/tb' ;;
    stdout) echo 'stdout:step,x=^step ([0-9]+) x ([0-9.]+)$' ;;
  esac
}

rows_reach() { [ "$(cat "$home"/metrics.*.tsv 2> /dev/null | wc -l)" -ge "$1" ]; }
children_of() { cat "/proc/$1/task/$1/children" 2> /dev/null; }
has_child() { [ -n "$(children_of "$1")" ]; }

supervise() { # in place of the shell, whose process is known
  exec sweep supervise "$run" --root w --config-hash "$(b2sum -l 128 "$home/config.ini" | cut -c1-32)"
}

# Kills an attempt after some rows: the program, its supervisor, or both.
kill_attempt() { # NUMBER
  local before victim child
  before=$(cat "$home"/metrics.*.tsv 2> /dev/null | wc -l)
  supervise > out.txt 2>&1 &
  victim=$!
  tap_wait 30 rows_reach $((before + 5 + $1 * 13 % 40)) || return 1
  tap_wait 30 has_child $victim || return 1
  child=$(children_of $victim)
  case $(($1 % 3)) in
    0) kill -9 $child ;;
    1) kill -9 $victim ;;
    2) kill -9 $victim $child ;;
  esac 2> /dev/null
  wait $victim 2> /dev/null
  return 0
}

try() { # SOURCE MANNER CHECKPOINTS
  local name=$1-$2-$3 id result
  rm -rf w
  printf '[sweep]\nname = %s\nseeds = 1\ngoal = max x\n[program]\ncommand = python3 -S %s %s\nmetrics = %s\ncode = none\n' \
    "$name" "$program" "$1 $2 $3" "$(metrics_of "$1")" > "$name.ini"
  sweep submit "$name.ini" --root w --local > out.txt 2>&1
  run=$(sed -n 3p "w/sweeps/$name/manifest.tsv" | cut -f2)
  home=w/runs/${run:0:2}/$run
  tap_wait 30 rows_reach 1
  sweep stop --root w >> out.txt 2>&1
  for ((i = 1; i <= kills; i++)); do kill_attempt $i || { cat out.txt; return; }; done
  echo 60 > "$home/last"
  (supervise) >> out.txt 2>&1
  sweep collect --root w > /dev/null 2>&1
  result=$(analyze sql w/results.db "SELECT count(*), count(DISTINCT i.transitions), min(i.transitions), max(i.transitions),
    sum(m.value IS NOT CAST(i.transitions AS INTEGER) * 7919 % 1000 + 0.5), sum(m.step IS NOT i.transitions),
    (SELECT count(*) FROM metric) FROM iteration AS i
    LEFT JOIN metric AS m ON m.run_id = i.run_id AND m.name = 'x' AND m.iteration = i.iteration" 2>&1 | tail -1 |
    awk '{ for (i = 1; i <= NF; i++) sub(/\.0$/, "", $i); $1 = $1; print }')
  id=$(cat "$home/ended")
  [ "$result" = "$id $id 1 $id 0 0 $id" ] || { echo "# $name: $result, ended at $id"; cat out.txt; tail -3 "$home/log.txt"; ${KEEP:+cp -r . "$KEEP"}; }
}

for source in ${SOURCES:-jsonl file csv tensorboard stdout}; do
  manners=${MANNERS:-append anew rewrite rotate}
  [ $source = jsonl ] && manners=append # a file of its own per attempt
  [ $source = stdout ] && manners=append
  [ $source = tensorboard ] && manners="append anew rotate"
  for manner in $manners; do
    for checkpoints in yes no; do
      tap_check "$source, $manner, checkpoints $checkpoints: each step once after $kills kills" \
        "$(try $source $manner $checkpoints)"
    done
  done
done
tap_done

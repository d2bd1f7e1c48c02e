#!/usr/bin/env bash
# 200 stops at random moments, from a trainer's start: exit code 75 each time, then the rows and checkpoint of an
# uninterrupted run, bit for bit. Small and default networks, an encoder, ranks under mpirun. Stops by Slurm:
# test_stops_slurm.sh. TAP; about ten minutes.
set -u
cd "$(dirname "$0")/../.." || exit 1
steps=1280000
. tests/fault/restart.sh
stops_change_nothing "a small network" 200 400
options=(--set net.width=256 --set net.depth=3 --set env.num=64 --set train.threads=2 --set train.total_steps=655360)
stops_change_nothing "the default network on two threads" 200 600
options=(--set net.encoder=transformer --set env.observations=entity --set eval.count=2 --set train.total_steps=6400)
stops_change_nothing "an encoder of entities" 40 900

# ---- ranks: a signal to one of them stops all
. tests/mpi/launch.sh
cd "$tap_dir" || exit 1
if command -v mpirun >/dev/null; then
  rank_expects_stop() { # a rank of our run, not mpirun: sets rank_pid
    local file program; program=$(readlink -f "$SWEEP_BUILD/tests/fault/paced_trainer")
    for file in $(grep -lzxF -- "$tap_dir/ranks" /proc/[0-9]*/cmdline 2>/dev/null); do
      pid=${file//[^0-9]/}
      [ "$(readlink "/proc/$pid/exe" 2>/dev/null)" = "$program" ] && expects_stop && rank_pid=$pid && return 0
    done
    ! kill -0 "$launched" 2>/dev/null
  }
  trained() { train "$@" --set train.total_steps=655360; }
  trained 2 "$tap_dir/ranks-reference"
  stops=0 problems= RANDOM=6 signals=(TERM INT USR1 USR2)
  mkdir "$tap_dir/ranks"
  while [ $stops -lt 40 ]; do
    mpirun -n 2 "$paced" --config small.ini --root "$tap_dir/ranks" --quiet --set train.total_steps=655360 --resume >out 2>&1 & launched=$!
    tap_wait 60 rank_expects_stop || problems+="stop $stops: no rank expects one"$'\n'
    sleep "0.$(printf %03d $((RANDOM % 500)))"
    kill "-${signals[stops % 4]}" "$rank_pid" 2>/dev/null
    wait $launched; code=$?
    [ $code -eq 0 ] && [ "$(state "$tap_dir/ranks" status)" = finished ] && { problems+="finished after $stops stops"; break; }
    [ $code -eq 75 ] || problems+="stop $stops by SIG${signals[stops % 4]}: exit $code: $(tail -2 out)"$'\n'
    stops=$((stops + 1))
  done
  trained 2 "$tap_dir/ranks" --resume || problems+="then: exit $?"$'\n'
  tap_check "2 ranks: stopped $stops times, exit code 75 each time, then the bits of an undisturbed run" \
    "$problems$(same_as_reference "$tap_dir/ranks" "$tap_dir/ranks-reference")"
else
  tap_skip "stops of ranks" "mpirun is not installed"
fi
tap_done

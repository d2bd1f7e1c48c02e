#!/usr/bin/env bash
# A trainer that is stopped at any moment from its start exits with code 75 and loses nothing: small networks and the
# default one. tests/long/test_stops.sh has many more, including MPI and Slurm. TAP.
set -u
steps=128000
. "$(dirname "$0")/restart.sh"
stops_change_nothing "a small network" 16 400
options=(--set net.width=256 --set net.depth=3 --set env.num=64 --set train.threads=2 --set train.total_steps=65536)
stops_change_nothing "the default network on two threads" 8 600
tap_done

#!/usr/bin/env bash
# Data exchanged with environments in Python, without a trainer: observations, infos, actions, rewards and ends of many
# kinds, and the messages about invalid ones. TAP.
set -u
. tests/cli/tap.sh
python=$SWEEP_BUILD/python/bin/python
if ! "$python" -c "import gymnasium" 2>/dev/null; then
  tap_skip "environments in Python" "no Gymnasium in build/python: make python"
  tap_done
fi
out=$(PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$PWD/tests/cli/environments:$PWD/tests/tools "$python" tests/tools/worker_inputs.py trainer/envs/bridge 2>"$tap_dir/errors")
while IFS=$'\t' read -r name problem; do
  [ "$name" = end ] || tap_check "$name" "$problem"
done <<<"$out"
tap_check "all were tried" "$([ "$(tail -1 <<<"$out")" = end ] || tail -5 "$tap_dir/errors")"
tap_done

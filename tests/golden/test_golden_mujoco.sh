#!/usr/bin/env bash
# golden_mujoco on Gymnasium's trajectories: one TAP line per file, then damaged files and wrong usage.
set -u
. tests/cli/tap.sh
program=${SWEEP_BUILD:-build}/tests/golden_mujoco
data=../shared/data/golden_mujoco
if [ ! -d "$data" ]; then
  tap_skip "golden MuJoCo trajectories" "$data is absent"
  tap_done
fi
"$program" "$data" >"$tap_dir/out" 2>"$tap_dir/err"; status=$?
if [ "$status" = 77 ]; then
  tap_skip "golden MuJoCo trajectories" "$(tail -n 1 "$tap_dir/err")"
  tap_done
fi

# ---- every file of the folder
while read -r file rest; do
  case "$file" in *.gold) ;; MuJoCo) echo "# $file $rest"; continue ;; *) continue ;; esac
  case "$rest" in
    *"  ok"*) tap_result "$file: $rest" 0 ;;
    *) tap_result "$file" 1 "$rest" ;;
  esac
done <"$tap_dir/out"
tap_result "exit status 0 when all agree" "$status"

# ---- a changed truth, and another version of the task, are found
cp "$data/Hopper-v4.gold" "$tap_dir/Hopper-v4.gold"; chmod u+w "$tap_dir/Hopper-v4.gold"
middle=$(( $(stat -c %s "$tap_dir/Hopper-v4.gold") / 2 ))
head -c 4096 /dev/zero | tr '\0' 'A' | dd of="$tap_dir/Hopper-v4.gold" bs=1 seek="$middle" conv=notrunc status=none
tap_run "a changed truth is not ok" 1 "not ok" "$program" "$tap_dir" Hopper-v4.gold
cp "$data/Hopper-v4.gold" "$tap_dir/Hopper-v5.gold"
tap_run "version 4's rewards are not version 5's" 1 "not ok" "$program" "$tap_dir" Hopper-v5.gold

# ---- damaged files and wrong use
head -c 20000 "$data/Ant-v5.gold" >"$tap_dir/Ant-v5.gold"
tap_run "a damaged file is named" 1 "Ant-v5.gold is not a whole .gold file" "$program" "$tap_dir" Ant-v5.gold
cp "$data/Ant-v5.gold" "$tap_dir/Walker2d-v5.gold"
tap_run "a file of another task is refused" 1 "other shapes" "$program" "$tap_dir" Walker2d-v5.gold
cp "$data/Ant-v5.gold" "$tap_dir/Cat-v5.gold"
tap_run "a task that is none is refused" 1 "no task of this name" "$program" "$tap_dir" Cat-v5.gold
mkdir "$tap_dir/bare"
tap_run "no folder given" 2 "usage" "$program"
tap_run "a folder without golden files" 2 "no .gold files" "$program" "$tap_dir/bare"
tap_done

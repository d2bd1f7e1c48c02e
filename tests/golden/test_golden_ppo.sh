#!/usr/bin/env bash
# golden_ppo on the PyTorch tensors: one TAP line per file, then damaged files and wrong usage.
set -u
. tests/cli/tap.sh
program=${SWEEP_BUILD:-build}/tests/golden_ppo
data=../shared/data/golden_ppo
if [ ! -d "$data" ]; then
  tap_skip "golden PPO tensors" "$data is absent"
  tap_done
fi

# ---- every file of the folder
"$program" "$data" >"$tap_dir/out"; status=$?
while read -r file rest; do
  case "$file" in statistics.gold) continue ;; *.gold) ;; *) continue ;; esac # statistics: test_golden_stats.sh
  case "$rest" in
    *"  ok"*) tap_result "$file: $rest" 0 ;;
    *) tap_result "$file" 1 "$rest" ;;
  esac
done <"$tap_dir/out"
tap_result "exit status 0 when all agree" "$status"

# ---- claimed parts of the networks' directory
nets=../shared/data/golden_nets
for file in normalise_per_world normalise_clip conv_ops ppo_nature ppo_impala pqn_nature ppo_lstm \
  ppo_lstm_sapg; do
  if [ ! -d "$nets" ]; then tap_skip "$file.gold" "$nets is absent"; continue; fi
  tap_run "$file.gold" 0 "1 files ok" "$program" "$nets" "$file.gold"
done

# ---- convolutions as products of patches, for machines without oneDNN
for file in conv_ops ppo_nature ppo_impala; do
  if [ ! -d "$nets" ]; then tap_skip "$file.gold by patches" "$nets is absent"; continue; fi
  tap_run "$file.gold by patches" 0 "1 files ok" env TRAINER_CONV=patches "$program" "$nets" "$file.gold"
done

# ---- a changed truth is found
cp "$data/gae.gold" "$tap_dir/gae.gold"; chmod u+w "$tap_dir/gae.gold"
middle=$(( $(stat -c %s "$tap_dir/gae.gold") / 2 ))
head -c 4096 /dev/zero | tr '\0' 'A' | dd of="$tap_dir/gae.gold" bs=1 seek="$middle" conv=notrunc status=none
tap_run "a changed truth is not ok" 1 "not ok" "$program" "$tap_dir" gae.gold

# ---- damaged files are reported, not read wildly
head -c 20000 "$data/gae.gold" >"$tap_dir/short.gold"
head -c 16 "$data/gae.gold" >"$tap_dir/header.gold"
echo "not a golden file" >"$tap_dir/text.gold"
: >"$tap_dir/empty.gold"
for damaged in short header text empty; do
  tap_run "a damaged file ($damaged) is named" 1 "$damaged.gold is not a whole .gold file" "$program" "$tap_dir" "$damaged.gold"
done
tap_run "an absent file is named" 1 "absent.gold" "$program" "$tap_dir" absent.gold

# ---- wrong use
mkdir "$tap_dir/bare"
tap_run "no folder given" 2 "usage" "$program"
tap_run "a folder that is not there" 2 "cannot read the folder" "$program" "$tap_dir/nowhere"
tap_run "a folder without golden files" 2 "no .gold files" "$program" "$tap_dir/bare"
tap_done

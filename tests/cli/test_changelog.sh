#!/usr/bin/env bash
# The command that CHANGELOG.md gives to owners of old results finds exactly the runs that an older version stopped on a
# processor with AVX-512, and the runs that began from them. TAP.
set -u
. "$(dirname "$0")/tap.sh"
page=$(cd "$(dirname "$0")/../.." && pwd)/CHANGELOG.md
cd "$tap_dir" || exit 1
block() { awk -v language="$1" '$0 == "```" language { on = 1; next } /^```/ { on = 0 } on' "$page"; }

# ---- by log.txt
avx512="cpu, oneDNN 2.6.3, avx512, bf16" avx2="cpu, oneDNN 2.6.3, avx2"
attempt() { echo "2026-11-20T10:00:00Z info attempt $1, version $2 commit abc1234, $3, 2 threads"; }
fresh() { echo "2026-11-20T10:00:01Z info evaluation after iteration 0 on train: solve rate 0.05"; }
goes_on() { echo "2026-11-20T10:00:01Z info continuing after iteration 49 of 1563"; }
stopped() { echo "2026-11-20T10:00:02Z info stopped by signal 15 after iteration 49 of 1563; --resume continues"; }
finished() { echo "2026-11-20T10:00:09Z info finished"; }
log() { mkdir -p "runs/$1"; cat >"runs/$1/log.txt"; }
{ attempt 1 0.1.0 "$avx512"; fresh; stopped; attempt 2 0.1.0 "$avx512"; goes_on; finished; } | log aa/resumed
{ attempt 1 0.1.0 "$avx512"; fresh; stopped; } | log aa/waiting
{ attempt 1 0.1.0 "$avx512"; fresh; stopped; attempt 2 0.2.0 "$avx512"; goes_on; finished; } | log ab/resumed_by_the_new
{ attempt 1 0.1.0 "$avx512"; fresh; stopped; attempt 2 0.2.0 "$avx512"; fresh; finished; } | log ab/started_over
{ attempt 1 0.1.0 "$avx512"; fresh; finished; } | log ac/never_stopped
{ attempt 1 0.1.0 "$avx512"; fresh; attempt 2 0.1.0 "$avx512"; goes_on; finished; } | log ac/killed
{ attempt 1 0.1.0 "$avx2"; fresh; stopped; attempt 2 0.1.0 "$avx2"; goes_on; finished; } | log ad/avx2
{ attempt 1 0.2.0 "$avx512"; fresh; stopped; attempt 2 0.2.0 "$avx512"; goes_on; finished; } | log ad/new
{ attempt 1 0.1.0 "$avx512"; fresh; stopped; } | log in_no_shard
wanted=$(printf 'runs/%s/log.txt\n' aa/resumed aa/waiting ab/resumed_by_the_new in_no_shard)
found=$(block sh | sh 2>&1)
tap_check "log.txt shows the affected runs" "$([ "$found" = "$wanted" ] || diff <(echo "$wanted") <(echo "$found"))"
tap_check "a workspace without any gives no output" "$(rm -r runs/a[ab] runs/in_no_shard; block sh | sh 2>&1)"

# ---- the command finds the format that today's trainer writes
small=(--quiet --set env.morphologies=car --set env.difficulty=0 --set env.level_count=4 --set env.num=8 --set ppo.num_steps=16
  --set ppo.num_minibatches=2 --set ppo.epochs=1 --set net.width=16 --set net.depth=1 --set train.total_steps=1e9 --set train.device=cpu)
rm -rf runs
trainer "${small[@]}" 2>trainer.err & trainer=$!
has_begun() { grep -q 'evaluation after iteration 0' runs/*/*/log.txt 2>/dev/null; }
tap_wait 60 has_begun || cat trainer.err
kill -TERM $trainer; wait $trainer
tap_check "the trainer stopped" "$([ $? -eq 75 ] || cat trainer.err)"
tap_check "this version's runs are not concerned" "$(block sh | sh 2>&1)"
sed -i -E 's/version [0-9.]+ commit ([^,]*), .*, /version 0.1.0 commit \1, cpu, avx512, /' runs/*/*/log.txt
tap_check "as a run of 0.1.0 this one would be" "$([ "$(block sh | sh 2>&1)" = "$(echo runs/*/*/log.txt)" ] || cat runs/*/*/log.txt)"
rm -rf runs

# ---- by results.db
mkdir work; sweep collect --root work >/dev/null
db=work/results.db
run() { # id, status, init.from
  tool sql $db "INSERT INTO run(id, status, config) VALUES('$1', '$2', json_object('init', json_object('from', '$3')))"; }
try() { # run, attempt, status, device, started
  tool sql $db "INSERT INTO attempt(run_id, attempt, status, device, git_commit, started) VALUES('$1', $2, $3, $4, 'abc1234', strftime('%s', '$5'))"; }
for id in 0 1 2 3 4 5 6; do run "a${id}00000000000000" finished ""; done
run a700000000000000 finished "run:a100000000000000@20"
run a800000000000000 finished "run:a000000000000000@20"
try a000000000000000 1 "'finished'" "'$avx512'" 2026-11-20
try a100000000000000 1 "'stopped'" "'$avx512'" 2026-11-20; try a100000000000000 2 "'finished'" "'$avx512'" 2026-11-20
try a200000000000000 1 NULL NULL 2026-11-20; try a200000000000000 2 "'finished'" "'$avx512'" 2026-11-20
try a300000000000000 1 "'stopped'" "'$avx2'" 2026-11-20
try a400000000000000 1 "'stopped'" "'$avx512'" 2026-12-01
try a500000000000000 1 "'failed'" "'$avx512'" 2026-11-20
try a600000000000000 1 "'stopped'" "'$avx512'" 2026-11-20; try a600000000000000 2 "'stopped'" "'$avx512'" 2026-11-20
wanted="a100000000000000,finished,1,abc1234,
a200000000000000,finished,1,abc1234,
a600000000000000,finished,2,abc1234,
a700000000000000,finished,,,a100000000000000"
found=$(analyze sql $db --csv "$(block sql)" 2>&1 | tail -n +2)
tap_check "results.db shows the affected runs and those begun from them" "$([ "$found" = "$wanted" ] || diff <(echo "$wanted") <(echo "$found"))"
tap_done

#!/usr/bin/env bash
# `trainer plasticity`: networks of every kind, the same numbers twice, and clear errors. TAP.
set -u
. "$(dirname "$0")/tap.sh"
cd "$tap_dir"
export OMP_NUM_THREADS=1
small=(--quiet --set env.num=8 --set ppo.num_steps=16 --set ppo.num_minibatches=2 --set ppo.epochs=2 --set net.width=16
  --set net.depth=2 --set train.total_steps=512 --set eval.count=0 --set env.task=loco512 --set env.morphologies=car
  --set env.difficulty=0 --set env.level_count=4)
train() { trainer --root work "${small[@]}" "$@" >out 2>&1 || { tap_check "training with $*" "$(cat out)"; return; }; ls -td work/runs/*/* | head -1; }
probe() { trainer plasticity --root work --states 256 --batch 64 --steps 40 --seeds 2 --seed 3 "$@"; }

run=$(train)
id=$(basename "$run")
probe "$run" --json >first.json 2>err; rc=$?
tap_result "a run's newest checkpoint" $rc "$(cat err)"
OMP_NUM_THREADS=2 probe "${id:0:6}" --json >second.json 2>err
tap_check "the same numbers again, by the run's name and with two threads" "$(diff <(grep -v file first.json) <(grep -v file second.json))"
probe "$run" >table 2>err
cat >check.py <<'EOF'
import json, math, sys
kind, *files = sys.argv[1:]
data = [json.load(open(f)) for f in files]
fits = lambda d: [f for n in d[0]["networks"] for f in n["fits"]]
if kind == "form":
    d = data[0][0]
    if d["steps"] != [0, 1, 2, 4, 8, 16, 32, 40]: print("steps", d["steps"])
    if [n["network"] for n in d["networks"]] != ["actor", "critic"]: print("networks")
    if abs(d["networks"][1]["fits"][0]["error"][0] - 1) < 1e-3: print("the critic's weights are missing")
    for n in d["networks"]:
        if [f["seed"] for f in n["fits"]] != [3, 4]: print("seeds")
        ratios = [f["error"][-1] / f["error_fresh"][-1] for f in n["fits"]]
        if abs(math.sqrt(ratios[0] * ratios[1]) / n["relative_error"] - 1) > 1e-9: print("relative_error", ratios, n["relative_error"])
        for f in n["fits"]:
            if n["network"] == "actor" and not 0.99 < f["error_fresh"][0] < 1.01: print("fresh weights begin at", f["error_fresh"][0])
            if f["error"][-1] > 0.7 * f["error"][0] or f["error_fresh"][-1] > 0.7 * f["error_fresh"][0]: print("nothing is learned")
elif kind == "table":
    rows = {line.split()[2]: line.split() for line in open("table") if line.split()[2] in ("actor", "critic")}
    for n in data[0][0]["networks"]:
        if abs(float(rows[n["network"]][6]) - n["relative_error"]) > 6e-4: print(rows, n["relative_error"])
elif kind == "begins":
    for f in fits(data[0]) + fits(data[1]):
        if abs(f["error"][0] - 1) > 1e-3 or abs(f["error_fresh"][0] - 1) > 1e-3: print(f["error"][0], f["error_fresh"][0])
elif kind == "harder":
    easy, hard = (sum(f["error_fresh"][-1] for f in fits(d)) for d in data)
    if not easy < 0.5 * hard: print(easy, hard)
elif kind == "numbers":
    for d in data[0]:
        for n in d["networks"]:
            for f in n["fits"]:
                if not all(isinstance(e, float) and e > 0 for e in f["error"] + f["error_fresh"]): print(f)
            if f["error"] == f["error_fresh"]: print("not the checkpoint's weights")
elif kind == "count":
    if len(data[0]) != 2 or data[0][0]["run"] == data[0][1]["run"]: print(len(data[0]))
EOF
check() { tap_check "$1" "$(python3 check.py "${@:2}" 2>&1)"; }
check "JSON: steps, both networks, fresh policies begin at 1, and the geometric mean" form first.json
check "a table with the same numbers" table first.json
for targets in network sine; do
  for around in mean output; do
    probe "$run" --json --targets $targets --around $around >"$targets.$around" 2>err || cat err
  done
done
check "around the output every fit begins at 1" begins network.output sine.output
check "sines are harder to fit" harder network.mean sine.mean

for settings in "net.sharing=shared" "env.actions=continuous" "algo.name=pqn env.actions=discrete" \
  "algo.name=sapg sapg.blocks=2 env.actions=continuous" "net.encoder=set env.observations=entity" \
  "env.normalize_observations=cleanrl train.precision=bf16"; do
  sets=(); for pair in $settings; do sets+=(--set "$pair"); done
  other=$(train "${sets[@]}")
  probe "$other" --json >other.json 2>err || cat err
  check "$settings" numbers other.json
done
probe "$run" "$other" --json >both.json 2>err || cat err
check "several checkpoints" count both.json

lstm=$(train --set net.memory=lstm --set net.memory_width=8 --set ppo.sequence_length=8)
tap_expect "a network with memory is refused" 2 "net.memory = lstm" probe "$lstm"
tap_expect "no such run" 2 "no-such-run" probe no-such-run
tap_expect "more rows than states" 2 "batch 512: expected 1 to 100" trainer plasticity "$run" --states 100
tap_expect "unknown targets" 2 "targets ones: expected network or sine" probe "$run" --targets ones
tap_expect "a learning rate of 0" 2 "learning-rate 0: expected a positive number" probe "$run" --learning-rate 0
newest=$(ls "$run"/ckpt/iteration-*.ckpt | tail -1)
cp "$newest" kept
for damage in "truncate -s 3000" "dd bs=1 seek=4000 count=8 conv=notrunc status=none if=/dev/urandom of="; do
  cp kept "$newest"
  case $damage in truncate*) $damage "$newest" ;; *) ${damage}"$newest" ;; esac
  out=$(probe "$newest" 2>&1); rc=$?
  tap_result "a damaged checkpoint is named (${damage%% *})" $(( rc == 0 || rc > 2 )) "$out"
  grep -qF "$(basename "$newest")" <<<"$out"; tap_result "in the message (${damage%% *})" $? "$out"
done
tap_done

#!/usr/bin/env bash
# The page of sweep serve in a real browser, if Chromium and Python are installed: contents, curves of groups, programs
# and searches, keys and clicks, a growing curve, narrow and dark screens, stop and retry. PICTURES=FOLDER saves
# screenshots. TAP.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
. tests/fault/pace.sh
export SWEEP_ROOT=$tap_dir/w HOME=$tap_dir SWEEP_SITE=none SWEEP_TRAINER=$paced
python=${SWEEP_PYTHON:-}
[ -n "$python" ] || [ ! -x "$SWEEP_BUILD/python/bin/python" ] || python=$SWEEP_BUILD/python/bin/python
python=$(command -v "${python:-python3}") || { tap_skip "the page in a browser" "no Python"; tap_done; }
sweep --version | sed 's/; without.*//' | grep -q libmicrohttpd || { tap_skip "the page in a browser" "built without libmicrohttpd"; tap_done; }
program=$PWD/tests/tools/serve_page.py
cd "$tap_dir" && mkdir w pictures || exit 1
servers=()
end_all() { kill "${servers[@]}" 2>/dev/null; fast; sweep stop >/dev/null 2>&1; wait; tap_cleanup; }
trap end_all EXIT

# ---- a workspace: runs that ended well, one stopped by rule, some that failed, one that runs; tags, notes and a pin
settings() { printf '%s\n' "[sweep]" "name = $1" "seeds = 2" "[train]" "total_steps = $2" "threads = 1" "[env]" "num = 8" "[ppo]" \
  "num_steps = 16" "num_minibatches = 2" "[net]" "width = 8" "depth = 1" "[eval]" "episodes = 4" "count = 4" "${@:3}" >"$1.ini"; }
video=video_every=2; trainer info | grep -q 'libgd *no' && video=
settings study 2048 "$video" "[grid all]" "ppo.epsilon = 0.1, 0.2"
settings broken 4096
settings long 12800000; sed -i '/^seeds/d' long.ini
sweep submit study.ini --local --wait --jobs 2 >/dev/null 2>&1
settings tune 1024 "[search tune]" "method = sobol" "trials = 8" "ppo.epsilon = 0.05 .. 0.5" "ppo.learning_rate = log 1e-5 .. 1e-2"
sed -i 's/^seeds.*/seeds = 1/' tune.ini
cat >program.ini <<'INI'
[sweep]
name  = program
seeds = 3
goal  = max episode_return
[program]
command = sh metrics.sh {rate} {seed}
step    = step of {steps}
[settings]
rate  = 0.1
steps = 40
[grid all]
rate = 0.1, 0.3
INI
cat >metrics.sh <<'SH'
for i in 1 2 3 4 5 6 7 8; do
  echo "{\"step\": $((5 * i)), \"episode_return\": $((i * i + $2)), \"losses/<b>kl</b>\": $1, \"charts/SPS\": 7, \"losses/approx_kl\": 0.0$i}" >>"$SWEEP_METRICS"
done
SH
sed -e 's/^name  = program/name = wide/' -e 's/^seeds = 3/seeds = 1/' -e 's/^rate = 0.1, 0.3/rate = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12/' program.ini >wide.ini
for name in tune program wide; do sweep submit $name.ini --local --wait --jobs 2 >/dev/null 2>&1; done
ln -s "$(type -P false)" mended # a retry on the page starts the same program as the submission
SWEEP_TRAINER=$tap_dir/mended sweep submit broken.ini --local --wait --jobs 2 >/dev/null 2>&1
ln -sf "$paced" mended
run=$(sed -n 5p w/sweeps/study/manifest.tsv | cut -f2)
sed -i '/^crc32=/d; s/^status=.*/status=stopped by rule/; /^message=/d' "w/runs/${run:0:2}/$run/state"
echo "message=stagnation: not risen in its last 20 % of the budget" >>"w/runs/${run:0:2}/$run/state"
{ sweep annotate study --tag paper; sweep annotate study --note "with the new rewards"; sweep annotate study/3 --tag good; sweep annotate study --pin 3
  sweep annotate study/3 --note '<img src=x onerror="hacked = 1"> looks good'; } >/dev/null
ran=$(sed -n 3p w/sweeps/program/manifest.tsv | cut -f2) # what a run of some minutes on a GPU leaves
printf 'machine_cpus=4 machine_memory_mb=16384\n' >"w/runs/${ran:0:2}/$ran/load.tsv"
for i in 1 2 3 4 5 6; do printf '%d\t1.5\t%d\t40\t3000\t81920\n' $((1000 + 60 * i)) $((300 * i)); done >>"w/runs/${ran:0:2}/$ran/load.tsv"
slow 100
sweep submit long.ini --local --jobs 1 >/dev/null 2>&1

serve() { # NAME OPTIONS...: saves its output as NAME.json
  sweep serve --port 0 --json "${@:2}" >"$1.json" 2>"$1.err" & servers+=($!)
  tap_wait 30 grep -q '^}' "$1.json"
}
serve only; serve control --control # views are saved by both
"$python" "$program" "$(tool json url <only.json)" "$(tool json url <control.json)" "$tap_dir/pictures" >said 2>said.err
code=$?
while read -r verdict name; do
  case $verdict in
    good) tap_result "$name" 0 ;;
    bad) tap_result "$name" 1 ;;
    absent) tap_skip "the page in a browser" "$name" ;;
  esac
done <said
tap_check "the whole of it was done" "$([ $code -eq 0 ] || cat said.err)"
tap_check "the servers printed nothing" "$(cat only.err control.err)"
if [ -n "${PICTURES:-}" ]; then cp pictures/*.png "$PICTURES"; fi
tap_done

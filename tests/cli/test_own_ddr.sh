#!/usr/bin/env bash
# docs/own-ddr.md as printed: its experiment file and its commands on a stand-in for ppo.py that logs as CleanRL does
# (episodes at any step, KL after each update, event files of TensorBoard), its lines for the exact KL with PyTorch if
# there is one, and the DDR of budgets that no record lies on, against sums over the logged values. TAP.
#   SWEEP_PYTHON=/path/to/python3: a Python with torch
set -u
. "$(dirname "$0")/tap.sh"
PATH=$SWEEP_BUILD/bin:$PATH
page=$(cd "$(dirname "$0")/../../docs" && pwd)/own-ddr.md
cd "$tap_dir" || exit 1
export OMP_NUM_THREADS=1
unset SWEEP_ROOT
block() { awk -v language="$1" '$0 == "```" language { on = 1; next } /^```/ { on = 0 } on' "$page"; }
command -v python3 >/dev/null || { tap_skip "the page's experiment" "no python3"; tap_done; }

# ---- the page's experiment: 100 000 steps in batches of 512, so that a run ends at 99 840
cat > ppo.py <<'PY'
import argparse, math, os, random, struct, time
parser = argparse.ArgumentParser()
for name, kind in ("clip-coef", float), ("seed", int), ("learning-rate", float), ("total-timesteps", int), ("batch", int):
    parser.add_argument("--" + name, type=kind, default=512)
args = parser.parse_args()
random.seed(args.seed)

table = []
for i in range(256):
    for _ in range(8): i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
    table.append(i)
def crc(data):
    c = 0xFFFFFFFF
    for byte in data: c = table[(c ^ byte) & 255] ^ c >> 8
    c ^= 0xFFFFFFFF
    return struct.pack("<I", ((c >> 15 | c << 17) + 0xA282EAD8) & 0xFFFFFFFF)
def varint(n):
    out = b""
    while n > 127: out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])
def text(field, data): return bytes([field << 3 | 2]) + varint(len(data)) + data
def event(step, rest):
    data = b"\x09" + struct.pack("<d", time.time()) + b"\x10" + varint(step) + rest
    size = struct.pack("<Q", len(data))
    log.write(size + crc(size) + data + crc(data))
def scalar(tag, value, step):
    event(step, text(5, text(1, text(1, tag.encode()) + b"\x15" + struct.pack("<f", value))))
    told.write(f"{tag} {step} {struct.unpack('<f', struct.pack('<f', value))[0]!r}\n")

name = f"runs/CartPole-v1__ppo__{args.seed}__{int(time.time())}"
os.makedirs(name, exist_ok=True)
log = open(f"{name}/events.out.tfevents.{int(time.time())}.{os.uname().nodename}.{os.getpid()}.0", "wb")
told = open(os.environ["SWEEP_DIR"] + "/told", "w")
event(0, text(3, b"brain.Event:2"))
step = 0
for update in range(args.total_timesteps // args.batch):
    episode = step
    while (episode := episode + random.randint(20, 300)) < step + args.batch:
        scalar("charts/episodic_return", episode * args.clip_coef, episode)
    step += args.batch
    kl = 0.01 * args.clip_coef ** 2 * math.exp(random.gauss(0, 1))
    scalar("losses/approx_kl", kl * random.random(), step)
    scalar("losses/kl", kl, step)
PY
block ini > clip.ini
tap_check "the page has at most 600 words" "$([ "$(wc -w < "$page")" -le 600 ] || wc -w "$page")"
tap_check "the page's commands run as printed" "$(block sh | while IFS= read -r line; do
  timeout 300 bash -c "$line" > out 2>&1 </dev/null || { echo "$line"; cat out; }; done)"
tap_check "which draw the figure and the curves of DDR" "$(ls figures/ddr-vs-solve.{svg,png,pdf,csv} figures/curves*.csv 2>&1 >/dev/null)"
csv() { grep -v '^#' figures/ddr-vs-solve.csv | tail -n +2; }
tap_check "24 runs in 4 panels, all filled and in the correlation" "$(csv | python3 -c '
import csv, sys, collections
seen = collections.Counter((row[0], row[-8], row[-7], row[-6]) for row in csv.reader(sys.stdin))
print(*seen.items(), sep="\n")' | diff - <(printf "(('%s', 'finished', '1', '1'), 24)\n" 3328 9984 33280 99840))"

# exact BUDGET CSV: compares each run's DDR and best return with sums over what the stand-in has logged
cat > exact.py <<'PY'
import csv, glob, sys
rows = list(csv.DictReader(line for line in open("figures/ddr-vs-solve.csv") if not line.startswith("#")))
full = max(float(row["budget"]) for row in rows)
for row in rows:
    budget, kl, last = float(row["budget"]), 0, 0
    for line in open(glob.glob(f"runs/*/{row['run_id']}/files/told")[0]):
        tag, step, value = line.split()
        if tag == sys.argv[1] and (int(step) <= budget or budget == full): kl, last = kl + float(value), int(step)
    if not abs(float(row["ddr"]) * kl / last - 1) < 1e-6: print(row["budget"], row["run_id"], row["ddr"], last / kl)
print(len(rows))
PY
tap_check "the DDR up to each budget is the steps over the sum of the KL" "$(python3 exact.py losses/kl 2>&1 | diff - <(echo 96))"
rm -rf figures
tap_run "budgets may be any" 0 "Spearman ρ = " analyze ddr-vs-solve results.db -b 700,12345,100k
tap_check "and have the same DDR" "$(python3 exact.py losses/kl 2>&1 | diff - <(echo 72))"
tap_check "which is the view's, too, and the sum over the rows" "$(analyze sql results.db --csv "SELECT count(*) FROM run_ddr
  WHERE abs(ddr / (SELECT 99840 / sum(kl) FROM iteration WHERE iteration.run_id = run_ddr.run_id) - 1) < 1e-6
  AND abs(ddr / (SELECT sum(ddr * kl) / sum(kl) FROM iteration WHERE iteration.run_id = run_ddr.run_id) - 1) < 1e-6" | tail -1 | diff - <(echo 24))"
tap_check "each record with a KL has the DDR of its update" "$(analyze sql results.db --csv "SELECT count(*), count(ddr),
  sum(abs(ddr * kl - 512) < 0.001) FROM iteration WHERE kl IS NOT NULL" | tail -1 | diff - <(echo "4680,4680,4680"))"

# ---- the page's lines for the exact KL
python=
for candidate in "${SWEEP_PYTHON:-}" python3 /usr/bin/python3; do
  [ -n "$candidate" ] && "$candidate" -c 'import torch' 2>/dev/null && { python=$candidate; break; }
done
name="the page's lines compute the exact KL of the whole update"
if [ -n "$python" ]; then
  { echo 'import math, torch
from torch.distributions import Categorical
class Agent: actor = torch.nn.Linear(3, 4)
class Writer:
    def add_scalar(self, tag, value, step): print("ok" if tag == "losses/kl" and step == 7 and abs(value - mean) < 1e-6 else (value, mean))
agent, writer, global_step, b_obs = Agent(), Writer(), 7, torch.randn(50, 3)
def probabilities(): return agent.actor(b_obs).softmax(1).tolist()
before = probabilities()'
    block python | head -2
    echo 'with torch.no_grad(): agent.actor.weight += 0.3 * torch.randn(4, 3)
after = probabilities()
mean = sum(p * math.log(p / q) for old, new in zip(before, after) for p, q in zip(old, new)) / len(before)'
    block python | tail -n +3; } > kl.py
  tap_check "$name" "$("$python" kl.py 2>&1 | diff - <(echo ok))"
else tap_skip "$name" "no torch"; fi

# ---- without a known end, in two batches that divide neither each other's steps nor a panel's budget
mkdir open && cd open || exit 1
cat > train.sh <<'SH'
awk -v clip="$1" -v batch="$2" 'BEGIN { for (t = batch; t < 1000 + batch; t += batch) {
  printf "{\"step\":%d,\"ret\":%g}\n", t - 3, t * clip
  printf "{\"step\":%d,\"kl\":%g}\n", t, clip * clip / 10 } }' >> "$SWEEP_METRICS"
SH
cat > open.ini <<'INI'
[sweep]
name = open
goal = min ret
[program]
command = sh train.sh {clip} {batch}
step = step
[settings]
clip = 0.2
batch = 70
[grid g]
clip = 0.1, 0.2, 0.3, 0.4, 0.5, 0.6
batch = 50, 70
INI
tap_run "a sweep without a known end" 0 "12 finished" timeout 120 sweep submit open.ini --wait
tap_run "has budgets and a correlation" 0 "1.05 k transitions: Spearman ρ = " analyze ddr-vs-solve results.db
tap_run "whose score is named as it is, with its sign" 0 "best -ret [95 %]" analyze ddr-vs-solve results.db
tap_run "also by settings" 0 "final -ret [95 %]" analyze settings results.db --x clip
tap_check "and on curves" "$(analyze curves results.db >/dev/null; grep -q -- "'-ret'" figures/curves.gp || grep ylabel figures/curves.gp)"
tap_check "every run reaches a third of the longest, and the whole of it" "$(csv |
  awk -F, '$1 > 300 { n[$1 " " $(NF - 6)]++ } END { for (k in n) print k, n[k] }' | sort -n | diff - <(printf '350 1 12\n1050 1 12\n'))"
tap_check "with the DDR of its own updates" "$(csv | awk -F, '{ want = $6 / ($5 * $5 / 10)
  if ($(NF - 3) / want < 1 - 1e-6 || $(NF - 3) / want > 1 + 1e-6) print $0, want }')"
tap_done

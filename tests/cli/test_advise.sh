#!/usr/bin/env bash
# analyze advise and analyze curves --terminal on workspaces whose runs follow a known model. TAP.
set -u
. tests/cli/tap.sh
export NO_COLOR=1 COLUMNS=100
make_workspace="$SWEEP_BUILD/tests/bench/bench_analysis make"
$make_workspace "$tap_dir/work" 3 40 || { echo "Bail out! no workspace"; exit 1; }
db=$tap_dir/work/results.db ini=$tap_dir/advice.ini

# ---- advise: in the model the best is com 512, near the highest DDR, and it learns to the end
tap_run "advise: the best is named" 0 "Best: com 512" analyze advise "$db" -o "$ini"
tap_run "advise: and that it still learns" 0 "still learns at the end" analyze advise "$db" -o "$ini"
tap_run "advise: the neighbors are proposed" 0 "ppo.com = 1024" cat "$ini"
tap_run "advise: a target for the DDR" 0 "ppo.ddr_target = " cat "$ini"
tap_run "advise: with the reason" 0 "; a significant gain in the second half" cat "$ini"
tap_run "advise: sweep plan takes the file" 0 "seeds        3" sweep plan "$ini" --root "$tap_dir/work"
tap_result "advise: nothing is proposed twice" "$([ -z "$(grep -A1 '^\[grid' "$ini" | grep = | sort | uniq -d)" ]; echo $?)"
tap_run "advise: eps too, where PPO ran" 0 "ppo.epsilon = 0.0125" analyze advise "$db" -w algo=ppo -o "$ini"
tap_run "advise: beyond the highest DDR" 0 "the highest tried" analyze advise "$db" -w algo=ppo -o "$ini"
tap_run "advise: a budget" 0 "no proposal fits into" analyze advise "$db" --hours 0.000001 -o "$tap_dir/none.ini"
tap_result "advise: and then no file" "$([ ! -e "$tap_dir/none.ini" ]; echo $?)"
tap_run "advise: a part of it" 0 "no " analyze advise "$db" --hours 0.015 -o "$ini"
tap_run "advise: too few configurations" 1 "cannot support advice" analyze advise "$db" -w com=2 -w com=8 -o "$ini"
tap_run "advise: one seed is too few" 1 "cannot support advice" analyze advise "$db" -w seed=0 -o "$ini"
tap_run "advise: a bad name" 2 "--name" analyze advise "$db" --name '../x' -o "$ini"
tap_run "advise: a folder that is not there" 1 "nowhere" analyze advise "$db" -o "$tap_dir/nowhere/x.ini"
tap_run "advise: no seeds" 2 "positive" analyze advise "$db" --seeds 0
tap_run "advise --help" 0 "Usage:" analyze advise --help
# the best runs used a scaling scheme: their settings are written with the scaled values, and are not scaled again
cp "$db" "$tap_dir/scaled.db"
tool sql "$tap_dir/scaled.db" "UPDATE run SET config = json_set(config, '$.scale.scheme', 'more_minibatches', '$.scale.factor', 2) WHERE json_extract(config, '$.algo.name') = 'ppo_ewma'"
num=$(tool sql "$db" "SELECT DISTINCT 2 * json_extract(config, '$.env.num') FROM run")
analyze advise "$tap_dir/scaled.db" -o "$ini" >/dev/null
tap_check "advise: runs of a scaling scheme are not scaled twice" "$(grep -qx "num = $num" "$ini" || echo "no num = $num"
  grep -n -A2 '^\[scale\]' "$ini")"
# the best runs began from others: each seed has its own parent, which no file of neighbors could name
cp "$db" "$tap_dir/begun.db"
tool sql "$tap_dir/begun.db" "UPDATE run SET config = json_set(config, '$.init.from', 'run:' || (SELECT min(id) FROM run) || '@5') WHERE json_extract(config, '$.ppo.com') = 512 AND json_extract(config, '$.algo.name') = 'ppo_ewma'"
tap_run "advise: runs begun from others are reported" 0 "3 runs started from other runs' checkpoints" analyze advise "$tap_dir/begun.db" -o "$ini"
tap_run "advise: and sweep plan takes the file" 0 "seeds        3" sweep plan "$ini" --root "$tap_dir/work"

# ---- curves on the terminal
cd "$tap_dir/work" || exit 1
tap_run "terminal: curves and the number of runs" 0 "36 runs of 12 configurations (3 seeds each): 3" analyze curves --terminal --panel none
tap_run "terminal: the best configuration is first" 0 "com 512 (3 of 3 runs)" analyze curves -t --sweep two_grids --group com --panel none
tap_run "terminal: curves are drawn" 0 "⠒" analyze curves -t --group com --panel none
# whole on a small screen: a title, curves with round numbers at their left, the x axis, a legend, nothing beyond the edge
for size in "60 16" "80 24" "120 40"; do
  set -- $size
  COLUMNS=$1 LINES=$2 analyze curves -t --group com --panel none >"$tap_dir/picture" 2>/dev/null
  tap_check "terminal of $1 x $2 is whole" "$(LC_ALL=C tr -d '\200-\277' <"$tap_dir/picture" | LC_ALL=C awk -v columns="$1" -v lines="$2" '
    length($0) >= columns { print "to the edge: " $0 } / 0 .*solve rate against transitions .*328 k$/ { axis = NR } / 0.6[0-9]* .*com 512 \(3 of 3 runs\)$/ { legend = NR }
    NR > 1 && !axis && match($0, /^ *[0-9.]+ /) { n++; v = $1 + 0; if (v * 20 != int(v * 20)) print "no round number: " v }
    END { if (NR >= lines) print NR " lines"; if (NR < 12 || !axis || legend != axis + 1) print "axis " axis ", legend " legend " of " NR; if (n < 2) print n + 0 " numbers" }')"
done
# the ends of the lines are the means of the table, the best first
analyze curves -t --group com --panel none | grep -oE '━━ *[0-9.]+ *com [0-9]+' | awk '{ print $NF, $2 }' | sort >"$tap_dir/drawn"
analyze curves --group com --panel none -o "$tap_dir/figures" >/dev/null
grep -v '^#' "$tap_dir/figures/curves.csv" | awk -F, 'NR > 1 && $2 != "" { end[$2] = $(NF-2) } END { for (c in end) printf "%s %.3g\n", c, end[c] }' | sort >"$tap_dir/means"
tap_check "terminal: the legend has the figure's last means" "$(diff "$tap_dir/drawn" "$tap_dir/means"; [ -s "$tap_dir/drawn" ] || echo "none")"
tap_run "terminal: a log axis has powers of ten" 0 "0.01 " analyze curves -t --y kl --panel none --group com
tap_run "terminal: a picture for each panel" 0 "com 512 (3 of 3 runs)" analyze curves -t
[ "$(analyze curves -t 2>/dev/null | grep -c 'solve rate against')" = 2 ]; tap_result "and its axes" $?
tap_run "terminal: no files" 2 "writes no file" analyze curves -t -o x
tap_run "terminal: no JSON" 2 "exclude each other" analyze curves -t --json
tap_run "terminal: an unknown sweep" 2 "did you mean two_grids" analyze curves -t --sweep two_grid
tap_run "watch: runs that have all ended are drawn once" 0 "34 finished" analyze curves --watch
$make_workspace "$tap_dir/young" 1 1 && rm -rf "$tap_dir/young/runs"
tap_run "terminal: nothing measured yet" 1 "has an evaluation yet" analyze curves -t "$tap_dir/young/results.db"
cd - >/dev/null || exit 1

tap_run "advise --json" 0 '"told_from_second": ' analyze advise "$db" -w algo=ppo -o "$ini" --json

# A run that is going on: the picture follows it, and ends with it.
first=$(basename "$(ls -d "$tap_dir"/work/runs/*/* | head -1)") state=$tap_dir/work/runs/${first:0:2}
sed -i "s/^status=.*/status=stopped/; s/^host=.*/host=elsewhere/; /^crc32=/d" "$state/$first/state"
status=$(grep -c '^status=stopped' "$state/$first/state")
if [ "$status" = 1 ]; then
  sed -i "s/^status=.*/status=running/; s/^heartbeat.*=.*/heartbeat_unix_s=$(date +%s)/" "$state/$first/state"
  analyze curves --watch "$tap_dir/work/results.db" >"$tap_dir/picture" 2>&1 &
  pid=$!
  tap_wait 60 grep -q "1 running" "$tap_dir/picture"
  sleep 3 # the next look
  tap_result "watch continues while a run is active" "$(kill -0 $pid 2>/dev/null; echo $?)" "$(cat "$tap_dir/picture")"
  sed "s/^status=.*/status=finished/" "$state/$first/state" >"$state/$first/state.tmp" && mv "$state/$first/state.tmp" "$state/$first/state"
  tap_wait 60 bash -c "! kill -0 $pid 2>/dev/null"
  tap_result "and ends when it does" $? "$(tail -3 "$tap_dir/picture")"
  kill $pid 2>/dev/null
else
  tap_skip "watch while a run goes on" "the state's format is another"
fi
tap_done

#!/usr/bin/env bash
# Normalized scores: returns of games between their reference constants, in tables and figures. The constants are typed
# here from Agent57's table and Cobbe et al. 2020, and the arithmetic is awk's. Errors name the game. TAP.
set -u
. "$(dirname "$0")/tap.sh"
work=$tap_dir/work db=$tap_dir/work/results.db out=$tap_dir/out_d
tap_simulate "$work" 3 20
analyze table "$db" -o "$out" >/dev/null # imports
tool sql "$db" "DELETE FROM evaluation WHERE level_set <> 'train';
  UPDATE evaluation SET solve_rate = NULL, solve_rate_se = NULL, episode_return = 2000 * episode_return;
  UPDATE run SET solve_rate = NULL" >/dev/null
tasks() { # of seeds 0, 1 and 2
  tool sql "$db" "UPDATE run SET config = json_set(config, '$.env.task', CASE json_extract(config, '$.train.seed')
    WHEN 0 THEN '$1' WHEN 1 THEN '$2' ELSE '$3' END)" >/dev/null
}
near() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && b != "" && a - b < 1e-9 && b - a < 1e-9) }'; }
# The last returns of a configuration by seed: "return0 return1 return2".
returns() { # condition
  tool sql "$db" "SELECT episode_return FROM run JOIN evaluation ON run_id = id WHERE $1 AND evaluation.iteration =
    (SELECT max(iteration) FROM evaluation WHERE run_id = id) ORDER BY json_extract(config, '$.train.seed')" | tr '\n' ' '
}
com8="json_extract(config, '$.ppo.com') = 8 AND json_extract(config, '$.algo.name') = 'ppo_ewma'"
rows() { grep -v '^#' "$out/$1.csv"; }

# ---- an evaluation before training is no result of it, neither as a score nor as a return
cp "$db" "$tap_dir/young.db"
tool sql "$tap_dir/young.db" "DELETE FROM evaluation WHERE iteration > 0 AND run_id IN (SELECT id FROM run WHERE seed = 0)" >/dev/null
tap_check "the untrained policy has no final return" "$(analyze table --runs "$tap_dir/young.db" --measure final,final_return,best_return --format csv |
  awk -F, 'NR > 1 { n += $2 == ""; m += $3 == "" && $4 == "" } END { if (n != 12 || m != n) print n, m }')"

# ---- Atari: each game between its own constants
tasks envpool/Qbert-v5 gym/ALE/Amidar-v5 atari/Frostbite
read -r mean median gap <<<"$(returns "$com8" | awk '{ a = ($1 - 163.9) / (13455 - 163.9); b = ($2 - 5.8) / (1719.5 - 5.8);
  c = ($3 - 65.2) / (4334.7 - 65.2); m = a > b ? (a > c ? (b > c ? b : c) : a) : (b > c ? (a > c ? a : c) : b)
  printf "%.15g %.15g %.15g", (a + b + c) / 3, m, 1 - ((a > 1 ? 1 : a) + (b > 1 ? 1 : b) + (c > 1 ? 1 : c)) / 3 }')"
tap_run "bars of several games" 0 "human-normalized score" analyze bars "$db" --measure normalized_score \
  --aggregate "mean,median,iqm,optimality gap" --group com --where algo.name=ppo_ewma -o "$out"
tap_run "they name the normalization" 0 "Human-normalized: 0 is a policy that" analyze bars "$db" --measure normalized_score -o "$out.b"
value() { rows bars | awk -F, -v of="$1" '$2 == 8 && $3 == of { print $6 }'; }
near "$(value mean)" "$mean"; tap_result "mean over games" $? "$(value mean) $mean"
near "$(value median)" "$median"; tap_result "median over games" $? "$(value median) $median"
near "$(value iqm)" "$mean"; tap_result "interquartile mean: of three scores none is dropped" $? "$(value iqm) $mean"
near "$(value 'optimality gap')" "$gap"; tap_result "optimality gap" $? "$(value 'optimality gap') $gap"

tap_run "curves, a panel a game" 0 "task gym/ALE/Amidar-v5" analyze curves "$db" --y normalized_score --panel task \
  --group com --where algo.name=ppo_ewma -o "$out"
ours=$(rows curves-normalized_score | awk -F, '/Qbert/ && $3 == 8 { last = $6 } END { print last }')
near "$ours" "$(returns "$com8" | awk '{ printf "%.15g", ($1 - 163.9) / (13455 - 163.9) }')"
tap_result "each game by its own constants" $? "$ours; $(rows curves-normalized_score | head -3)"
tap_run "the aggregate over games against a setting" 0 "human-normalized score, IQM [95 % bootstrap]" analyze settings "$db" \
  --x ppo.com --where algo.name=ppo_ewma --measure normalized_score --aggregate iqm --interval bootstrap -o "$out"
ours=$(rows settings | awk -F, '$3 == 8 || $4 == 8 { print $(NF - 2), NF }')
near "${ours% *}" "$mean"; tap_result "which is one line over all games" $? "$ours: $(rows settings | head -3)"
[ "$(rows settings | wc -l)" = 7 ]; tap_result "a place a value" $? "$(rows settings)"
tap_run "--aggregate of settings" 2 "did you mean iqm" analyze settings "$db" --x ppo.com --aggregate iqn -o "$out"
tap_run "--interval of settings" 2 "expected t or bootstrap" analyze settings "$db" --x ppo.com --interval sd -o "$out"
tap_run "the best of lowest gaps" 2 "the best optimality gap is the lowest" analyze settings "$db" --x ppo.com \
  --aggregate "optimality gap" --best-of ppo.epsilon -o "$out"

# ---- Procgen: by the mode
tasks procgen/coinrun procgen/fruitbot procgen/starpilot
mode() { tool sql "$db" "UPDATE run SET config = json_set(config, '$.procgen.mode', '$1')" >/dev/null; }
score_of() { # mode, then the min and max of fruitbot
  mode "$1"
  analyze settings "$db" --x ppo.com --where algo.name=ppo_ewma --panel env.task --measure normalized_score -o "$out" >"$tap_dir/out"
  ours=$(rows settings | awk -F, '/fruitbot/ && $3 == 8 { print $(NF - 2) }')
  near "$ours" "$(returns "$com8" | awk -v a="$2" -v b="$3" '{ printf "%.15g", ($2 - a) / (b - a) }')"
  tap_result "Procgen's $1 mode" $? "$ours; $(rows settings | head -3)"
}
score_of easy -1.5 32.4
score_of hard -0.5 27.2
tap_run "the caption names the source" 0 "Normalized between the" analyze bars "$db" --measure normalized_score -o "$out"
mode extreme
tap_run "a mode without constants" 1 "procgen/coinrun (procgen.mode = extreme)" analyze bars "$db" --measure normalized_score -o "$out"

# ---- scores that cannot be normalized
mode easy
tasks envpool/Qbert-v5 envpool/Qbert-v5 gym/CartPole-v1
for figure in "bars --measure" "settings --x ppo.com --measure" "curves --y"; do
  tap_run "a game with a task without constants: ${figure%% *}" 1 \
    "envpool/Qbert-v5 (human-normalized) and gym/CartPole-v1 (no such constants) are not on one scale" analyze $figure normalized_score "$db" -o "$out"
done
tap_run "and the way out is one" 0 "human-normalized" analyze bars "$db" --measure normalized_score --where env.task=envpool/Qbert-v5 -o "$out"
tasks procgen/coinrun procgen/coinrun envpool/Qbert-v5
tap_run "two scales" 1 "not on one scale; choose runs by --where env.task=" analyze curves "$db" --y normalized_score -o "$out"
tasks gym/CartPole-v1 gym/CartPole-v1 gym/CartPole-v1
for figure in "bars --measure" "curves --y"; do
  tap_run "no constants at all: ${figure%% *}" 1 "no constants to normalize returns of gym/CartPole-v1" analyze $figure normalized_score "$db" -o "$out"
done
tasks envpool/Qbert-v4 envpool/Qbert-v4 envpool/Qbert-v4
tap_run "nearly a game is none" 1 "returns of envpool/Qbert-v4" analyze bars "$db" --measure normalized_score -o "$out"
tap_run "a measure nearly right" 2 "did you mean normalized_score" analyze bars "$db" --measure normalised_score -o "$out"

# ---- tasks with a solve rate: that is the score
tool sql "$db" "UPDATE evaluation SET solve_rate = episode_return / 2000" >/dev/null
tasks loco512 loco512 loco512
tap_run "curves of solve rates" 0 "solve_rate [95 %]" analyze curves "$db" --y normalized_score --where ppo.com=8 -o "$out"
analyze bars "$db" --measure normalized_score --group com -o "$out" >/dev/null; rows bars >"$tap_dir/one"
analyze bars "$db" --measure final --group com -o "$out" >/dev/null; rows bars | cmp -s - "$tap_dir/one"
tap_result "bars of solve rates are those of the final score" $?
tap_done

#!/usr/bin/env bash
# analyze compare and analyze claims on a workspace whose runs follow a known model. TAP.
set -u
. tests/cli/tap.sh
export NO_COLOR=1
"$SWEEP_BUILD/tests/bench/bench_analysis" make "$tap_dir/work" 5 40 || { echo "Bail out! no workspace"; exit 1; }
db=$tap_dir/work/results.db

# ---- compare
tap_run "compare: the better side" 0 "B scores higher" analyze compare "$db" com=2 com=128
tap_run "compare: a larger KL is no better score" 0 "mean KL is larger in A" analyze compare "$db" com=2 com=128 --measure kl
tap_run "compare: the other way round" 0 "A scores higher" analyze compare "$db" com=128 com=2
tap_run "compare: a side against itself" 2 "of A's 5 and B's 5 runs 5 are in both" analyze compare "$db" com=8 com=8
tap_run "compare: a side within the other" 2 "write groups that exclude each other: com=8 and com=ANOTHER, or B with a further key (algo.name=ppo_ewma,com=ANOTHER)" analyze compare "$db" com=8 algo.name=ppo_ewma
tap_run "compare: no fewer seeds than an interval takes" 0 "needs 3 seeds per side" analyze compare "$db" com=8 com=128
tap_run "compare: suggestions" 0 "P(A > B): 0.000 [0.000, 0.4" analyze compare "$db" com=8 algo.name=ppo_ewma,com=128
tap_run "compare: KL as a ratio of geometric means" 0 "A / B:" analyze compare "$db" com=8 com=128 -m kl
tap_run "compare: unfinished runs are reported" 0 "excludes 1 unfinished runs" analyze compare "$db" com=2 com=2048
tap_run "compare: two conditions" 0 "eps=0.1,seed=1" analyze compare "$db" eps=0.1,seed=1 eps=0.2,seed=1
tap_run "compare: seeds needed" 0 "seeds per side" analyze compare "$db" com=2 com=8
tap_run "compare: a measure of iterations" 0 "mean KL" analyze compare "$db" com=2 com=8 -m kl
cp "$db" "$tap_dir/levels.db"
tool sql "$tap_dir/levels.db" "UPDATE run SET config = json_set(config, '$.env.curriculum', 'sfl') WHERE json_extract(config, '$.ppo.com') = 8"
tap_run "compare: a curriculum is a setting, no task of its own" 0 "1 task" analyze compare "$tap_dir/levels.db" env.curriculum=none,com=128 env.curriculum=sfl
tap_run "compare: a budget" 0 "final score" analyze compare "$db" com=2 com=8 --budget 100000
tap_run "compare --json" 0 '"improvement"' analyze compare "$db" com=2 com=8 --json
tap_run "compare: an unknown measure" 2 "did you mean final" analyze compare "$db" com=2 com=8 -m finall
tap_run "compare: an unknown value" 1 "ppo.com is" analyze compare "$db" com=2 com=9
tap_run "compare: an unknown key" 2 "unknown key" analyze compare "$db" xyzzyx=2 com=8
tap_run "compare: no condition" 2 "expected key=value" analyze compare "$db" com com=8
tap_run "compare: one side" 2 "two groups" analyze compare "$db" com=2
tap_run "compare: an unknown level set" 1 "nothing to compare" analyze compare "$db" com=2 com=8 --level-set moon
one=$(OMP_NUM_THREADS=1 analyze compare "$db" com=2 com=128 --json) three=$(OMP_NUM_THREADS=3 analyze compare "$db" com=2 com=128 --json)
tap_result "compare does not depend on threads" "$([ "$one" = "$three" ]; echo $?)"

# ---- claims: the model falls with KL, which falls with COM and rises with epsilon
analyze claims "$db" --sweep two_grids --json >"$tap_dir/claims.json"
verdict() { grep -A 12 "\"id\": \"$1\"" "$tap_dir/claims.json" | grep -m1 '"verdict"' | cut -d'"' -f4; }
for expected in com_low=supported com_high=undecided com_kl=supported epsilon_high=supported epsilon_low=undecided \
                sfl_scale=undecided rank=undecided coverage=undecided; do
  tap_result "claim ${expected%=*} is ${expected#*=}" "$([ "$(verdict "${expected%=*}")" = "${expected#*=}" ]; echo $?)" "$(verdict "${expected%=*}")"
done
tap_run "claims: text" 0 "claims: " analyze claims "$db" --sweep two_grids
tap_run "claims: a sweep of one's own does not count by itself" 0 "--sweep NAME uses all runs of a sweep" analyze claims "$db"
tap_run "claims: one claim" 0 "1 claims: 1 supported" analyze claims "$db" --sweep two_grids --claim com_kl
tap_run "claims: an unknown one" 2 "did you mean com_kl" analyze claims "$db" --claim com_kll
tap_run "claims: together" 0 "Holm's" analyze claims "$db" --sweep two_grids --correct
tap_run "claims: missing data are named" 0 "Data: fig11_sfl" bash -c "analyze claims '$db' --sweep two_grids | tr -s ' \n' ' '"
tap_run "claims: --where" 0 "needs 3 seeds" bash -c "analyze claims '$db' --sweep two_grids --where seed=0 --where seed=1 | tr -s ' \n' ' '"
one=$(OMP_NUM_THREADS=1 analyze claims "$db" --sweep two_grids --json | cksum)
three=$(OMP_NUM_THREADS=3 analyze claims "$db" --sweep two_grids --json | cksum)
tap_result "claims do not depend on threads" "$([ "$one" = "$three" ]; echo $?)"
tap_run "each claim has the same result from its own experiments as from a database of all" 0 "same com_low" \
  "$SWEEP_BUILD/tests/cli/cli_claims_null" experiments together
for command in compare claims; do tap_run "$command --help" 0 "Usage:" analyze $command --help; done
tap_done

#!/usr/bin/env bash
# analyze compare and analyze claims on a workspace whose runs follow a known model. TAP.
set -u
. tests/cli/tap.sh
export NO_COLOR=1
tap_simulate "$tap_dir/work" 5 40
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
for expected in com_low=supported com_high=undecided com_kl=supported epsilon_high=supported epsilon_low=undecided; do
  tap_result "claim ${expected%=*} is ${expected#*=}" "$([ "$(verdict "${expected%=*}")" = "${expected#*=}" ]; echo $?)" "$(verdict "${expected%=*}")"
done
tap_run "claims: text" 0 "claims: " analyze claims "$db" --sweep two_grids
tap_run "claims: a sweep of one's own does not count by itself" 0 "--sweep NAME uses all runs of a sweep" analyze claims "$db"
tap_run "claims: one claim" 0 "1 claims: 1 supported" analyze claims "$db" --sweep two_grids --claim com_kl
tap_run "claims: an unknown one" 2 "did you mean com_kl" analyze claims "$db" --claim com_kll
tap_run "claims: together" 0 "Holm's" analyze claims "$db" --sweep two_grids --correct
tap_run "claims: missing data are named" 0 "Data: fig11_sfl" bash -c "analyze claims '$db' --sweep two_grids --claim sfl_scale | tr -s ' \n' ' '"
tap_run "claims: --where" 0 "needs 3 seeds" bash -c "analyze claims '$db' --sweep two_grids --where seed=0 --where seed=1 | tr -s ' \n' ' '"
one=$(OMP_NUM_THREADS=1 analyze claims "$db" --sweep two_grids --json | cksum)
three=$(OMP_NUM_THREADS=3 analyze claims "$db" --sweep two_grids --json | cksum)
tap_result "claims do not depend on threads" "$([ "$one" = "$three" ]; echo $?)"
tap_run "each claim has the same result from its own experiments as from a database of all" 0 "same com_low" \
  "$SWEEP_BUILD/tests/cli/cli_claims_null" experiments together

# ---- what is listed
field() { # OPTIONS -- PATH...: a field of the listing
  local options=()
  while [ "$1" != -- ]; do options+=("$1"); shift; done; shift
  analyze claims "$db" --sweep two_grids "${options[@]}" --json >"$tap_dir/list.json" && tool json "$@" <"$tap_dir/list.json"
}
listed() { grep -c '"sentence"' "$tap_dir/list.json"; }
without=$(field -- without_runs) some=$(listed) all=$(analyze claims --list --json | grep -c '"sentence"')
tap_check "claims without runs are counted" \
  "$([ "$some" -gt 5 ] && [ "$without" -gt 5 ] && [ $((some + without)) = "$all" ] || echo "$some and $without of $all")"
described() { analyze claims --list "$@" | tr -s ' \n' ' '; }
tap_expect "--list needs no database: sentence, test, measure, setting, experiments" 0 \
  "^com_gradient P000 Fig. 2b: .*norms'. FALLS of the late gradient norm by ppo.com. Data: fig1a_com" described --claim com_gradient
tap_expect "and the limits of the test and of the claim" 0 \
  "LOW_END .* It cannot tell why the end loses: .* Nor can it tell which sizes are too small" described --claim small_minibatches
tap_check "every claim has the limit of its test" "$(analyze claims --list --json | grep -c '"test_limit": "' | grep -vx "$all")"
tap_run "--list: an unknown claim" 2 "did you mean com_kl" analyze claims --list --claim com_kll
tap_check "claims that --claim leaves out are counted" "$(left=$(field --claim com_kl --claim com_low -- left_out); [ "$left" = $((some - 2)) ] || echo "'$left' of $some")"
together=$(field -- verdicts_together supported) alone=$(field -- verdicts supported)
tap_check "the listing tells what Holm's correction leaves" \
  "$([ "$together" -lt "$alone" ] && [ "$(field --correct -- verdicts supported)" = "$together" ] || echo "$alone alone, $together together")"

# ---- a written plan
. tests/cli/runs.sh
mkdir -p "$tap_dir/study"
echo "COM 8 ends below COM 64." >"$tap_dir/study/plan.md"
sum=$(sha256sum <"$tap_dir/study/plan.md" | cut -c1-64)
planned() { # WORKSPACE NAME PLAN: submits an experiment, whose runs end at once
  printf '[sweep]\nname = %s\nseeds = 2\nplan = %s\n[algo]\nname = ppo_ewma\n[grid com]\nppo.com = 8, 64\n' "$2" "$3" >"$tap_dir/study/$2.ini"
  submit "$tap_dir/$1" "$tap_dir/study/$2.ini"
}
plan() { # SWEEP FIELD [WORKSPACE]
  analyze claims "$tap_dir/${3:-planned}/results.db" --sweep "$1" --json >"$tap_dir/plan.json" && tool json plans 0 "$2" <"$tap_dir/plan.json"
}
planned planned first plan.md
fill "$tap_dir/planned" ppo.com '{ run(iterations, "finished"); eval(iterations, 0.5) }'
tap_is "a plan's sum" "$sum" "$(plan first sha256 2>&1)"
tap_is "each run records it" "4 4" "$(plan first recorded) $(plan first runs)"
tap_run "claims print it" 0 "${sum:0:16}, recorded by 4 of 4 runs" bash -c "analyze claims '$tap_dir/planned/results.db' --sweep first | tr -s ' \n' ' '"
tap_is "an unchanged file" unchanged "$(plan first file 2>&1)"
analyze report "$tap_dir/planned/results.db" --no-figures -o "$tap_dir/planned/report" >/dev/null
tap_run "the report prints it" 0 "plan.md of first: SHA-256 ${sum:0:16}" grep -o 'plan.md of first: [^,]*' "$tap_dir/planned/report/index.html"
echo "Or above." >>"$tap_dir/study/plan.md"
tap_is "a changed file" changed "$(plan first file 2>&1)"
sweep submit first --no-start --no-check --root "$tap_dir/planned" >/dev/null
tap_is "submitted again, the sweep keeps the recorded sum" "$sum" "$(plan first sha256 2>&1)"
planned planned second plan.md
tap_is "runs of an earlier plan have not recorded a later one" "0 4" "$(plan second recorded) $(plan second runs)"

# A run that is resumed later keeps the plan of its first start.
tiny() { sweep submit "$tap_dir/study/tiny.ini" --root "$tap_dir/tiny" --local --wait >"$tap_dir/log" 2>&1 || cat "$tap_dir/log"; }
printf '[sweep]\nname = tiny\nplan = plan.md\n[env]\nnum = 4\n[ppo]\nnum_steps = 8\nnum_minibatches = 1\n[train]\ntotal_steps = 64\n[eval]\ncount = 1\nepisodes = 4\n' >"$tap_dir/study/tiny.ini"
cp "$tap_dir/study/plan.md" "$tap_dir/study/kept.md"
tiny
first=$(plan tiny sha256 tiny)
tap_is "a run that has ended recorded the plan" 1 "$(plan tiny recorded tiny 2>&1)"
echo "Later." >>"$tap_dir/study/plan.md"
sweep submit tiny --failed --root "$tap_dir/tiny" >/dev/null 2>&1
tiny
tap_is "the later plan" "$(sha256sum <"$tap_dir/study/plan.md" | cut -c1-64)" "$(plan tiny sha256 tiny 2>&1)"
tap_is "is not that of the earlier run" 0 "$(plan tiny recorded tiny 2>&1)"
sweep collect --rebuild --root "$tap_dir/tiny" >/dev/null
tap_is "nor in a rebuilt database" 0 "$(plan tiny recorded tiny 2>&1)"
mv "$tap_dir/study/kept.md" "$tap_dir/study/plan.md"
tiny
sweep collect --rebuild --root "$tap_dir/tiny" >/dev/null
tap_is "whose runs have the first one" "1 $first" "$(plan tiny recorded tiny) $(plan tiny sha256 tiny)"
planned pinned pinned "plan.md sha256:$sum"
tap_is "a given sum is recorded, whatever the file has" "$sum" "$(plan pinned sha256 pinned 2>&1)"
rm "$tap_dir/study/plan.md"
tap_is "a file that is gone" absent "$(plan first file 2>&1)"
tap_run "no such plan" 2 "first.ini:4:8: sweep.plan: cannot read" sweep plan "$tap_dir/study/first.ini"
tap_run "an empty plan" 2 "sweep.plan is empty" sweep plan "$tap_dir/study/first.ini" --set sweep.plan=
printf '[sweep]\nname = own\nplan = own.ini\n[program]\ncommand = true {x}\n[settings]\nx = 1\n' >"$tap_dir/study/own.ini"
submit "$tap_dir/own" "$tap_dir/study/own.ini"
tap_is "runs of programs record it" 1 "$(plan own recorded own 2>&1)"

for command in compare claims; do tap_run "$command --help" 0 "Usage:" analyze $command --help; done
tap_done

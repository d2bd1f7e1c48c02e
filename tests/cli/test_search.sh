#!/usr/bin/env bash
# [search NAME] with real trainings on this machine: random, Sobol' and TPE trials, waves, killed submissions, runs that
# fail or are stopped by rule, and the analysis. unit/test_search covers points and proposals.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
. tests/fault/pace.sh
export SWEEP_ROOT=$tap_dir/work SWEEP_SITE=none SWEEP_TRAINER=$paced
trap 'sweep stop >/dev/null 2>&1; tap_cleanup' EXIT
mkdir "$SWEEP_ROOT"

# experiment NAME LINES...: $tap_dir/NAME.ini with the settings that follow. ${iterations:-8} of 256 transitions a run.
experiment() {
  local name=$1; shift
  { printf '%s\n' "[sweep]" "name = $name" "[env]" "num = 16" "morphologies = car" "difficulty = 0" "level_count = 8" \
      "[train]" "total_steps = $((256 * ${iterations:-8}))" "threads = 1" "[ppo]" "num_steps = 16" "num_minibatches = 4" \
      "epochs = 2" "[net]" "width = 16" "depth = 1" "[eval]" "count = ${evaluations:-2}" "episodes = 8" "[checkpoint]" \
      "every = 0"
    printf '%s\n' "$@"; } >"$tap_dir/$name.ini"
}
submit() { sweep submit "$tap_dir/$1.ini" --local --jobs 2 "${@:2}"; }
id_of() { sed -n "$(($2 + 3))p" "$SWEEP_ROOT/sweeps/$1/manifest.tsv" | cut -f2; } # SWEEP INDEX
ids_of() { tail -n +3 "$SWEEP_ROOT/sweeps/$1/manifest.tsv" | cut -f2; }
folder_of() { echo "$SWEEP_ROOT/runs/${1:0:2}/$1"; }
journal_of() { echo "${2:-$SWEEP_ROOT}/sweeps/$1/search.s.tsv"; } # SWEEP [ROOT]
idle() { [ ! -e "$SWEEP_ROOT/sweeps/$1/queued" ]; }
same() { cmp "$1" "$2" 2>&1; }
counted() { sweep status "$1" --json | tool json 0 count "$2"; } # SWEEP STATE
waves_of() { tail -n +3 "$(journal_of "$1")" | cut -f2 | uniq -c | tr -s ' \n' ' '; } # " 3 1 3 2 ": three trials in wave 1

# ---- random: a space with a logarithm, whole numbers, a choice and a condition, on two seeds
space=("ppo.learning_rate = log 1e-5 .. 1e-2" "ppo.epochs = 1 .. 4" "ppo.epsilon = choice 0.1, 0.2, 0.4"
  "algo.name = choice ppo, ppo_ewma" "ppo.com = log 8 .. 512 when algo.name = ppo_ewma")
experiment drawn "[search s]" "trials = 4" "seeds = 2" "${space[@]}"
experiment drawn_more "[search s]" "trials = 6" "seeds = 2" "${space[@]}"
sed -i 's/^name = drawn_more/name = drawn/' "$tap_dir/drawn_more.ini"
plan=$(sweep plan "$tap_dir/drawn.ini" 2>&1)
says() { tap_check "$1" "$(grep -qE -- "$2" <<<"$3" || echo "no /$2/ in: $3")"; }
says "plan: method, trials and goal" '^search s +random, 4 trials for max final' "$plan"
says "the space" '^ *ppo.com +log 8 .. 512 when algo.name = ppo_ewma' "$plan"
says "the runs" '^runs +8\b' "$plan"
says "the cost" '^transitions +16\.4 k' "$plan"
tap_check "plan --json" "$([ "$(sweep plan "$tap_dir/drawn.ini" --json | tool json searches 0 settings ppo.epochs)" = "1 .. 4" ] ||
  sweep plan "$tap_dir/drawn.ini" --json)"
tap_run "submit" 0 "8 finished" submit drawn --wait
ids_of drawn >"$tap_dir/first"
plan=$(sweep plan "$tap_dir/drawn_more.ini" 2>&1)
says "a larger trials only adds" '^to run +4\b' "$plan"
tap_check "and takes nothing away" "$(grep -F 'not in file' <<<"$plan")"
tap_run "submit more" 0 "12 runs, 4 new in the manifest" submit drawn_more --wait
tap_check "the first runs are unchanged" "$(ids_of drawn | head -8 | same - "$tap_dir/first")"
value_of() { sed -n "s/^ *$2 *= *//p" "$(folder_of "$1")/config.ini" | head -1; }
problems=; for id in $(ids_of drawn); do
  epochs=$(value_of "$id" epochs); com=$(value_of "$id" com)
  case $epochs in [1-4]) ;; *) problems+="epochs=$epochs " ;; esac
  if [ "$(value_of "$id" name)" = ppo_ewma ]; then
    awk -v c="$com" 'BEGIN { exit !(c >= 8 && c <= 512) }' || problems+="com=$com "
  fi
done
tap_check "the samples are in the space" "$problems"
tap_check "some with the condition, some without" "$(n=$(for id in $(ids_of drawn); do value_of "$id" name; done | grep -x ppo_ewma | wc -l); [ "$n" -gt 0 ] && [ "$n" -lt 12 ] || echo "$n of 12")"

# ---- results
cd "$tap_dir" || exit 1
tap_run "search: too few trials for importances" 0 "can be said from 8 different trials with a value; there are 6" analyze search work/results.db --sweep drawn
experiment sobol "[search s]" "method = sobol" "trials = 8" "seeds = 3" "goal = min kl" "ppo.learning_rate = log 1e-4 .. 1e-2" "ppo.epochs = 1 .. 4"
tap_run "sobol" 0 "24 finished" submit sobol --wait
out=$(analyze search work/results.db --sweep sobol --best 3 2>&1)
says "search: the best with their intervals" '^ *1 +[0-9] +3 +[-0-9.e]+ \[[-0-9.e]+, [-0-9.e]+\]' "$out"
tap_check "the requested number" "$([ "$(grep -cE '^ *[0-9]+ +[0-9]+ +3 ' <<<"$out")" = 3 ] || echo "$out")"
says "importances" '^ *ppo.learning_rate +[0-9]+ %' "$out"
says "their source" 'by functional ANOVA' "$(tr -s '\n ' '  ' <<<"$out")"
says "what it is of" '8 of 8 trials \(sobol\) for min kl' "$out"
json=$(analyze search work/results.db --sweep sobol --json)
tap_check "--json: the best first" "$(for i in 0 1 2 3 4 5 6 7; do tool json trials $i value <<<"$json"; done | awk 'NR > 1 && $1 < last { print } { last = $1 }')"
kl_of_best=$(analyze table --runs work/results.db --sweep sobol --measure kl --format csv |
  grep -E "$(tool json trials 0 runs <<<"$json" | tr -d '[]" ' | tr , '|')" | awk -F, '{ s += log($2) } END { printf "%.9g", exp(s / NR) }')
tap_check "a trial's value is the mean over its runs, the geometric one of KL" "$(tool json trials 0 value <<<"$json" | awk -v b="$kl_of_best" '{ d = $1 / b - 1; if (d * d > 1e-10) print $1, b }')"
tap_check "and it is the best of all" "$(analyze table --runs work/results.db --sweep sobol --measure kl --format csv | awk -F, 'NR > 1 { n++; if ($2 == "") print } END { if (n != 24) print n " rows" }')"
share=$(tool json importance ppo.learning_rate <<<"$json")
tap_check "importances are shares" "$(awk -v s="$share" 'BEGIN { if (!(s >= 0 && s <= 1)) print s }')"
for what in parallel slices; do
  picture=work/figures/search-$what.svg
  tap_check "$what: a figure that names the most important setting" "$(grep -qE '>(lr|ppo.learning_rate)<' "$picture" || ls work/figures)"
  tap_check "$what: and a CSV row per trial" "$([ "$(grep -cE '^[0-7],3,3,[0-9.e-]+,[1-4],' "work/figures/search-$what.csv")" = 8 ] || cat "work/figures/search-$what.csv")"
done
tap_run "another measure" 0 "for min final" analyze search work/results.db --sweep sobol --measure final
tap_run "measures" 0 "kl" analyze table --runs work/results.db --sweep sobol --measure kl,final
two="SELECT run_id, avg(score) FROM (SELECT run_id, coalesce(solve_rate, episode_return) AS score, row_number() OVER (PARTITION BY
  run_id ORDER BY transitions DESC) AS n FROM evaluation WHERE run_id IN (SELECT run_id FROM sweep_run WHERE sweep = 'sobol')) WHERE n <= 2 GROUP BY run_id"
tap_check "last_two is the mean of a run's last two evaluations" "$(diff \
  <(analyze table --runs work/results.db --sweep sobol --measure last_two --format csv | awk -F, 'NR > 1 { printf "%s %.9g\n", $1, $NF }' | sort) \
  <(analyze sql work/results.db "$two" --csv | awk -F, 'NR > 1 { printf "%s %.9g\n", $1, $2 }' | sort))"
tap_run "an unknown measure" 2 "did you mean" analyze table --runs work/results.db --measure finall
tap_run "several sweeps, and none is named" 2 "name the sweep with --sweep NAME" analyze search work/results.db
tap_run "a sweep that is not there" 2 "no sweep" analyze search work/results.db --sweep nothing
tap_run "a search that is not there" 2 "has no search t; it has: s" analyze search work/results.db --sweep sobol --search t
cd - >/dev/null || exit 1

# ---- tpe: four random trials, then waves of three
tpe=("[search s]" "method = tpe" "startup = 4" "wave = 3" "goal = min kl" "ppo.learning_rate = log 1e-4 .. 1e-1" "ppo.epochs = 1 .. 4")
experiment waves "${tpe[@]}" "trials = 10"
plan=$(sweep plan "$tap_dir/waves.ini")
says "plan: what is known, and what is to come" '^search s +tpe, 10 trials for min kl; 4 random ones, then waves of 3; 4 proposed' "$plan"
says "the cost of later waves" '^later waves +6 trials, about 6 runs and 12\.3 k transitions more' "$plan"
tap_run "submit" 0 "4 trials so far; the others follow in waves" submit waves
tap_wait 300 idle waves
tap_run "wave after wave" 0 "10 finished" sweep status waves
tap_check "two waves of three" "$([ "$(waves_of waves)" = " 3 1 3 2 " ] || cat "$(journal_of waves)")"
tap_run "plan knows them" 0 "10 proposed" sweep plan "$tap_dir/waves.ini"
tap_run "again: nothing to do" 0 "nothing to start: 10 runs are finished" submit waves
tap_run "search shows them" 0 "10 of 10 trials (tpe)" analyze search "$SWEEP_ROOT/results.db" --sweep waves -o "$tap_dir/figures"
cp "$(journal_of waves)" "$tap_dir/journal"
mkdir "$tap_dir/other"
tap_run "the same in a new workspace" 0 "10 finished" sweep submit "$tap_dir/waves.ini" --local --wait --root "$tap_dir/other"
tap_check "proposes the same trials" "$(same "$(journal_of waves "$tap_dir/other")" "$tap_dir/journal")"
sed -i 's/^trials = 10/trials = 13/' "$tap_dir/waves.ini"
tap_run "a larger trials adds a wave" 0 "13 finished" submit waves --wait
tap_check "after the proposals" "$(head -n "$(wc -l <"$tap_dir/journal")" "$(journal_of waves)" | same - "$tap_dir/journal"; [ "$(waves_of waves)" = " 3 1 3 2 3 3 " ] || waves_of waves)"
sed -i 's/1 \.\. 4/1 .. 5/' "$tap_dir/waves.ini"
tap_run "another space under its name" 2 "the space of [search s] differs from that of the proposals" submit waves
tap_check "a bundle has the proposals" "$(sweep bundle waves -o "$tap_dir/waves.tar.zst" >/dev/null && sweep unbundle "$tap_dir/waves.tar.zst" "$tap_dir/unbundled" >/dev/null; same "$(journal_of waves "$tap_dir/unbundled")" "$(journal_of waves)")"

# ---- what some cell cannot be is never proposed: 16 * 16 transitions have no three equal parts (the three random trials
# are none of these)
experiment ax "[search s]" "method = tpe" "startup = 3" "wave = 4" "trials = 11" "goal = min kl" "env.num = choice 16, 24" \
  "ppo.num_minibatches = choice 2, 3"
tap_run "values that do not go together" 0 "finished" submit ax --wait
tap_check "are in no proposal" "$([ "$(waves_of ax)" = " 4 1 4 2 " ] || waves_of ax; grep "=16.*=3" "$(journal_of ax)")"
tap_run "and the sweep can be submitted again" 0 "nothing to start" submit ax

# ---- a submit that is killed in the middle of a wave continues with its proposals
experiment killed "${tpe[@]}" "trials = 10"
proposed() { [ -e "$(journal_of killed)" ] && grep -lx status=running $(for id in $(ids_of killed | tail -3); do echo "$(folder_of "$id")/state"; done) >/dev/null 2>&1; }
slow 50
submit killed >/dev/null
tap_wait 300 proposed; tap_result "the first wave runs" $? "$(cat "$SWEEP_ROOT/executor.log")"
cp "$(journal_of killed)" "$tap_dir/journal"
kill -9 "$(tap_executor "$SWEEP_ROOT" killed)"
fast
tap_run "submission continues" 0 "10 finished" submit killed --wait
tap_check "with the trials that were proposed" "$(head -n 5 "$(journal_of killed)" | same - "$tap_dir/journal")"
tap_run "it is not killed elsewhere" 0 "10 finished" sweep submit "$tap_dir/killed.ini" --local --wait --root "$tap_dir/other"
tap_check "the later waves are those that it would have had" "$(same "$(journal_of killed)" "$(journal_of killed "$tap_dir/other")")"

# ---- a run that fails has ended, and is not tried with every wave
cat >"$tap_dir/failing" <<SH
#!/bin/sh
case "\$*" in *"\$(cat "$tap_dir/fails")"*) echo again >>"$tap_dir/tried"; exit 3 ;; esac
exec "$paced" "\$@"
SH
chmod +x "$tap_dir/failing"
experiment fails "${tpe[@]}" "trials = 10"
sweep submit "$tap_dir/fails.ini" --no-start >/dev/null
id_of fails 1 >"$tap_dir/fails"
tap_run "submit with a run that fails" 1 "1 runs failed; see sweep status fails" env SWEEP_TRAINER="$tap_dir/failing" sweep submit "$tap_dir/fails.ini" --local --jobs 2 --wait --no-check
tap_run "the waves went on" 0 "9 finished, 1 failed" sweep status fails
tap_check "it was started once" "$([ "$(wc -l <"$tap_dir/tried")" = 1 ] || cat "$tap_dir/tried")"
tap_run "search does not rank it" 0 "1 with runs that failed or diverged: not ranked" analyze search "$SWEEP_ROOT/results.db" --sweep fails -o "$tap_dir/figures"

# ---- runs that a rule stops have ended, too; the rule sees proposed trials
iterations=40 evaluations=20 experiment rungs "[search s]" "method = tpe" "startup = 3" "wave = 3" "trials = 9" "goal = max final_return" \
  "ppo.learning_rate = log 1e-4 .. 1e-1" "[stop]" "rule = asha" "min = 2560" "eta = 3" "every = 0.1"
slow 20
tap_run "submit with asha" 0 "3 trials so far" submit rungs
tap_wait 300 idle rungs
fast
stopped=$(counted rungs "stopped by rule") finished=$(counted rungs finished)
tap_check "no wave waits for stopped runs" "$([ $((stopped + finished)) = 9 ] && [ "$stopped" -ge 1 ] || sweep status rungs --runs)"
tap_check "runs of later waves are stopped as well" "$(tail -n +3 "$(journal_of rungs)" | wc -l | grep -qx 6 || cat "$(journal_of rungs)"
  for i in 3 4 5 6 7 8; do grep -F "$(id_of rungs $i)" "$SWEEP_ROOT/sweeps/rungs/stop.log"; done | grep -q stop || cat "$SWEEP_ROOT/sweeps/rungs/stop.log")"

# ---- two searches in one sweep: each has its own trials
experiment two "[search lr]" "trials = 3" "ppo.learning_rate = log 1e-4 .. 1e-2" "[search epochs]" "trials = 3" "ppo.epochs = choice 1, 3, 4, 5"
tap_run "two searches" 0 "finished" submit two --wait
tap_run "analyze requires a choice" 2 "has several searches; choose one with --search: lr, epochs" analyze search "$SWEEP_ROOT/results.db" --sweep two
tap_run "and shows its trials" 0 "3 of 3 trials (random)" analyze search "$SWEEP_ROOT/results.db" --sweep two --search lr -o "$tap_dir/figures"

# ---- bad input: file, line, column, key and way out
refused() { # NAME PLACE TEXT LINES...: of [search s]
  local name=$1 place=$2 text=$3; shift 3
  experiment bad "[search s]" "$@"
  local out rc; out=$(sweep plan "$tap_dir/bad.ini" 2>&1); rc=$?
  tap_check "$name" "$([ $rc = 2 ] || echo "exit code $rc"
    grep -qF -- "bad.ini:$place: " <<<"$out" && grep -qF -- "$text" <<<"$out" || echo "no $place: $text in: $out")"
}
head_line=$(experiment bad "[search s]"; grep -n '^\[search' "$tap_dir/bad.ini" | cut -d: -f1)
at() { echo "$((head_line + $1)):$2"; }
lr="ppo.learning_rate = log 1e-5 .. 1e-2"
refused "no trials" "$(at 0 1)" "[search s] has no trials; add trials = 64" "$lr"
refused "no settings" "$(at 0 1)" "[search s] has no setting to search; add one" "trials = 3"
refused "no trials: zero" "$(at 1 10)" "trials = 0: expected 1 to 1000000" "trials = 0" "$lr"
refused "bounds the wrong way round" "$(at 2 21)" "the bounds stand the wrong way round; write log 1e-5 .. 0.01" "trials = 3" "ppo.learning_rate = log 1e-2 .. 1e-5"
refused "the same bounds" "$(at 2 14)" "both bounds are 4, which leaves nothing to search" "trials = 3" "ppo.epochs = 4 .. 4"
refused "the logarithm of zero" "$(at 2 21)" "the logarithm of 0 does not exist; begin above 0, or leave out log" "trials = 3" "ppo.learning_rate = log 0 .. 1e-2"
refused "a measure that there is not" "$(at 2 8)" "goal: finall is not a measure of runs; did you mean final?" "trials = 3" "goal = max finall" "$lr"
refused "a goal without a direction" "$(at 2 8)" "expected max or min and a measure, such as max final" "trials = 3" "goal = final" "$lr"
refused "a condition on itself" "$(at 2 13)" "algo.name has a condition on itself" "trials = 3" "algo.name = choice ppo, ppo_ewma when algo.name = ppo"
refused "conditions in a circle" "$(at 2 13)" "leads back to itself" "trials = 3" "algo.name = choice ppo, ppo_ewma when net.activation = tanh" \
  "net.activation = choice tanh, relu when algo.name = ppo"
refused "a condition on what is no choice" "$(at 2 11)" "must be a choice of [search s]; write there algo.name = choice" "trials = 3" "ppo.com = log 8 .. 512 when algo.name = ppo_ewma"
refused "a condition that never holds" "$(at 3 11)" "is none of the values of algo.name (line $((head_line + 2)))" "trials = 3" "algo.name = choice ppo, ppo_ewma" \
  "ppo.com = log 8 .. 512 when algo.name = ppg"
refused "an unknown method" "$(at 1 10)" "there are random, sobol, tpe, optuna:SAMPLER and command:FILE" "method = bayes" "trials = 3" "$lr"
refused "an unknown setting" "$(at 2 1)" "ppo.learnin_rate is not a setting, nor method, trials, seeds, goal, startup, wave or timeout; did you mean ppo.learning_rate?" "trials = 3" "ppo.learnin_rate = 1 .. 2"
refused "a value that the setting cannot have" "$(at 2 14)" "ppo.epochs" "trials = 3" "ppo.epochs = 0 .. 4"
refused "a wave without tpe" "$(at 2 1)" "wave belongs to method = tpe" "trials = 3" "wave = 2" "$lr"
refused "a setting that nothing reads" "$(at 2 1)" "searches ppo.com, which nothing reads in trial 0: ppo.com is read only if algo.name is ppo_ewma" "trials = 3" "ppo.com = log 8 .. 512"
refused "a setting that some trials do not read" "$(at 3 1)" "add a condition (ppo.com = ... when SETTING = VALUE)" "trials = 8" "algo.name = choice ppo, ppo_ewma" "ppo.com = log 8 .. 512"
experiment unmeasured "[search s]" "method = tpe" "startup = 2" "wave = 2" "trials = 4" "goal = max best_other" "$lr"
tap_run "a measure that no run has, in the first wave" 75 "unmeasured: the search has trials left; sweep submit unmeasured continues it, and reports what prevents it" submit unmeasured --wait
line=$(grep -n '^goal' "$tap_dir/unmeasured.ini" | cut -d: -f1)
tap_run "and its progress" 2 "unmeasured.ini:$line:8: goal: none of the 2 runs of [search s] that have ended has a value of best_other" submit unmeasured
sed -i 's/best_other/final/' "$tap_dir/unmeasured.ini"
tap_run "another metric continues the search" 0 "4 finished" submit unmeasured --wait
tap_done

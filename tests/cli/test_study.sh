#!/usr/bin/env bash
# The study's runs, restored from docs/study/runs.csv, give the verdicts of docs/study/claims.txt, so both files belong
# to the same runs and to the statistics of this version. TAP.
set -u
. tests/cli/tap.sh
if ! command -v python3 >/dev/null; then
  tap_skip "the study's runs as a workspace" "no python3"
  tap_done
fi
study() { tests/tools/study.sh "$SWEEP_BUILD" "$tap_dir/study" "$@"; }
tap_expect "the study's runs become a workspace" 0 "new rows from [0-9]* runs" study restore
tap_expect "which takes all of them for finished" 0 "100 % +[0-9]+ finished" sweep status fig8_ddr --root "$tap_dir/study"
tap_check "and has the verdicts of the page" "$(study claims 2>&1 | diff docs/study/claims.txt -)"
tap_check "and the page's table of them, without omissions" "$(study table 2>&1 | diff <(grep -E '^\| `[a-z_]+`: ' docs/study.md) -)"
tap_check "the tables of the other studies are means of their runs" "$(python3 tests/tools/study_pages.py 2>&1)"
tap_check "and its judgment of the controller" "$(study controller 2>&1 | diff docs/study/controller.csv -)"

# ---- the other studies
. tests/cli/runs.sh
restored() { tests/tools/study.sh "$SWEEP_BUILD" "$tap_dir/$1" "${@:2}"; }
is_restored() { # STUDY PAGE RUNS
  tap_expect "the runs of $2.md become a workspace" 0 "new rows from $3 runs" restored "$1" restore "$1"
  tap_check "with the verdicts of its table" "$(restored "$1" table "docs/$2.md" | diff <(grep -E '^\| `[a-z_]+`: ' "docs/$2.md") -)"
}
is_restored ddr study-ddr 310
is_restored fixed_point study-fixed-point 120
is_restored parallel study-parallel-data 240
is_restored com_epsilon study-com-epsilon 210
is_restored plateau study-plateau 88
tap_expect "its runs are not trained again" 0 " 88 finished" sweep status fig3a_switch --root "$tap_dir/plateau"
tap_check "its settings" "$(restored plateau table_plateau | diff <(grep -E '^\| (64|256) \| .* \[' docs/study-plateau.md) -)"
tap_check "its switches" "$(python3 tests/tools/study_plateau.py switches | diff <(grep -E '^\| COM [0-9]+ to ' docs/study-plateau.md) -)"
tap_check "what predicts where they end" "$(python3 tests/tools/study_plateau.py predictors |
  diff <(grep -E '^\| (64|256) \| .* k \||^\| [A-Za-z0-9 ]+ \| 0\.[0-9]+ \|$' docs/study-plateau.md) -)"
tap_check "and the probes of study-plasticity.md" "$(python3 tests/tools/study_plateau.py plasticity |
  diff <(grep -E '^\| [0-9]+ \| ([^|]* \|){6}$' docs/study-plasticity.md) -)"

# ---- numbers in the text
tap_expect "the importance of Fig. 12's settings, as on the page" 0 "ppo.com +28 % .24, 34. +ppo.epsilon: 58 % .53, 63." \
  analyze search "$tap_dir/study/results.db" --sweep fig12_com_epsilon -o "$tap_dir/figures"
tap_expect "and with new seeds" 0 "ppo.com +29 % .26, 32. +ppo.epsilon: 53 % .49, 56." \
  analyze search "$tap_dir/com_epsilon/results.db" --sweep fig12_com_epsilon -o "$tap_dir/figures"

# ---- numbers that were worked out from the runs by other programs
finds() { # CLAIM WANTED FIELDS [OPTIONS...]
  local got
  got=$(analyze_json "$tap_dir/study/results.db" "$1" "$3" "${@:4}" 2>&1)
  tap_is "$1 ${*:4}" "$2" "$got"
}
counts="verdict estimate runs configurations mixed"
for sweep in "" fig9_scaling; do # independent of the database's other experiments
  finds scale_minibatches "supported 0.705 60 6 0" "$counts" ${sweep:+--sweep $sweep}
  finds scale_larger "undecided 0.584 100 10 0" "$counts" ${sweep:+--sweep $sweep}
  finds scale_smaller "undecided 0.5025 40 4 0" "$counts" ${sweep:+--sweep $sweep}
done
finds ddr_low "undecided 0.0796 480 48 0" "$counts"
finds epochs_clip "undecided 0.025 160 16 0" "$counts"
# The annealed and the constant rates are two comparisons: together p = 0.1379, without the annealed ones 0.7463.
finds lr_independent "undecided 0.7463 0 2" "verdict p_for more_seeds looks"
tap_done

#!/usr/bin/env bash
# Coverage of the intervals of `analyze asymptote` and `analyze best` on simulated runs (3, 5 and 10 seeds). Prints the
# numbers of docs/validation.md. Six minutes of one core; CURVE_WORLDS (200): data sets of each condition. TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
"$SWEEP_BUILD/tests/cli/cli_curve_rates" "${CURVE_WORLDS:-200}" >"$results/rates.csv" || exit 1

# Bounds in percent, and three standard errors: intervals of curves of the fitted families miss in at most 7, those of
# similar curves in 10; "two phases" is known to be biased (docs/validation.md). Of curves without an asymptote at most 5
# get one, or for random walks one that misses 0.
awk -F, '
  function judge(name, count, worlds, bound) {
    tests++
    limit = bound / 100 * worlds + 300 / 100 * sqrt(worlds * bound / 100 * (1 - bound / 100))
    good = worlds > 0 && count <= limit
    printf "# %s: %d of %d\n%s %d - %s: at most %g %%\n", name, count, worlds, good ? "ok" : "not ok", tests, name, bound
    bad += !good
  }
  NR == 1 { next }
  { sub(/"/, ""); n = split($0, part, "\""); condition = part[1]; sub(/^[a-z]*,/, "", condition)
    split(part[2], v, ","); statistic = $1; missed = v[5] + v[6]
    printf "# %s, %s, %d seeds: %d worlds, %d intervals, %d below the truth, %d above\n", statistic, condition, v[2], v[3], v[4], v[5], v[6] }
  statistic == "value" || statistic == "shift" { chosen += v[3]; chosen_missed += missed }
  statistic == "score" { scores += v[3]; scores_missed += missed }
  statistic == "found" && condition ~ /^same/ { same += v[3]; same_found += v[4] }
  statistic == "found" && condition == "shift, clear" { shifts += v[3]; shifts_missed += v[3] - v[4] }
  condition ~ /^(exponential|sigmoid|power)/ { inside += v[4]; inside_missed += missed }
  condition ~ /^exponential, 9|^sigmoid|^power/ { plain += v[3]; plain_refused += v[3] - v[4] }
  condition ~ /^(tanh|Gompertz)/ { near += v[4]; near_missed += missed }
  condition ~ /^(line|logarithm)/ { open += v[3]; open_given += v[4] }
  condition ~ /^random walk/ { walks += v[3]; walks_missed += missed }
  END {
    judge("asymptotes of fitted families miss the truth", inside_missed, inside, 7)
    judge("curves of which nine tenths are done are refused", plain_refused, plain, 5)
    judge("asymptotes of other curves miss the truth", near_missed, near, 10)
    judge("lines and logarithms get an asymptote", open_given, open, 5)
    judge("random walks get an asymptote that is not 0", walks_missed, walks, 7)
    judge("values of the best, and their shifts, miss the truth", chosen_missed, chosen, 5)
    judge("scores of the best miss the truth", scores_missed, scores, 5)
    judge("shifts are found where there are none", same_found, same, 5)
    judge("clear shifts are not found", shifts_missed, shifts, 10)
    print "1.." tests
    exit bad > 0
  }' "$results/rates.csv"

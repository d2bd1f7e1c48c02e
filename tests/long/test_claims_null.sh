#!/usr/bin/env bash
# Error rates of claims on databases without any effect: at most 5 % are supported and at most 5 % contradicted, for all
# kinds of data and for 3, 5 and 10 seeds. Also prints the power: how often an effect of one and of two standard
# deviations of a seed is found. CLAIMS_WORLDS: databases per claim (200); CLAIMS="com_low ...": only these. TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1
worlds=${CLAIMS_WORLDS:-200}
# shellcheck disable=SC2086
"$SWEEP_BUILD/tests/cli/cli_claims_null" experiments "$worlds" ${CLAIMS:-} > "${TMPDIR:-/tmp}/claims_null.$$" || { echo "1..0"; exit 1; }
# A rate of 5 % is exceeded by chance: of n worlds at most 5 % and three standard deviations may be wrong, and over all
# claims together at most 5 %.
awk -v worlds="$worlds" '
  $4 == "0" { n = $5; most = 0.05 * n + 3 * sqrt(n * 0.05 * 0.95); total[$3] += n; up[$3] += $6; down[$3] += $7; claims++
    margin = $2 == "EQUAL" || $2 == "SAME_BEST" || $2 == "GAIN_EQUAL" || $2 == "SWITCH_SAME" || $2 == "NOT_WORSE" || $2 == "BEST_EQUAL" || $2 == "ONE_CURVE"
    wrong = $6 > most || (!margin && $7 > most) || (margin && $7 > most)
    if (wrong) { bad++; printf "# %s (%s) with %d seeds: supported in %d, contradicted in %d of %d\n", $1, $2, $3, $6, $7, n } }
  { key = $2 " " $3; if ($4 == "0") { s[key] += $6; c[key] += $7; w[key] += $5 } else { p[key " " $4] += $6; q[key " " $4] += $5 } }
  END {
    print "# test, seeds: falsely supported, falsely contradicted | found: effect of 1 sd, 2 sd (or: none)"
    for (key in w) printf "# %s: %.1f %%, %.1f %% | %s %s %s\n", key, 100 * s[key] / w[key], 100 * c[key] / w[key],
      key " 1" in q ? sprintf("%.0f %%", 100 * p[key " 1"] / q[key " 1"]) : "", key " 2" in q ? sprintf("%.0f %%", 100 * p[key " 2"] / q[key " 2"]) : "",
      key " none" in q ? sprintf("%.0f %%", 100 * p[key " none"] / q[key " none"]) : ""
    print (bad ? "not ok" : "ok") " 1 - no claim is decided by noise more often than it may be (" claims " lines)"
    all = 1
    for (k in total) if (up[k] > 0.05 * total[k] || down[k] > 0.05 * total[k]) all = 0
    print (all ? "ok" : "not ok") " 2 - all together at most 5 % are supported, and at most 5 % contradicted"
    print "1..2"; exit bad || !all }' "${TMPDIR:-/tmp}/claims_null.$$"
code=$?
rm -f "${TMPDIR:-/tmp}/claims_null.$$"
exit $code

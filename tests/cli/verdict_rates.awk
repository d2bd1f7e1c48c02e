# Checks the rates of wrong verdicts of cli_verdict_rates: none is above 3.5 % of the worlds a side by more than three
# standard errors of their number, which few worlds make wide. Prints the table of docs/validation.md as comments.
BEGIN { FS = ","; most = 0 }
function group(name, tasks, truth) {
  if (truth == "x is random") return 7
  if (name ~ /near/) return 5
  if (name ~ /fifth of the|fifth of all but/) return 4
  if (name ~ /fifth of all/) return 3
  if (name ~ /tenth/) return 6
  if (tasks > 1) return 2
  return name == "alike" ? 0 : 1
}
NR == 1 { next }
NF != 9 { bad++; print "# not a line of rates: " $0; next }
{
  supported = 100 * $7 / $6; contradicted = 100 * $8 / $6; g = group($3, $5, $2); lines++
  limit = 3.5 + 300 * sqrt(0.035 * 0.965 / $6)
  if (limit > most) most = limit
  if (!($1 in row)) { row[$1] = ++rows; names[rows] = $1 }
  worst = supported > contradicted ? supported : contradicted
  if (worst > rate[$1 g]) rate[$1 g] = worst
  seen[$1 g] = 1
  if (worst > limit) {
    bad++
    printf "# %s (%s), %s, %d seeds, %d tasks: %.1f %% supported, %.1f %% contradicted\n", $1, $2, $3, $4, $5, supported, contradicted
  }
}
END {
  print "# | test | alike | spreads, numbers, correlated | 2 to 8 tasks | a fifth of all fails | a fifth of one side fails | skew near a bound | a tenth of one setting fails | x is random |"
  for (r = 1; r <= rows; r++) {
    printf "# | `%s`", names[r]
    for (g = 0; g <= 7; g++) printf " | %s", names[r] g in seen ? sprintf("%.1f", rate[names[r] g]) : "–"
    print " |"
  }
  if (lines == 0) bad++
  printf "%s 1 - no rate of wrong verdicts is above 3.5 %% a side by three standard errors: %d truths and conditions, each up to %.1f %%\n", bad ? "not ok" : "ok", lines, most
  exit bad > 0
}

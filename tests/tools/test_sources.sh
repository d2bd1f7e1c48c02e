#!/usr/bin/env bash
# Every value of the papers' experiments is marked as assumed, "(p)", or has a source in paper_values.tsv. TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1
table=tests/tools/paper_values.tsv
# Lines "file <tab> setting = value" of all values outside profiles without "(p)" on the line or its section's.
values() {
  for file in experiments/fig*.ini experiments/onpolicy/*.ini experiments/fixed_point/*.ini; do
    awk -v file="${file#experiments/}" '
      /^\[profile/ { exit }
      /\\$/ { sub(/\\$/, ""); held = held $0; next }
      { line = held $0; held = "" }
      line ~ /^\[/ { section = line; sub(/\].*/, "", section); sub(/^\[/, "", section); split(section, part, " ")
                     is_marked = line ~ /\(p\)/; next }
      line ~ /^;/ || line == "" || line ~ /;.*\(p[) ]/ || is_marked || part[1] == "slurm" || part[1] == "sweep" { next }
      { sub(/ *;.*/, "", line); gsub(/ +/, " ", line); sub(/ $/, "", line)
        print file "\t" (line ~ /^[a-z_]+\./ ? line : part[1] "." line) }' "$file"
  done
}
check() { # the table's rows, then the values: lines of either kind that lack the other
  awk -F'\t' 'FNR == NR { if (!/^#/) { file[++rows] = "^" $1 "$"; value[rows] = "^(" $2 ")$"; source[rows] = $3 } next }
    { for (i = 1; i <= rows && !($1 ~ file[i] && $2 ~ value[i]); i++); if (i > rows) print $1 ": " $2 " has neither (p) nor a source"; else used[i] = 1 }
    END { for (i = 1; i <= rows; i++) { if (!used[i]) print "row " i " matches no value"; if (source[i] == "") print "row " i " has no source" } }' \
    "$table" <(values)
}
missing=$(check)
echo 1..2
if [ -z "$missing" ]; then echo "ok 1 - each value of the papers' experiments is assumed or has a source"
else echo "not ok 1 - each value of the papers' experiments is assumed or has a source"; sed 's/^/# /' <<<"$missing" | head -20; fi
found=$(sed 's/gamma = 0\\.995/gamma = 0\\.5/' "$table" >"${TMPDIR:-/tmp}/sources.$$"; table=${TMPDIR:-/tmp}/sources.$$ check; rm "${TMPDIR:-/tmp}/sources.$$")
if grep -q "fig8_ddr.ini: ppo.gamma = 0.995 has neither" <<<"$found"; then echo "ok 2 - a value without a source is found"
else echo "not ok 2 - a value without a source is found"; fi
[ -z "$missing" ]

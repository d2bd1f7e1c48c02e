#!/usr/bin/env bash
# Counts the paragraphs of function bodies. Prints per folder, separated by tabs: functions of 15 lines of code and more,
# their lines of code, blank lines per 100 of these, functions of 25 lines and more, and how many of these have no blank
# line; at last the sums, as "all".
# Usage: tests/tools/paragraphs.sh [FOLDER...]; -l: lists functions of 25 lines without a blank line, as file:line: name.
set -u
cd "$(dirname "$0")/../.." || exit 1
list=0
[ "${1:-}" = -l ] && { list=1; shift; }
folders=(core sim slurm store trainer analysis sweep)
[ $# -gt 0 ] && folders=("$@")
find "${folders[@]}" \( -name '*.c' -o -name '*.h' \) | LC_ALL=C sort | xargs awk -v list=$list '
  # Comments of their own lines do not count, and blank lines separate paragraphs only inside a body.
  FNR == 1 { inside = 0 }
  !inside && /^[A-Za-z].*\) \{$/ || (!inside && /^ .*\) \{$/ && header) {
    inside = 1; code = blank = 0; comment = 0; from = FNR; name = header ? header : $0; next
  }
  !inside { header = /^[A-Za-z][^;]*\([^;]*,$/ ? $0 : ($0 ~ /^ / && header ? header : ""); next }
  /^\}/ {
    inside = 0; header = ""
    folder = FILENAME; sub(/\/[^\/]*$/, "", folder)
    if (code >= 15) { functions[folder]++; lines[folder] += code; blanks[folder] += blank }
    if (code >= 25) { long[folder]++; if (!blank) { solid[folder]++; if (list) print FILENAME ":" from ": " name } }
    next
  }
  /^[ \t]*$/ { blank++; next }
  comment { if (/\*\//) comment = 0; next }
  /^[ \t]*\/\// { next }
  /^[ \t]*\/\*.*\*\/[ \t]*$/ { next }
  /^[ \t]*\/\*/ && !/\*\// { comment = 1; next }
  { code++ }
  END {
    if (list) exit
    for (f in functions) {
      printf "%s\t%d\t%d\t%.1f\t%d\t%d\n", f, functions[f], lines[f], 100 * blanks[f] / lines[f], long[f], solid[f]
      n += functions[f]; l += lines[f]; b += blanks[f]; g += long[f]; s += solid[f]
    }
    printf "~all\t%d\t%d\t%.1f\t%d\t%d\n", n, l, l ? 100 * b / l : 0, g, s
  }' | LC_ALL=C sort | sed 's/^~//'

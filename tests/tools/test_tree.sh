#!/usr/bin/env bash
# Rules of the source tree: includes between folders, headers that compile alone, file sizes, generated pages that agree
# with their tables. TAP.
set -u
cd "$(dirname "$0")/../.."
if [ -e commit.txt ]; then echo "ok 1 - the tree # SKIP a tarball, which git knows nothing of"; echo "1..1"; exit 0; fi
n=0 bad=0
result() { # name, problems (empty = good)
  n=$((n + 1))
  if [ -z "$2" ]; then echo "ok $n - $1"; else bad=1; echo "not ok $n - $1"; sed 's/^/#   /' <<<"$2"; fi
}
listed=" .ci .clang-format .clang-tidy .editorconfig .github .gitignore CHANGELOG.md CITATION.cff CONTRIBUTING.md LICENSE Makefile README.md SECURITY.md analysis core docs experiments install.mk packaging python sim slurm store sweep tests trainer "
problems=
for top in $(git ls-files | cut -d/ -f1 | sort -u); do
  [[ $listed == *" $top "* ]] || problems+="$top is none of the design's folders"$'\n'
done
result "the tree has the design's folders, and no others" "$problems"

# The folders, lowest first, as the table of docs/architecture.md has them: a folder includes what stands above it in its own
# line, the folder itself, and the folders below it in its part. `X/main` is main.c alone, which may include all of X.
parts="core
core sim
core store
core sim store trainer
core slurm
core store slurm sweep
core store analysis"
# Single folders of another part that a folder may include.
borrowed="sweep/serve analysis/statistics
sweep/serve analysis/runs
sweep/serve analysis/plot
sweep/plan analysis/claims
analysis/import sweep/program"
floors="core core/config core/search core/device core/command
sim sim/physics sim/levels sim/task sim/simd sim/batch sim/device sim/draw sim/library
store store/code store/workspace store/runlog store/database store/care
trainer/math trainer/ops trainer/ops/cpu trainer/ops/kernels trainer/ops/device trainer/ranks trainer/checkpoint trainer/envs
trainer/envs/hands trainer/envs/mujoco trainer/envs/library trainer/envs/procgen trainer/envs/bridge trainer/envs/tasks trainer/picture trainer/wrappers trainer/nets trainer/rollout trainer/update trainer/measure trainer/learners trainer/evaluate trainer/run
trainer/tools trainer/export trainer/main
slurm
sweep sweep/spec sweep/supervise sweep/program sweep/stop sweep/local sweep/search sweep/cluster sweep/plan sweep/status sweep/bundle sweep/doctor sweep/control sweep/serve sweep/main
analysis analysis/statistics analysis/runs analysis/plot analysis/figures analysis/claims analysis/report analysis/import analysis/commands
analysis/main"
sources=$(git ls-files -co --exclude-standard core sim store trainer slurm sweep analysis | grep -E '\.(c|h|cu|inc|def)$')
# Every include of ours as "file:line folder-of-file folder-of-target".
includes=$(grep -nE '^ *# *include "[a-z_0-9]+/' $sources | awk -F: '{
  match($3, /"[^"]+"/); target = substr($3, RSTART + 1, RLENGTH - 2); file = $1
  if (file ~ /\/main\.c$/) sub(/\.c$/, "/", file)
  sub(/\/[^\/]*$/, "", file); sub(/\/[^\/]*$/, "", target); print $1 ":" $2, file, target }')
result "folders include only what the design allows" "$(awk -v parts="$parts" -v borrowed="$borrowed" '
  BEGIN { n = split(parts, line, "\n"); for (i = 1; i <= n; i++) { k = split(line[i], f, " "); for (j = 1; j <= k; j++) may[f[k], f[j]] = 1 }
    n = split(borrowed, f, /[ \n]/); for (i = 1; i < n; i += 2) may[f[i], f[i + 1]] = 1 }
  ($2, $3) in may { next }
  { split($2, a, "/"); split($3, b, "/"); if (!((a[1], b[1]) in may)) print $1 " includes " b[1] "/, which " a[1] "/ may not" }' <<<"$includes")"
result "inside a folder, includes go down the floors only" "$(awk -v floors="$floors" '
  BEGIN { n = split(floors, f, /[ \n]+/); for (i = 1; i <= n; i++) floor[f[i]] = i }
  { split($2, a, "/"); split($3, b, "/") }
  !($2 in floor) { print $1 ": the table of folders has no " $2; next }
  a[1] == b[1] && floor[$3] > floor[$2] { print $1 " includes " $3 "/, which stands above " $2 "/" }' <<<"$includes")"
# The same of calls, which a declaration in a lower folder's header could hide: what an object leaves undefined is not defined above.
symbols=$(for source in $(grep -E '\.(c|cu)$' <<<"$sources"); do
  ls "$SWEEP_BUILD"/{obj,pic}/"${source%.*}.o" 2>/dev/null | head -n 1
done | xargs nm -AP | sed -E "s#^$SWEEP_BUILD/(obj|pic)/([^:]*):#\2#")
result "inside a folder, calls go down the floors only" "$(awk -v floors="$floors" '
  BEGIN { n = split(floors, f, /[ \n]+/); for (i = 1; i <= n; i++) floor[f[i]] = i }
  { folder = $1; if (folder ~ /\/main\.o$/) sub(/\.o$/, "/", folder); sub(/\/[^\/]*$/, "", folder); split(folder, a, "/") }
  NR == FNR { if ($3 ~ /^[A-TV-Z]$/) home[$2] = folder; next }
  $3 != "U" || !($2 in home) { next }
  { split(home[$2], b, "/"); if (a[1] == b[1] && floor[home[$2]] > floor[folder]) print $1 " uses " $2 " of " home[$2] "/" }
  ' <(echo "$symbols") <(echo "$symbols"))"
problems=
for folder in $floors; do
  count=$(ls "$folder" 2>/dev/null | grep -E '\.(c|h|cu|inc|def)$' | sed -E 's/(_internal)?\.[a-z]+$//' | sort -u | wc -l)
  [ "$count" -le 25 ] || problems+="$folder has $count modules"$'\n'
  case $folder in */main) ;; *) grep -q "^| \`$folder/\`" docs/architecture.md || problems+="docs/architecture.md has no row for $folder/"$'\n' ;; esac
done
result "each folder has a row in docs/architecture.md, and at most 25 modules" "$problems"

result "sqlite3.h is included in store/ only" "$(grep -rlE 'include <sqlite3(ext)?.h>' --include='*.[ch]' . | grep -vE '^\./(store|tests|build[^/]*)/')"
result "jansson.h is included in core/json.h only, which makes its packing safe" \
  "$(grep -rl 'include <jansson.h>' --include='*.[ch]' . | grep -vE '^\./(core/json\.h$|tests/|build[^/]*/)')"
result "mpi.h, nccl.h and BLAS headers are included in trainer/ only" \
  "$(grep -rlE 'include <(mpi|nccl|cblas|oneapi/dnnl/dnnl|dnnl)\.h>' --include='*.[chu]' . | grep -vE '^\./(trainer|tests|build[^/]*)/')"
result "mpi.h is included in trainer/ranks/mpi_library.h only" \
  "$(grep -rl 'include <mpi.h>' --include='*.[chu]' . | grep -vE '^\./(trainer/ranks/mpi_library\.h$|build[^/]*/)')"
result "mujoco.h is included in trainer/envs/mujoco/ only" \
  "$(grep -rl 'include <mujoco/' --include='*.[chu]' . | grep -vE '^\./(trainer/envs/mujoco/|build[^/]*/)')"
result "microhttpd.h is included in sweep/serve/server.c only" \
  "$(grep -rl 'include <microhttpd.h>' --include='*.[chu]' . | grep -vE '^\./(sweep/serve/server\.c$|build[^/]*/)')"
result "handlers of signals are installed in the known places only (core/signals.h says why)" \
  "$(grep -rnE '\b(sigaction|signal)\(' --include='*.[chu]' core sim store trainer slurm sweep analysis | sort |
     grep -vE '^(core/(signals|exit_guard|command/options)\.c|trainer/(ranks/rank_monitor|envs/bridge/bridge_process)\.c|core/process\.c|sweep/(status/collect|control/wait|supervise/process)\.c|sweep/program/run\.h):')"
result "_internal.h headers stay in their folder" \
  "$(grep -rnE 'include "[a-z_/]+_internal\.h"' --include='*.[ch]' core sim store trainer slurm sweep analysis |
     awk -F: '{ split($1, f, "/"); if (match($3, /"[a-z_]+\//)) { t = substr($3, RSTART + 1, RLENGTH - 2); if (t != f[1]) print } }')"

problems=
for header in $(git ls-files -co --exclude-standard '*.h' | grep -v '^tests/'); do
  echo "#include \"$header\"" | ${CC:-gcc} -std=c17 -D_GNU_SOURCE -I. -Wall -Werror -x c -fsyntax-only - 2>/dev/null || problems+="$header"$'\n'
done
result "each header compiles alone" "$problems"

# Copies the lines of code of the named files to standard output as FILE:LINE:TEXT, without blank lines and comments.
code_lines() {
  xargs awk '
    FNR == 1 { inside = 0 }
    { text = $0; sub(/^[ \t]+/, "", text) }
    inside { if (text ~ /\*\//) inside = 0; next }
    text == "" || text ~ /^\/\// { next }
    text ~ /^\/\*/ { if (text !~ /\*\//) { inside = 1; next } if (text ~ /\*\/[ \t]*$/) next }
    { print FILENAME ":" FNR ":" $0 }'
}
result "no source file has more than 500 lines of code" \
  "$(grep -v '^sim/levels/morphology_attempts\.h$' <<<"$sources" | code_lines | cut -d: -f1 | uniq -c | awk '$1 > 500 { print $2 ": " $1 }')"
# A function begins at a line in column 0 that itself or a line after it ends in ") {", and ends at "}" in column 0.
result "no function has more than 60 lines of code" "$(grep -v '\.def$' <<<"$sources" | code_lines | awk '
  { match($0, /^[^:]*:[0-9]*:/); place = substr($0, 1, RLENGTH - 1); text = substr($0, RLENGTH + 1); file = place; sub(/:.*/, "", file) }
  file != last { head = start = 0; last = file }
  text ~ /^[A-Za-z_]/ { head = text ~ /;$/ ? 0 : NR; name = text; at = place }
  head && !start && text ~ /\) *\{$/ { start = head; from = at; what = name }
  text ~ /^}/ { if (start && NR - start >= 60) print from ": " NR - start + 1 " lines: " what; head = start = 0 }')"
result "function bodies have paragraphs (tests/tools/paragraphs.sh)" "$(for folder in core sim slurm store trainer analysis sweep; do
    tests/tools/paragraphs.sh $folder | awk -v f=$folder -F '\t' '$1 == "all" && ($4 < 6 || $6 > 0.1 * $5) {
      print f ": " $4 " blank lines per 100, " $6 " of " $5 " functions of 25 lines have none" }'
  done)"
result "no line of C is longer than 120 characters" \
  "$(git ls-files -co --exclude-standard '*.c' '*.h' '*.cu' '*.inc' | LC_ALL=C.UTF-8 xargs grep -nE '^.{121,}')"
result "docs/config.md is what core/config/config.def says (make docs)" "$(diff <("$SWEEP_BUILD/bin/trainer" config --markdown) docs/config.md 2>&1 | head -5)"
result "docs/papers.md is what papers.def, claims.def and the experiments say (make docs)" \
  "$(diff <("$SWEEP_BUILD/tests/tools/papers_page" 2>&1) docs/papers.md 2>&1 | head -5)"
# A source cites a page by its file name, with #HEADING for a section, and never a section of something without a name.
pages=$(awk '
  FNR == 1 { print FILENAME }
  /^#+ / { text = tolower($0); sub(/^#+ +/, "", text); gsub(/[^a-z0-9 _-]/, "", text); gsub(/ /, "-", text); print FILENAME "#" text }
  ' $(git ls-files -co --exclude-standard 'docs/*.md' ':(glob)*.md'))
cited='[A-Za-z0-9_./-]+\.md(#[A-Za-z0-9_-]+)?|[Ss]pec(ification)? [0-9][0-9.]*'
citations=$({
  git grep --untracked -nI "" -- '*.c' '*.h' '*.cu' '*.inc' '*.def' '*.py' '*.ini' '*.js' '*.sql'
  git grep --untracked -nI '#' -- '*.sh' '*.mk' Makefile | sed -nE 's/^([^:]*:[0-9]*:)(.*[[:space:]])?#[[:space:]](.*)$/\1\3/p'
} | grep -E "$cited" | awk -v cited="$cited" '{
  match($0, /^[^:]*:[0-9]*:/); place = substr($0, 1, RLENGTH); text = substr($0, RLENGTH + 1)
  while (match(text, cited)) { print place " " substr(text, RSTART, RLENGTH); text = substr(text, RSTART + RLENGTH) } }')
result "each page and section that a source cites exists" "$(awk '
  NR == FNR { exists[$0] = 1; base = $0; sub(/^docs\//, "", base); exists[base] = 1; next }
  { page = $2; if (!sub(/^.*docs\//, "docs/", page)) sub(/^.*\//, "", page) }
  /[Ss]pec(ification)? [0-9]/ || !(page in exists) { print }' <(echo "$pages") <(echo "$citations"))"
result "no marker words, nameless comments or questions (tests/tools/language_counts.sh)" \
  "$(tests/tools/language_counts.sh)"
echo "1..$n"
exit $bad

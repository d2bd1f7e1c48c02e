#!/usr/bin/env bash
# The tree keeps its own rules: who may include whom, headers that compile alone, file sizes, a true docs/config.md. TAP.
set -u
cd "$(dirname "$0")/../.."
n=0 bad=0
result() { # name, problems (empty = good)
  n=$((n + 1))
  if [ -z "$2" ]; then echo "ok $n - $1"; else bad=1; echo "not ok $n - $1"; sed 's/^/#   /' <<<"$2"; fi
}
listed=" .ci .gitignore CHANGELOG.md LICENSE Makefile README.md analysis core docs experiments sim slurm store sweep tests trainer "
problems=
for top in $(git ls-files | cut -d/ -f1 | sort -u); do
  [[ $listed == *" $top "* ]] || problems+="$top is none of the design's folders"$'\n'
done
result "the tree has the design's folders, and no others" "$problems"

declare -A may=([core]="core" [sim]="core sim" [store]="core store" [trainer]="core sim store trainer" [slurm]="core slurm"
                [sweep]="core store slurm sweep" [analysis]="core store analysis")
problems=
for folder in "${!may[@]}"; do
  [ -d "$folder" ] || continue
  while IFS=: read -r file line text; do
    target=$(sed -E 's/.*"([a-z_]+)\/.*/\1/' <<<"$text")
    case " ${may[$folder]} " in *" $target "*) ;; *) problems+="$file:$line includes $target/, which $folder/ may not"$'\n' ;; esac
  done < <(grep -rnE '^ *# *include "[a-z_]+/' --include='*.[ch]' --include='*.cu' --include='*.inc' --include='*.def' "$folder" | cut -d: -f1-3)
done
result "folders include only what the design allows" "$problems"

result "sqlite3.h is included in store/ only" "$(grep -rlE 'include <sqlite3(ext)?.h>' --include='*.[ch]' . | grep -vE '^\./(store|tests|build)/')"
result "mpi.h, nccl.h and BLAS headers are included in trainer/ only" \
  "$(grep -rlE 'include <(mpi|nccl|cblas|oneapi/dnnl/dnnl|dnnl)\.h>' --include='*.[chu]' . | grep -vE '^\./(trainer|tests|build)/')"
result "mpi.h is included in trainer/ranks.c only" "$(grep -rl 'include <mpi.h>' --include='*.[chu]' . | grep -vE '^\./(trainer/ranks\.c$|build/)')"
result "handlers of signals are installed in the known places only (core/signals.h says why)" \
  "$(grep -rnE '\b(sigaction|signal)\(' --include='*.[chu]' core sim store trainer slurm sweep analysis | sort |
     grep -vE '^(core/signals\.c|trainer/lifeline\.c|slurm/process\.c|sweep/(collect|submit)\.c):')"
result "_internal.h headers stay in their folder" \
  "$(grep -rnE 'include "[a-z_/]+_internal\.h"' --include='*.[ch]' core sim store trainer slurm sweep analysis |
     awk -F: '{ split($1, f, "/"); if (match($3, /"[a-z_]+\//)) { t = substr($3, RSTART + 1, RLENGTH - 2); if (t != f[1]) print } }')"

problems=
for header in $(git ls-files -co --exclude-standard '*.h' | grep -v '^tests/'); do
  echo "#include \"$header\"" | ${CC:-gcc} -std=c17 -D_GNU_SOURCE -I. -Wall -Werror -x c -fsyntax-only - 2>/dev/null || problems+="$header"$'\n'
done
result "each header compiles alone" "$problems"

result "no source file is longer than 600 lines" \
  "$(git ls-files -co --exclude-standard 'core/*' 'sim/*' 'store/*' 'trainer/*' 'slurm/*' 'sweep/*' 'analysis/*' | grep -E '\.(c|h|cu|inc|def)$' | grep -v '_attempts.h$' | xargs wc -l | awk '$1 > 600 && $2 != "total" { print $2 ": " $1 }')"
result "no line of C is longer than 120 characters" \
  "$(git ls-files -co --exclude-standard '*.c' '*.h' '*.cu' '*.inc' | LC_ALL=C.UTF-8 xargs grep -nE '^.{121,}')"
result "docs/config.md is what core/config.def says (make docs)" "$(diff <("$SWEEP_BUILD/bin/trainer" config --markdown) docs/config.md 2>&1 | head -5)"
echo "1..$n"
exit $bad

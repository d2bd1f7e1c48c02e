#!/usr/bin/env bash
# Counts, per folder, wordings that the tree does not use, as "folder<TAB>markers<TAB>nameless<TAB>questions":
#   markers    lines with words that no other project uses in this sense, in code, tables and pages
#   nameless   comments that begin with "Of", "What", "How", ... in place of a noun or a verb
#   questions  comments that begin with a question
# Prints nothing where there are none, as test_tree.sh demands.
set -u
cd "$(dirname "$0")/../.."
markers='anew|beside|besides|can not|so many|so manieth|for ever|in vain|passed over|told of|at hand|whoever|by whom'
markers+='|none the less|in its stead|for want of|in the place of|in its place|at times of|but for|all the same'
markers+='|somebody|nobody|anybody|only talk|carry out|carries out|carried out|comes to naught|says nothing|so far as'
nameless='/\* (of|Of|what|What|how|How|who|Who|which|Which|where|Where|the same|The same|as many|As|by which|those|Those) '
questions='/\* (is|are|has|have|does|do|may|can|did|was|would|will|shall)\b[^.;]*\?'
files=('*.c' '*.h' '*.cu' '*.def' '*.inc' '*.md' ':!tests/tools/language_*' ':!tests/fuzz/corpus')
lines() { # label, then git grep's options and pattern: one line "folder label" each
  local what=$1
  shift
  git grep -I --untracked -oE "$@" -- "${files[@]}" |
    cut -d: -f1 | sed -E 's#/[^/]*$##; t; s#.*#.#' | awk -v what="$what" '{ print $0 "\t" what }'
}
{ lines 1 -wi -e "$markers"; lines 2 -e "$nameless"; lines 3 -i -e "$questions"; } |
  awk -F '\t' '{ count[$1, $2]++; folder[$1] = 1 }
    END { for (f in folder) printf "%s\t%d\t%d\t%d\n", f, count[f, 1], count[f, 2], count[f, 3] }' | LC_ALL=C sort

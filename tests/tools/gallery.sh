#!/usr/bin/env bash
# Images of docs/gallery.md that are not from the study (study.sh), from a workspace in which the demo profiles have
# run: onpolicy/fig1b_more_data before the others of onpolicy/, which share its runs but keep no visited states.
# Usage: tests/tools/gallery.sh BUILD ROOT
set -eu
cd "$(dirname "$0")/../.."
build=$(cd "$1/bin" && pwd) target=$PWD/docs/gallery
cd "$2" # so that no path of this machine gets into the files
mkdir -p "$target"
draw() { # image, then the arguments of analyze
  local picture=$1; shift
  if ! "$build/analyze" "$@" -o gallery >gallery.txt 2>&1; then echo "$picture: $(tail -1 gallery.txt)"; return; fi
  cp "gallery/$1.svg" "$target/$picture.svg"
}
for figure in fig1b fig3b fig10 fig11 onpolicy-fig2 onpolicy-fig3 onpolicy-fig6 onpolicy-fig9 fixed-point-fig2; do
  draw $figure $figure results.db
done
draw bars bars results.db --sweep onpolicy_fig6_pqn
draw profiles bars results.db --profile --sweep fig8_ddr --group algo.name --name bars
draw dark curves results.db --sweep fig8_ddr --y kl --style dark --name curves
rm -rf gallery gallery.txt
du -sh "$target"

#!/usr/bin/env bash
# Main workflow on this machine: plan, run and draw the demo profile of fig8_ddr. Usage: tests/tools/demo.sh BUILD
# [ROOT]
set -eu
cd "$(dirname "$0")/../.."
build=$(cd "${1:-build}" && pwd) root=${2:-demo}
export PATH="$build/bin:$PATH"
step() { printf '\n$ %s\n' "$*"; "$@"; }
mkdir -p "$root"
start=$SECONDS
step sweep plan experiments/fig8_ddr.ini --profile demo --root "$root"
step sweep submit experiments/fig8_ddr.ini --profile demo --root "$root" --local --wait
step sweep status --root "$root"
step analyze ddr-vs-solve "$root/results.db"
step analyze curves "$root/results.db"
printf '\nThe demo took %d s. The figure: %s\n' $((SECONDS - start)) "$(cd "$root" && pwd)/figures/ddr-vs-solve.png"

#!/usr/bin/env bash
# Parity with the reference simulator: golden_sim on all golden data, one TAP line per case. golden_sim must also detect
# a changed value, a damaged file and wrong usage.
set -u
cd "$(dirname "$0")/../.."
golden=$SWEEP_BUILD/tests/golden_sim data=../shared/data/golden
n=0 bad=0
result() { # name, 0 or 1
  n=$((n + 1))
  if [ "$2" -eq 0 ]; then echo "ok $n - $1"; else bad=1; echo "not ok $n - $1"; fi
}
expect() { # name, exit code, command...
  local name=$1 want=$2 got; shift 2
  "$@" >/dev/null 2>&1; got=$?
  result "$name" $((got != want))
}
work=$(mktemp -d "${TMPDIR:-/tmp}/golden_sim.XXXXXX")
trap 'rm -rf "$work"' EXIT
expect "no folder named is wrong use" 2 "$golden"
expect "a folder that is not there is wrong use" 2 "$golden" "$work/absent"
expect "a folder without golden files is wrong use" 2 "$golden" "$work"
printf '# level ../../etc/passwd size s\nS\t0\t4\t1\t0\t0\t0\t0\t0\t0\n' >"$work/traj_hostile.tsv"
expect "a level name that leaves the folder fails" 1 "$golden" "$work"
rm "$work/traj_hostile.tsv"
if [ ! -d "$data" ]; then
  n=$((n + 1)); echo "ok $n - golden data # SKIP $data is not there"
  echo "1..$n"; exit $bad
fi
while IFS= read -r line; do
  case $line in
    "ok "*) n=$((n + 1)); read -r _ rest <<<"$line"; echo "ok $n - $rest" ;;
    "not ok "*) n=$((n + 1)); bad=1; read -r _ _ rest <<<"$line"; echo "not ok $n - $rest" ;;
    *) echo "# $line" ;;
  esac
done < <("$golden" "$data" 2>&1)

mkdir -p "$work/gen/s"
cp "$data/gen/s/g00.json" "$work/gen/s/"
whole=$data/traj_gen_s_g00.tsv copy=$work/traj_gen_s_g00.tsv
cp "$whole" "$copy"
expect "a set without sensitivity tables is compared with the default tolerance" 0 "$golden" "$work"
awk -F'\t' -v OFS='\t' '$1 == "S" && $2 == 20 && $4 == 1 { $6 += 0.001 } 1' "$whole" >"$copy"
expect "a position 1 mm off is noticed" 1 "$golden" "$work"
awk -F'\t' -v OFS='\t' '$1 == "M" && $3 == "rr" && !gone { gone = 1; next } 1' "$whole" >"$copy"
expect "a manifold that the reference lacks is noticed" 1 "$golden" "$work"
head -c 3000 "$whole" | sed '$s/$/x/' >"$copy"
expect "a file cut in the middle of a number is noticed" 1 "$golden" "$work"
rm "$copy"
head -3 "$data/unit_cc.tsv" | awk -F'\t' -v OFS='\t' 'NR == 3 { $3 += 0.01 } 1' >"$work/unit_cc.tsv"
expect "a unit case from another start is noticed" 1 "$golden" "$work"
echo "1..$n"
exit $bad

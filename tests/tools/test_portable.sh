#!/usr/bin/env bash
# The packages of `make wheel` and `make portable`, where they have been built (SWEEP_PORTABLE, else build-portable; made by
# tests/long/test_portable.sh): portable_check.py finds no fault, the wheel installs and works without anything else,
# and its trainer computes the bits of this build. The checks themselves are tested with packages that have faults. TAP.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
out=${SWEEP_PORTABLE:-$PWD/build-portable}
wheel=$(ls "$out"/ppo_sweep-*.whl 2>/dev/null) tarball=$(ls "$out"/ppo-sweep-*.tar.gz 2>/dev/null)
check() { python3 tests/tools/portable_check.py "$@"; }
if ! command -v python3 readelf >/dev/null; then tap_skip "portable packages" "no python3 or readelf"; tap_done; fi

# ---- the check finds what an ordinary build lacks elsewhere
mkdir -p "$tap_dir/tree/bin"
cp "$SWEEP_BUILD"/bin/sweep "$tap_dir/tree/bin/"
for fault in "bin/sweep: needs libjansson.so.4, which is not inside" "no trainer"; do
  tap_run "an ordinary build: $fault" 1 "$fault" check "$tap_dir/tree"
done
if [ -z "$wheel" ]; then tap_skip "the wheel" "none in ${out##*/}; make wheel"; tap_done; fi

# ---- what is inside
tap_run "the wheel" 0 "" check "$wheel" "$out"
if [ -n "$tarball" ]; then tap_run "the tarball" 0 "" check "$tarball" "$out"
else tap_skip "the tarball" "none in ${out##*/}; make portable"; fi
python3 - "$wheel" "$tap_dir" <<'PYTHON'
import sys, zipfile
source, folder = zipfile.ZipFile(sys.argv[1]), sys.argv[2]
def spoil(name, change):
    with zipfile.ZipFile(f"{folder}/{name}.whl", "w") as target:
        for entry in source.namelist():
            data = change(entry, source.read(entry))
            if data is not None:
                target.writestr(entry, data)
spoil("byte", lambda name, data: data[:-1] + b"#" if name.endswith("/fig8_ddr.ini") else data)
spoil("license", lambda name, data: None if name.endswith("licenses/libraries/zlib") else data)
spoil("library", lambda name, data: None if name.endswith("/libdnnl.so.2") else data)
spoil("path", lambda name, data: data.replace(b"$ORIGIN/../lib/sweep", b"/ORIGIN/../lib/sweep"))
spoil("version", lambda name, data: data.replace(b"GLIBC_2.14\0", b"GLIBC_2.41\0"))
PYTHON
while IFS='|' read -r name fault; do tap_expect "a wheel with a fault: $name" 1 "$fault" check "$tap_dir/$name.whl"; done <<'END_OF_FAULTS'
byte|fig8_ddr.ini: RECORD has another hash
license|licenses/libraries/zlib: a license that is not listed, or not there
library|bin/trainer: needs libdnnl.so.2, which is not inside
path|bin/trainer: search path /ORIGIN
version|needs GLIBC_2.41
END_OF_FAULTS

# ---- installed
if ! python3 -m venv "$tap_dir/venv" >"$tap_dir/log" 2>&1; then tap_skip "installation" "no venv"; tap_done; fi
venv=$tap_dir/venv
tap_run "pip installs it without a network" 0 "" "$venv/bin/pip" install --quiet --no-index --no-deps "$wheel"
alone() { env -i HOME="$tap_dir" PATH="$venv/bin" SWEEP_ROOT="$tap_dir/work" SWEEP_SITE="${SWEEP_SITE:-none}" "$@"; }
mkdir -p "$tap_dir/work"
for program in sweep trainer analyze; do tap_run "$program starts" 0 "$program $(sed -n 's/^VERSION := //p' Makefile) (commit " alone $program --version; done
tap_expect "the trainer has its libraries" 0 "with oneDNN, libgd, OpenMPI" alone trainer --version
tap_run "a site of the package" 0 "#SBATCH --gpus-per-node=1" env SWEEP_SITE=gpus bash -c "$(declare -f alone); venv=$venv tap_dir=$tap_dir
  printf '[sweep]\nname = one\n[train]\ntotal_steps = 1M\n[slurm]\ngpus_per_run = 1\ntime = 01:00:00\n' >$tap_dir/one.ini
  alone sweep plan $tap_dir/one.ini --script 0"
tap_check "manual pages" "$(for program in sweep trainer analyze; do ls "$venv/share/man/man1/$program.1" 2>&1 >/dev/null; done)"
tap_run "sweepdb is there" 0 "sweepdb" "$venv/bin/python" -c "import importlib.util as u; print(u.find_spec('sweepdb'))"
tap_run "the live page's library" 0 "OK" bash -c "$(declare -f alone); venv=$venv tap_dir=$tap_dir
  alone sweep serve --help >/dev/null && [ -s $venv/lib/sweep/libmicrohttpd.so.12 ] && echo OK"

# ---- trained and drawn, with the bits of this build
cat >"$tap_dir/tiny.ini" <<'EXPERIMENT'
[sweep]
name = tiny
seeds = 2
[env]
morphologies = car
num = 16
[ppo]
num_steps = 32
[net]
width = 32
depth = 2
[train]
total_steps = 4k
threads = 1
EXPERIMENT
tap_run "a sweep" 0 "2 finished" alone sweep submit "$tap_dir/tiny.ini" --local --wait
tap_run "its figure, without the machine's gnuplot" 0 "curves.svg .png" alone analyze curves "$tap_dir/work/results.db"
tap_check "SVG and PNG" "$(for kind in svg png; do [ -s "$tap_dir/work/figures/curves.$kind" ] || echo "no curves.$kind"; done)"
for run in "$tap_dir"/work/runs/*/*/; do
  trainer --config "$run/config.ini" --root "$tap_dir/reference" --quiet >"$tap_dir/log" 2>&1
done
contents() { # WORKSPACE: the last checkpoint's sections, each with its checksum
  for run in "$1"/runs/*/*/; do
    trainer checkpoint "$(ls "$run"/ckpt/iteration-*.ckpt | tail -1)" | grep -vE '^file|section +clock'
  done
}
tap_check "the bits of this build's trainer" "$(diff <(contents "$tap_dir/work") <(contents "$tap_dir/reference") && [ -n "$(contents "$tap_dir/work")" ] || echo "they differ")"
tap_done

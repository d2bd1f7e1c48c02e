#!/usr/bin/env bash
# tests/gpu/all.sh with stand-ins for nvidia-smi and for the programs, because it must work at its first use on a GPU
# machine: order, failures, and a report that survives termination of the script. TAP.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
mkdir "$tap_dir/bin" "$tap_dir/built" "$tap_dir/cuda"
program() { # NAME, its text on standard input
  { echo '#!/bin/bash'; cat; } >"$tap_dir/$1"
  chmod +x "$tap_dir/$1"
}
program bin/nvidia-smi <<<'echo "GPU 0: stand-in (UUID: GPU-0)"'
program built/trainer <<'END'
root=$2
[ "$1" = --root ] || { echo "trainer info"; exit 0; }
[ -d "$root" ] || { echo "cannot open the workspace '$root'"; exit 2; }
mkdir -p "$root/runs/00/0"
printf '#runlog\niteration\tsteps_per_second[transitions/s]\tkl[nat]\n1\t1.5e6\t0.25\n' >"$root/runs/00/0/stats.1.tsv"
END
for name in $(cat tests/gpu/programs.txt) bench_device; do
  program "built/$name" <<<"echo 'ran $name'"
done
stand_ins=(env -u GPU_PARTS -u GPU_SECONDS PATH="$tap_dir/bin:$PATH" CUDA_HOME="$tap_dir/cuda" GPU_BUILT="$tap_dir/built.tar.gz")
pack() { tar -czf "$tap_dir/built.tar.gz" -C "$tap_dir" built; }
all() { pack && "${stand_ins[@]}" "$@"; }

program bin/nvidia-smi <<<'exit 1'
tap_run "without a GPU nothing is run" 77 "shows no GPU" all tests/gpu/all.sh "$tap_dir/report"
program bin/nvidia-smi <<<'echo "GPU 0: stand-in (UUID: GPU-0)"'

program bin/nvidia-smi <<<'exit 1'
program built/info <<<'echo "CUDA       NVIDIA H200, compute capability 9.0, 139.8 GiB"'
mkdir -p "$tap_dir/container/tests/gpu"
cp -r "$tap_dir/built" "$tap_dir/container/"; cp tests/gpu/all.sh tests/gpu/programs.txt "$tap_dir/container/tests/gpu/"
cp "$tap_dir/built/info" "$tap_dir/container/built/trainer"
contained() { env -u GPU_SECONDS -u GPU_BUILT PATH="$tap_dir/bin:$PATH" CUDA_HOME="$tap_dir/cuda" "$tap_dir/container/tests/gpu/all.sh" "$@"; }
tap_run "without nvidia-smi the trainer says whether there is a GPU" 0 "physics: the CPU's hash" \
  env GPU_PARTS=hash bash -c "$(declare -f contained); tap_dir=$tap_dir; contained correctness $tap_dir/report"
program built/info <<<'echo "CUDA       built in, but no GPU is available: the driver supports CUDA 12.4, but this needs 580"'
cp "$tap_dir/built/info" "$tap_dir/container/built/trainer"
program bin/nvidia-smi <<<'echo "GPU 0: stand-in (UUID: GPU-0)"'
tap_run "an old driver ends it at once" 77 "the driver supports CUDA 12.4" contained "$tap_dir/report"
program built/info <<<'echo "CUDA       built in, but GPU 0 has no kernels of this build"'
cp "$tap_dir/built/info" "$tap_dir/container/built/trainer"
tap_run "so does a GPU that the build has no code for" 77 "GPU 0 has no kernels of this build; nothing was run" contained "$tap_dir/report"
program built/info <<<'echo "libc.so.6: version GLIBC_2.38 not found" >&2; exit 1'
cp "$tap_dir/built/info" "$tap_dir/container/built/trainer"
tap_run "and a program that does not start" 1 "does not start: libc.so.6: version GLIBC_2.38 not found" contained "$tap_dir/report"
mkdir -p "$tap_dir/bare/tests/gpu"; cp tests/gpu/all.sh tests/gpu/programs.txt "$tap_dir/bare/tests/gpu/"
tap_run "a machine with nothing to build with needs the archive" 1 "bring the archive of tests/gpu/pack.sh" \
  env -u GPU_BUILT PATH="$tap_dir/bin:/usr/bin:/bin" CUDA_HOME="$tap_dir/cuda" "$tap_dir/bare/tests/gpu/all.sh" "$tap_dir/report"
rm "$tap_dir/built/info"

# Tools that may attach, so that every part runs.
program bin/ncu <<<'echo "gpu__time_duration.sum us 3"'
program bin/compute-sanitizer <<<'echo "========= ERROR SUMMARY: 0 errors"'
tap_run "without a word: nine minutes, and where the report is" 0 "report: $tap_dir/report" all tests/gpu/all.sh "$tap_dir/report"
# The order of worth: seconds that a part may take, its name. Tests of programs that are not in programs.txt have no part.
has() { ! grep -qx "$1" tests/gpu/programs.txt || printf '%s\n' "$2"; }
sfl="training, SFL on S, transformer, 2048 worlds"
order() {
  printf '%s\n' "10 libraries: where they are" "60 the first launch"
  has test_device_entity_bf16 "20 entity kernels in bf16: the CPU's numbers"
  has test_device_bf16 "20 kernels in bf16: the CPU's numbers"
  has test_device_encoder "20 encoders in bf16: the CPU's numbers"
  printf '%s\n' "20 layers in bf16: the definition" "35 times of an SFL training, one by one" "25 times of a training, one by one" \
    "30 $sfl, bf16" "30 $sfl, tf32" "30 $sfl, float32" "15 training, 65 536 worlds, bf16" \
    "15 training, loco512, 2048 worlds, bf16" "40 the same SFL training twice: the same bits"
  for tool in racecheck memcheck; do
    has test_device_entity_bf16 "15 $tool, entity kernels in bf16"
    has test_device_bf16 "15 $tool, kernels in bf16"
    has test_device_encoder "15 $tool, encoders in bf16"
    echo "15 $tool, layers in bf16"
  done
  printf '%s\n' "50 training: as on the CPU" "40 ops: the CPU's numbers" "25 heads and losses: the CPU's numbers" \
    "35 physics: the CPU's hash" "60 counters of the transformer's kernels"
}
parts() { awk '/^==== exit/ { print $NF, name; next } /^==== / { name = substr($0, 6) }' "$tap_dir/report"; }
tap_check "its parts in the order of their worth, and their seconds" "$(parts | diff <(order) -)"
echo "# $(parts | wc -l) parts, of at most $(parts | awk '{ s += $1 } END { print s }') s, ended after 540 s"
tap_check "compute-sanitizer sees the tile kernel and the encoders in bf16" "$(sed -n '/^==== racecheck, layers/,/^====/p' "$tap_dir/report" |
  grep -q 'compute-sanitizer --tool racecheck.* .*/test_device_chain' || cat "$tap_dir/report")"
tap_check "the SFL training that is repeated is in bf16" "$(sed -n '/^==== the same SFL/,/^==== exit/p' "$tap_dir/report" |
  grep -q 'train.precision=bf16' || cat "$tap_dir/report")"
tap_check "each training says its speed, in the report and at once" "$([ "$(grep -c 'iteration 1: 1.5e+06 steps/s' "$tap_dir/report")" -ge 5 ] ||
  grep steps/s "$tap_dir/report")"
tap_check "only the report is left" "$(ls "$tap_dir"/report?* 2>/dev/null)"
rm "$tap_dir/bin/ncu" "$tap_dir/bin/compute-sanitizer"
tap_expect "parts that could not run are listed" 0 "memcheck, ops.*not run: no compute-sanitizer" all tests/gpu/all.sh counters "$tap_dir/report"

# Settings of all trainings, as the trainer plans them.
cp "$tap_dir/built/trainer" "$tap_dir/trainer.kept"
program built/trainer <<END
[ "\$1" = --root ] || { echo "trainer info"; exit 0; }
mkdir -p "\$2/runs/00/0"
case " \$* " in *" --dry-run "*) exit 0 ;; esac
CORE_DEVICE=emulated exec $SWEEP_BUILD/bin/trainer "\$@" --dry-run >/dev/null
END
for word in "" figures jax; do
  tap_expect "the trainer accepts the settings: ${word:-nine minutes}" 0 "(training, |our transformer).* ok, " all env GPU_PARTS='^(training,|our |times|the first)' \
    PEER_JAX=none tests/gpu/all.sh $word "$tap_dir/report"
done
mv "$tap_dir/trainer.kept" "$tap_dir/built/trainer"
program built/trainer.small <<'END'
[ "$1" = --root ] || { echo "trainer info"; exit 0; }
case " $* " in *" --dry-run "*) echo "the device's memory does not suffice: 260 GB are needed"; exit 1 ;; esac
exit 3
END
cp "$tap_dir/built/trainer" "$tap_dir/trainer.kept"; mv "$tap_dir/built/trainer.small" "$tap_dir/built/trainer"
tap_expect "parts that do not fit are not run" 0 "training, 1 048 576 worlds, 64 steps.*not run: .*260 GB" \
  all env GPU_PARTS='1 048 576 worlds, 64' tests/gpu/all.sh figures "$tap_dir/report"
mv "$tap_dir/trainer.kept" "$tap_dir/built/trainer"

program built/test_device_ops <<<'echo "not ok 3 - gpu_dense"; exit 2'
tap_run "a part that fails fails it all" 1 "FAILED (2)" all tests/gpu/all.sh "$tap_dir/report"
tap_check "and names failed parts, and continues" "$(grep -A60 '==== summary' "$tap_dir/report" >"$tap_dir/summary"
  grep -q 'not ok 3 - gpu_dense' "$tap_dir/summary" && grep -q "physics: the CPU's hash .* ok" "$tap_dir/summary" || cat "$tap_dir/summary")"
program built/test_device_ops <<<'[ -n "${TEST_ONLY:-}" ] || kill -ABRT $$; echo "only $TEST_ONLY"; [ "$TEST_ONLY" != gpu_dense ]'
cp "$tap_dir/built/test_device_ops" "$tap_dir/built/test_device_heads"
all tests/gpu/all.sh "$tap_dir/report" >"$tap_dir/out" 2>&1
tap_check "tests that one has ended are run one by one" "$([ "$(grep -c '^only gpu_' "$tap_dir/report")" -gt 10 ] &&
  grep -q 'gpu_dense .*FAILED (1)' "$tap_dir/out" && grep -q 'gpu_gae .*ok' "$tap_dir/out" || cat "$tap_dir/out")"
tap_run "one of the words" 0 "figures of physics" all tests/gpu/all.sh figures "$tap_dir/report"
tap_check "has its own parts alone" "$(grep -E "^==== (physics|layers|memcheck|counters)" "$tap_dir/report")"
tap_check "and says where libraries are" "$(all tests/gpu/all.sh correctness "$tap_dir/report" >/dev/null 2>&1
  grep -q '^libcublasLt.so.13 ' "$tap_dir/report" || cat "$tap_dir/report")"
for test in ops heads; do program "built/test_device_$test" <<<"echo 'ran test_device_$test'"; done
mkdir -p "$tap_dir/unpacked/tests/gpu" "$tap_dir/unpacked/tests/unit"
cp -r "$tap_dir/built" "$tap_dir/unpacked/"; cp tests/gpu/all.sh tests/gpu/programs.txt "$tap_dir/unpacked/tests/gpu/"
unpacked() { env -u GPU_PARTS -u GPU_SECONDS -u GPU_BUILT PATH="$tap_dir/bin:$PATH" CUDA_HOME="$tap_dir/cuda" "$tap_dir/unpacked/tests/gpu/all.sh" "$@"; }
tap_run "an unpacked pack needs nothing but itself" 0 "training: as on the CPU" unpacked correctness "$tap_dir/report"
program bin/ncu <<<'echo "==ERROR== ERR_NVGPUCTRPERM: no permission"; exit 1'
tap_expect "a profiler that may not profile here is no failure" 0 "counters .*not run: ==ERROR== ERR_NVGPUCTRPERM" \
  all tests/gpu/all.sh counters "$tap_dir/report"
tap_check "and is not tried for other parts" "$(all env GPU_PARTS=times tests/gpu/all.sh "$tap_dir/report" | grep counters)"
program bin/ncu <<<'echo "gpu__time_duration.sum us 3"'
tap_expect "one that may is used" 0 "counters of the physics .*ok" all tests/gpu/all.sh counters "$tap_dir/report"
rm "$tap_dir/bin/ncu"
tap_run "parts by name" 0 "levels drawn" all env GPU_PARTS='levels|figures' tests/gpu/all.sh correctness "$tap_dir/report"
tap_check "and no others" "$(grep '^==== training' "$tap_dir/report")"
all env GPU_SECONDS=0 tests/gpu/all.sh "$tap_dir/report" >"$tap_dir/out" 2>&1
tap_check "without time every part is listed as not run" "$([ "$(grep -c 'no time is left' "$tap_dir/out")" -eq "$(order | grep -cvE 'racecheck|memcheck|counters')" ] || cat "$tap_dir/out")"

program built/test_device_ops <<<"echo begun; echo \$\$ >'$tap_dir/pid'; exec sleep 1000"
pack
"${stand_ins[@]}" GPU_SECONDS=900 tests/gpu/all.sh "$tap_dir/report" >"$tap_dir/out" 2>&1 &
script=$!
tap_wait 60 test -s "$tap_dir/pid"
cp "$tap_dir/out" "$tap_dir/out.before"
kill -KILL "$script"
wait "$script" 2>/dev/null
kill "$(cat "$tap_dir/pid")"
tap_check "a script that is killed has printed the results of the finished parts" "$(grep -q 'training: as on the CPU .*ok' "$tap_dir/out.before" &&
  [ "$(grep -c '^ *iteration 1: 1.5e+06 steps/s' "$tap_dir/out.before")" -eq 5 ] || cat "$tap_dir/out.before")"
tap_check "and written its report" "$(grep -q '^==== training: as on the CPU' "$tap_dir/report" || cat "$tap_dir/report")"

rm "$tap_dir/pid"
"${stand_ins[@]}" GPU_SECONDS=900 tests/gpu/all.sh "$tap_dir/report" >"$tap_dir/out" 2>&1 &
script=$!
tap_wait 60 test -s "$tap_dir/pid"
kill "$script"
wait "$script"
tap_check "a terminated script leaves a report of the finished parts" "$(grep -q "training: as on the CPU .*ok" "$tap_dir/report" &&
  grep -q 'ended from outside' "$tap_dir/report" || cat "$tap_dir/report" "$tap_dir/out")"
gone() { ! grep -aq sleep "/proc/$(cat "$tap_dir/pid")/cmdline" 2>/dev/null; } # its number may be another process's by now
tap_wait 60 gone
tap_check "and no part behind" "$(gone || echo "process $(cat "$tap_dir/pid") is there")"
tap_done

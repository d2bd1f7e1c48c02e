#!/usr/bin/env bash
# sweep bundle and unbundle: equal results give equal bytes, checksums agree with sha256sum, an unpacked bundle is a
# workspace for analyze, other sweeps are excluded, and damaged or invalid archives are rejected. TAP.
set -u
. tests/cli/tap.sh
root=$tap_dir/workspace; mkdir "$root"; cd "$tap_dir" || exit 1
experiment() { # NAME EPSILONS
  cat <<INI
[sweep]
name = $1
seeds = 2
[grid g]
ppo.epsilon = $2
[env]
morphologies = chain
num = 4
[train]
threads = 1
total_steps = 256
[ppo]
num_steps = 16
num_minibatches = 2
epochs = 1
[net]
width = 8
depth = 1
[eval]
count = 1
episodes = 2
INI
}
experiment mine "0.1, 0.2" >mine.ini
experiment other "0.2, 0.3" >other.ini # shares the runs of 0.2
for name in mine other; do sweep submit $name.ini --root "$root" --local --wait >/dev/null 2>&1; done
sweep collect --root "$root" >/dev/null 2>&1

sweep annotate mine --tag paper --root "$root" >/dev/null; sweep annotate other --note secret --root "$root" >/dev/null
sweep annotate other/3 --tag secret --root "$root" >/dev/null; sweep collect --root "$root" >/dev/null
tap_run "a sweep is bundled" 0 "mine.tar.zst: 4 runs" sweep bundle mine --root "$root"
sweep bundle mine --root "$root" -o again.tar.zst >/dev/null; cmp -s mine.tar.zst again.tar.zst
tap_result "the same results are the same bytes" $?
[ "$(sweep bundle mine --root "$root" --json | grep -o '[0-9a-f]\{64\}')" = "$(sha256sum mine.tar.zst | cut -c1-64)" ]
tap_result "its sum is sha256sum's" $?
ls | grep -q '\.db$'; [ $? -ne 0 ]; tap_result "nothing else is left behind" $? "$(ls)"

tap_run "it is unpacked" 0 "4 files verified" sweep unbundle mine.tar.zst out
tap_check "its annotations are included, those of others are not" \
  "$(said=$(tool sql out/results.db "SELECT subject, name, value FROM annotation"); [ "$said" = "sweep|mine|paper" ] || echo "$said")"
(cd out && sha256sum -c --quiet SHA256SUMS) >sums 2>&1; tap_result "sha256sum -c finds them as they were" $? "$(cat sums)"
find out -type f | sed 's|^out/||' | sort | tr '\n' ' ' >list
[ "$(cat list)" = "SHA256SUMS checkpoints.tsv results.db sweeps/mine/manifest.tsv sweeps/mine/sweep.ini " ]
tap_result "list of contents" $? "$(cat list)"
[ "$(analyze sql out/results.db 'SELECT count(*) FROM run' --csv | tail -1)" = 4 ] &&
  [ "$(analyze sql out/results.db 'SELECT group_concat(name) FROM sweep' --csv | tail -1)" = mine ]
tap_result "its database has this sweep alone" $? "$(analyze sql out/results.db 'SELECT name FROM sweep')"
both() { analyze sql "$1" "SELECT run_id, iteration, kl, ddr FROM iteration WHERE run_id IN (SELECT run_id FROM sweep_run WHERE sweep = 'mine') ORDER BY 1, 2" --csv; }
[ -n "$(both out/results.db)" ] && [ "$(both out/results.db)" = "$(both "$root/results.db")" ]
tap_result "and all of its iterations" $?
tap_run "analyze draws it" 0 "" analyze table out/results.db
while IFS=$'\t' read -r run file bytes sum; do
  [ "$run" = run ] && continue
  at=$(find "$root/runs" -path "*$run/ckpt/$file")
  [ "$(stat -c %s "$at")" = "$bytes" ] && [ "$(sha256sum "$at" | cut -c1-64)" = "$sum" ] || { echo "$file"; break; }
done <out/checkpoints.tsv >differ
[ ! -s differ ] && [ "$(wc -l <out/checkpoints.tsv)" -ge 5 ]; tap_result "checkpoints' sums are theirs" $? "$(cat differ out/checkpoints.tsv)"
tap_run "two sweeps in one" 0 "8 runs" sweep bundle mine other mine --root "$root" -o both.tar.zst
sweep unbundle both.tar.zst two >/dev/null
[ "$(analyze sql two/results.db 'SELECT count(*) FROM run' --csv | tail -1)" = 6 ]; tap_result "have their common runs once" $?

# ---- bad input
tap_expect "a sweep that is not there" 2 "nosuch" sweep bundle nosuch --root "$root"
tap_expect "a folder with something in it" 2 "out is not empty" sweep unbundle mine.tar.zst out
tap_expect "a file that is no archive" 1 "cannot unpack mine.ini" sweep unbundle mine.ini new1
tap_expect "a file that is not there" 1 "absent.tar.zst" sweep unbundle absent.tar.zst new2
head -c 2000 mine.tar.zst >torn.tar.zst
tap_expect "a torn archive" 1 "cannot unpack torn.tar.zst" sweep unbundle torn.tar.zst new3
if command -v zstd >/dev/null; then
  mkdir bomb; truncate -s 1100M bomb/results.db; tar -C bomb --zstd -cf bomb.tar.zst results.db
  tap_expect "a small archive of a huge file" 1 "contents are larger than 102[0-9] MiB.*--max-size" sweep unbundle bomb.tar.zst new4
  tap_check "fills no disk" "$(du -sm new4 2>/dev/null | awk '$1 > 10')"
  tap_expect "with --max-size it is unpacked, and found to be none" 1 "SHA256SUMS|checksum" sweep unbundle bomb.tar.zst new5 --max-size 2
  rm -rf bomb new4 new5
else tap_skip "a small archive of a huge file" "no zstd"; fi
pack() { tar --sort=name --mtime=@0 -c "$@" | zstd -q; }
if command -v zstd >/dev/null; then
  mkdir changed && sweep unbundle mine.tar.zst changed >/dev/null && echo "# more" >>changed/sweeps/mine/sweep.ini
  (cd changed && pack *) >changed.tar.zst
  tap_expect "a changed file is named" 1 "sweeps/mine/sweep.ini differs from the bundled file" sweep unbundle changed.tar.zst new4
  touch escape; pack -P --transform='s|escape|../escaped|' escape >up.tar.zst
  tap_expect "a name that leads out" 1 "../escaped is not a regular file inside" sweep unbundle up.tar.zst new5
  ln -s /etc/passwd link; pack link >link.tar.zst
  tap_expect "a link" 1 "link is not a regular file" sweep unbundle link.tar.zst new6
  [ ! -e escaped ]; tap_result "nothing came out of the folder" $?
else tap_skip "changed archives" "no program zstd"; fi
tap_expect "a place that cannot be written" 1 "/nowhere/x.tar.zst" sweep bundle mine --root "$root" -o /nowhere/x.tar.zst
tap_done

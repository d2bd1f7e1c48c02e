#!/usr/bin/env bash
# A workspace shared by a group, with a member who tries to make other users' programs overwrite their private files:
# links, hard links and pipes wherever programs write. Uses real users; needs root to switch to them. TAP.
set -u
. "$(dirname "$0")/tap.sh"
if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then tap_skip "two people" "only root can become two others"; tap_done; fi
# This folder may be one that others cannot enter (/root): they get programs of their own.
chmod 755 "$tap_dir"
mkdir "$tap_dir/bin"
cp "$SWEEP_BUILD"/bin/{sweep,trainer,analyze} "$tap_dir/bin"
PATH=$tap_dir/bin:$PATH
ada=daemon mal=bin pi=nobody # she works, he plants; the workspace is a third one's
group=$(id -g $ada) home=$tap_dir/home work=$tap_dir/work
as() { (umask 002; cd /; setpriv --reuid="$1" --regid="$group" --clear-groups env HOME="$home" XDG_CONFIG_HOME="$tap_dir/config.$1" "${@:2}"); }
mkdir "$home" "$work" "$tap_dir"/config.{$ada,$mal}; chown $ada:"$group" "$home" "$tap_dir/config.$ada"; chown $mal "$tap_dir/config.$mal"; chmod 700 "$home"
chown $pi:"$group" "$work"; chmod 2775 "$work"
small=(--set env.morphologies=car --set env.difficulty=0 --set env.level_count=4 --set env.num=8 --set ppo.num_steps=16
  --set ppo.num_minibatches=2 --set ppo.epochs=1 --set net.width=16 --set net.depth=1 --set eval.episodes=4 --set eval.count=1
  --set train.threads=1 --set train.total_steps=256)
cat >"$tap_dir/both.ini" <<'INI'
[sweep]
name = both
seeds = 1, 2
[env]
morphologies = car
difficulty = 0
level_count = 4
num = 8
[ppo]
num_steps = 16
num_minibatches = 2
epochs = 1
[net]
width = 16
depth = 1
[eval]
episodes = 4
count = 1
[train]
threads = 1
total_steps = 256
INI
train() { as "$1" timeout 300 trainer --root "$work" "${small[@]}" -q "${@:2}"; }

# ---- collaboration: one user takes over another's work
train $ada --set train.seed=1; tap_result "one trains in the group's workspace" $?
run=$(cd "$work" && echo runs/*/*)
train $mal --set train.seed=1 --force; tap_result "another of the group starts the same run over" $?
as $ada timeout 300 sweep collect --root "$work" >"$tap_dir/out" 2>&1; tap_result "one imports" $? "$(cat "$tap_dir/out")"
as $mal timeout 300 sweep collect --root "$work" >"$tap_dir/out" 2>&1; tap_result "and so does the other" $? "$(cat "$tap_dir/out")"
as $ada timeout 300 sweep submit "$tap_dir/both.ini" --root "$work" --local --wait >"$tap_dir/out" 2>&1; tap_result "one submits" $? "$(cat "$tap_dir/out")"
as $mal timeout 300 sweep submit "$tap_dir/both.ini" --root "$work" --local --wait >"$tap_dir/out" 2>&1; tap_result "and so does the other" $? "$(cat "$tap_dir/out")"

# ---- links to a private file
secret=$home/secret
# plant PATH KIND: replaces the file there by a link (or another thing) of mal's
plant() {
  as $mal rm -rf "$work/$1" || return 1
  case $2 in
  link) as $mal ln -s "$secret" "$work/$1" ;;
  pipe) as $mal mkfifo "$work/$1" ;;
  esac
}
reset_secret() { rm -rf "$secret"; as $ada sh -c "umask 077; echo private >'$secret'"; }
# refused NAME PATH KIND COMMAND...: fails, names the file, ends by itself, and the secret stays as it was
refused() {
  local name=$1 path=$2 kind=$3 out rc; shift 3
  reset_secret
  plant "$path" "$kind"
  out=$("$@" 2>&1); rc=$?
  tap_check "$name, $kind: refused, and nothing of hers is touched" "$(
    [ "$(cat "$secret")" = private ] || echo "the private file now holds: $(head -c 300 "$secret")"
    [ $rc -ne 0 ] && [ $rc -ne 124 ] || echo "exit $rc: $out"
    grep -qF "$(basename "$path")" <<<"$out" || echo "the file is not named: $out")"
  as $mal rm -rf "$work/$path"
}
collect() { as $ada timeout 300 sweep collect --root "$work"; }
submit() { as $ada timeout 300 sweep submit "$tap_dir/both.ini" --root "$work" --local --wait --force; }
again() { train $ada --set train.seed=1 --force; }
next() { echo $(($(sed -n 's/^attempt=//p' "$work/$run/state") + 1)); } # attempt
for kind in link pipe; do
  refused "a run's lease" "$run/lease" $kind again
  refused "a run's log.txt" "$run/log.txt" $kind again
  refused "a run's stats" "$run/stats.$(next).tsv" $kind again
  refused "a run's evaluations" "$run/eval.$(next).tsv" $kind again
  refused "the import's lock" .import.lock $kind collect
  refused "the manifest's lock" sweeps/both/manifest.lock $kind submit
  refused "the executor's log" executor.log $kind submit
  refused "the executor's lock" ".executor.$(id -u $ada).lock" $kind submit
done
refused "results.db" results.db link collect
as $mal rm -f "$work/results.db"*

# The temporary file of a checkpoint is replaced: its name is private to the program.
reset_secret
for i in 1 2; do plant "$run/ckpt/iteration-00000000000$i.ckpt.tmp" link; done
again; tap_check "a checkpoint's temporary" "$([ $? -eq 0 ] || echo "exit code"; [ "$(cat "$secret")" = private ] || echo "the private file was written")"

# ---- a second name of a private file, where the system lets one be made (fs.protected_hardlinks = 0): as root does here
reset_secret
ln "$secret" "$tap_dir/second" && mv -f "$tap_dir/second" "$work/$run/log.txt"
out=$(again 2>&1); rc=$?
tap_check "a file with two names is not written" "$([ "$(cat "$secret")" = private ] || echo "the private file was written"
  [ $rc -eq 1 ] && grep -qF "has 2 names" <<<"$out" || echo "$rc: $out")"
rm -f "$work/$run/log.txt"

# ---- folders that lead elsewhere
mkdir "$home/private"; chown $ada "$home/private"
as $mal mv "$work/$run" "$work/$run.away"
as $mal ln -s "$home/private" "$work/$run"
out=$(again 2>&1); rc=$?
tap_check "a run's folder that a stranger links away is not entered" "$([ $rc -eq 1 ] || echo "exit $rc"
  [ -z "$(ls -A "$home/private")" ] || ls -A "$home/private"
  grep -qF "is a symbolic link of $mal, who" <<<"$out" || echo "$out")"
as $mal rm "$work/$run"
as $mal mv "$work/$run.away" "$work/$run"
mkdir "$tap_dir/disk"; chown $ada:"$group" "$tap_dir/disk"
mkdir "$tap_dir/own"; chown $ada:"$group" "$tap_dir/own"; chmod 2775 "$tap_dir/own"
as $ada ln -s "$tap_dir/disk" "$tap_dir/own/runs"
as $ada timeout 300 trainer --root "$tap_dir/own" "${small[@]}" -q; tap_result "runs/ on another disk, by a link of one's own" $? "$(ls "$tap_dir/disk")"

# ---- in a folder that everybody may write, a stranger's file is not written
chmod 777 "$work"
as $mal sh -c "rm -f '$work/.import.lock'; umask 0; : >'$work/.import.lock'"
tap_run "a stranger's lock where everybody may write" 1 "chmod o-w" collect
chmod 2775 "$work"
tap_run "where the group writes it is a member's" 0 "row" collect

# ---- reading never waits for a pipe
for file in "$run/state" "$run/config.ini" sweeps/both/manifest.tsv sweeps/both/queued sweeps/both/submit.log; do
  [ -e "$work/$file" ] && cp -p "$work/$file" "$tap_dir/kept" || : >"$tap_dir/kept"
  rm -f "$work/$file"; mkfifo "$work/$file"; chmod 666 "$work/$file"
  for command in "sweep status --root $work" "sweep status both --root $work" "sweep collect --root $work" "trainer --root $work ${small[*]} --set train.seed=1 -q --resume"; do
    as $ada timeout 300 $command >"$tap_dir/out" 2>&1; rc=$?
    [ $rc -eq 124 ] && break
  done
  tap_result "$file is a pipe: nothing hangs" "$([ $rc -ne 124 ]; echo $?)" "$command"
  rm -f "$work/$file"; cp -p "$tap_dir/kept" "$work/$file"
done
checkpoint=$(cd "$work" && ls runs/*/*/ckpt/iteration-*.ckpt | head -1)
for file in "$run/log.txt" "$checkpoint"; do
  mv "$work/$file" "$tap_dir/kept"; mkfifo "$work/$file"; chmod 666 "$work/$file"
  command="sweep logs ${run##*/} --root $work"; [ "$file" = "$checkpoint" ] && command="trainer checkpoint $work/$checkpoint"
  as $ada timeout 60 $command >"$tap_dir/out" 2>&1; rc=$?
  tap_result "$file is a pipe: $command ends" "$([ $rc -eq 1 ] && grep -qF "it is not a regular file" "$tap_dir/out"; echo $?)" "$rc: $(cat "$tap_dir/out")"
  rm -f "$work/$file"; mv "$tap_dir/kept" "$work/$file"
done
as $ada timeout 300 bash -c "cd '$work'; sweep plan <(cat '$tap_dir/both.ini') --root '$work'" >"$tap_dir/out" 2>&1
tap_result "a file named by the user may be a pipe" $? "$(cat "$tap_dir/out")"
tap_done

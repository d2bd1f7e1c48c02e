#!/usr/bin/env bash
# Two users and a workspace that their group shares: the first to submit wins, the other is informed, and missing
# permissions are reported with the remedy. Real users (system accounts without a shell); needs root to switch to them.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
# This folder may be one that others cannot enter (/root): they get programs of their own.
chmod 755 "$tap_dir"
for part in bin tests/fault; do mkdir -p "$tap_dir/build/$part"; done
cp "$SWEEP_BUILD"/bin/{sweep,trainer,analyze} "$tap_dir/build/bin"
cp "$SWEEP_BUILD/tests/fault/paced_trainer" "$tap_dir/build/tests/fault"
export SWEEP_BUILD=$tap_dir/build PATH=$tap_dir/build/bin:$PATH
. tests/slurm/cluster.sh
. tests/slurm/sweep.sh
if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then tap_skip "two people" "only root can become two others"; tap_done; fi
ada=daemon ben=bin eve=nobody
cluster_conf="MaxArraySize=10"
if ! cluster_start; then tap_skip "two people on a real cluster" "$cluster_problem"; tap_done; fi
group=$(id -g $ada)
for person in $ada $ben $eve; do mkdir "$tap_dir/home.$person"; chown $person "$tap_dir/home.$person"; done
# as PERSON COMMAND...: in the group that shares the workspace, which their umask lets write; alone: in a group of their own
as() { (umask 002; setpriv --reuid="$1" --regid="$group" --clear-groups env HOME="$tap_dir/home.$1" XDG_CONFIG_HOME="$tap_dir/home.$1/.config" "${@:2}"); }
alone() { (umask 022; setpriv --reuid="$1" --regid="$(id -g nobody)" --clear-groups env HOME="$tap_dir/home.$1" XDG_CONFIG_HOME="$tap_dir/home.$1/.config" "${@:2}"); }
rm -rf "$SWEEP_ROOT"
mkdir "$SWEEP_ROOT"; chown $ada:"$group" "$SWEEP_ROOT"; chmod 2775 "$SWEEP_ROOT"

# ---- both submit the same sweep at the same time
experiment both 40 10
as $ada sweep submit "$tap_dir/both.ini" >"$tap_dir/one" 2>&1 & one=$!
as $ben sweep submit "$tap_dir/both.ini" >"$tap_dir/two" 2>&1 & two=$!
wait $one; code_one=$?
wait $two; code_two=$?
[ $code_one -eq 0 ] || [ $code_two -eq 0 ]; tap_result "two people submit the same sweep at once" $? "$code_one: $(cat "$tap_dir/one"); $code_two: $(cat "$tap_dir/two")"
total=$(cat "$SWEEP_ROOT"/sweeps/both/batches/*.tsv | grep -cE '^[0-9]+	')
[ "$total" = 40 ]; tap_result "each run is handed over once" $? "$total runs: $(cat "$tap_dir/one" "$tap_dir/two")"
won=$(cat "$tap_dir/one" "$tap_dir/two" | grep -c "runs submitted in")
told=$(cat "$tap_dir/one" "$tap_dir/two" | grep -cE "nothing to submit|another process is submitting or changing this sweep")
[ "$won" = 1 ] && [ "$told" = 1 ]; tap_result "one wins, the other is informed" $? "$(cat "$tap_dir/one" "$tap_dir/two")"
owner=$(squeue -h -t all -n both -o %u | sort -u)
[ "$owner" = $ada ] || [ "$owner" = $ben ]; tap_result "all of it is one person's" $? "$owner"
tap_wait 120 queue_empty
counts both 40 10
out=$(as $ben sweep status both 2>&1); grep -q "40 finished" <<<"$out"; tap_result "either sees it" $? "$out"
out=$(as $ada sweep status both 2>&1); grep -q "40 finished" <<<"$out"; tap_result "and so does the other" $? "$out"

# ---- the other user's files
experiment hers 4 10
as $ada sweep submit "$tap_dir/hers.ini" --hold >/dev/null
tap_run "the other's jobs cannot be cancelled" 1 "Access/permission denied" as $ben sweep stop hers
tap_check "which is an answer" "$(as $ben sweep stop hers 2>&1 | grep "got no answer")"
[ "$(in_queue hers)" = 4 ]; tap_result "they are still there" $? "$(squeue)"
scancel "$(squeue -h -r -n hers -o %i | head -1)"
tap_run "and not reported as cancelled by an unauthorized user" 0 "cancelled: by hand (scancel) before it started" as $ada sweep status hers
tap_run "nor kept out of the queue" 0 "1 runs submitted" as $ada sweep submit "$tap_dir/hers.ini" --hold
tap_run "the other submits nothing twice" 0 "nothing to submit" as $ben sweep submit "$tap_dir/hers.ini"
as $ada sweep hold --off hers >/dev/null
tap_wait 60 queue_empty
counts hers 4 10

# ---- without the group: nothing is written, and the message names the owner and how to share
tap_run "a user outside the group can read" 0 "4 finished" alone $eve sweep status hers
experiment mine 4 10
tap_run "but cannot submit there" 1 "chmod g+w" alone $eve sweep submit "$tap_dir/mine.ini"
[ ! -e "$SWEEP_ROOT/sweeps/mine" ] && [ "$(in_queue mine)" = 0 ]; tap_result "and nothing is left behind" $? "$(ls "$SWEEP_ROOT/sweeps")"
tap_done

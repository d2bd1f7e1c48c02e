#!/usr/bin/env bash
# After a sweep's runs on a real Slurm: the webhook called by its last task, with no user logged in, and sweep status --cost.
cd "$(dirname "$0")/../.." || exit 1
. tests/cli/tap.sh
. tests/slurm/cluster.sh
. tests/slurm/sweep.sh
export HOME=$tap_dir
if ! cluster_start; then tap_skip "webhook and report on a cluster" "$cluster_problem"; tap_done; fi
mkfifo "$tap_dir/stdin"
"$SWEEP_BUILD/tests/slurm/slurm_webhook" <"$tap_dir/stdin" >"$tap_dir/told" &
exec 9>"$tap_dir/stdin"
tap_wait 60 grep -q http "$tap_dir/told"
mkdir -p "$HOME/.config/sweep"
unset SWEEP_SITE
printf '[slurm]\ntime = 02:00:00\nmem = 1900M\n[notify]\nurl = %s/hook\nstyle = plain\n' "$(head -1 "$tap_dir/told")" >"$HOME/.config/sweep/site.ini"
tap_run "a test message" 0 "sent: " sweep doctor --notify

experiment costs 12 1500
sed -i '/^mem = 100M/d' "$tap_dir/costs.ini"
submit costs >/dev/null
told() { grep -q '"event":"end"' "$tap_dir/told"; }
tap_wait 60 told
tap_run "the last task reports the end" 0 '"runs":12,"finished":12,"failed":0' cat "$tap_dir/told"
tap_wait 300 queue_empty
[ "$(grep -c '"event":"end"' "$tap_dir/told")" = 1 ]; tap_result "once" $? "$(cat "$tap_dir/told")"

sed 's/^name = .*/name = wider/; s/^seeds = .*/seeds = 13/; s/^\[slurm\]/&\ncpus_per_run = 2/' "$tap_dir/costs.ini" >"$tap_dir/wider.ini"
submit wider >/dev/null
told_wider() { grep -q '"runs":13,"finished":13,"failed":0' "$tap_dir/told"; }
tap_wait 60 told_wider; tap_result "also of a sweep whose other runs were finished by another sweep" $? "$(cat "$tap_dir/told")"
tap_wait 300 queue_empty
[ "$(sweep status wider --cost --csv | cut -d, -f3,9 | sort | uniq -c | tr -s ' \n' ' ')" = " 12 finished, 1 finished,2.000 1 status,cpus " ]
tap_result "runs trained by another sweep do not count as processor time" $? "$(sweep status wider --cost --csv)"

out=$(sweep status costs --cost --runs 2>&1)
said() { grep -qE "$1" <<<"$out"; tap_result "report: $2" $? "$out"; }
said "12 runs, 12 finished, 0 started more than once" "counts"
said "waited +median [0-9.]+ m?s" "time in the queue"
said "CPU-hours +0\.[0-9]+, 0\.000 wasted" "hours"
said "memory +[0-9]+ MB at most" "memory"
said "slurm.time = 00:10:00 is enough \(now 02:00:00\)|slurm.time = 00:05:00 is enough" "the time limit"
said "slurm.mem = [0-9]+M is enough \(now 1900M" "the memory limit"
[ "$(sweep status costs --cost --csv | grep -c finished,1,)" = 12 ]; tap_result "report --csv" $?
tap_run "report --json" 0 '"cpu_hours_wasted"' sweep status costs --cost --json

# a trainer that is killed works twice: that is waste
experiment twice 1 100
hold
submit twice >/dev/null
id=$(tail -1 "$SWEEP_ROOT/sweeps/twice/manifest.tsv" | cut -f2)
saved() { ls "$(folder_of "$id")"/ckpt/iteration-*.ckpt >/dev/null 2>&1; }
tap_wait 60 saved
sleep 1 # nothing of it is saved
kill -9 "$(trainer_pids)"
fast
tap_wait 300 queue_empty
tap_run "report: repeated work counts as wasted" 0 '"starts": 2' sweep status twice --cost --json
wasted=$(sweep status twice --cost --json | sed -nE 's/^ +"wasted_s": ([0-9.]+),/\1/p')
awk -v s="$wasted" 'BEGIN { exit !(s > 0.05) }'; tap_result "and its seconds are counted" $? "wasted $wasted s: $(sweep status twice --cost --runs)"
exec 9>&-
tap_done

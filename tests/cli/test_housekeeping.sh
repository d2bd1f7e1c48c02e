#!/usr/bin/env bash
# Tags, notes, pins and archives: where they are shown, selection by them, what they survive, and errors. TAP.
set -u
. "$(dirname "$0")/tap.sh"
root=$tap_dir/root; mkdir "$root"
cd "$tap_dir" || exit 1
export SWEEP_ROOT=$root
experiment() { # NAME EPSILONS
  printf '[sweep]\nname = %s\nseeds = 1\n[env]\nnum = 16\nlevel_count = 8\n[ppo]\nnum_steps = 16\nnum_minibatches = 2\nepochs = 1\n[train]\ntotal_steps = 512\n[net]\nwidth = 8\n[eval]\ncount = 1\nepisodes = 8\n[checkpoint]\nevery = 1\n[grid g]\nppo.epsilon = %s\n' \
    "$1" "$2" >"$1.ini"
}
rows() { tool sql "$root/results.db" "$1"; }
run() { sed -n "$((3 + $2))p" "$root/sweeps/$1/manifest.tsv" | cut -f2; } # SWEEP INDEX
experiment a 0.1,0.2,0.3; experiment b 0.4
sweep submit a.ini --local --wait >out 2>&1 || { echo "Bail out! $(cat out)"; exit 1; }
sweep submit b.ini --local --wait >out 2>&1 || { echo "Bail out! $(cat out)"; exit 1; }
first=$(run a 0) second=$(run a 1)

# ---- messages
tap_run "a sweep gets tags" 0 "a: tags: draft, paper" sweep annotate a --tag paper --tag draft
tap_run "and keeps them" 0 "a: tags: draft, paper, x" sweep annotate a --tag x --tag paper
tap_run "one is taken away" 0 "a: tags: draft, paper" sweep annotate a --untag x
tap_run "they are printed" 0 "a: tags: draft, paper" sweep annotate a
tap_run "a run, by its index" 0 "$first: tags: good" sweep annotate a/0 --tag good
tap_run "or its first digits" 0 "$first: tags: best, good" sweep annotate "${first:0:8}" --tag best
tap_run "a sweep without any" 0 "b: tags: none" sweep annotate b
nasty='<img src=x onerror=alert(1)> $(touch owned) `id` '"'"'; DROP TABLE run; -- %s%n'
tap_run "a note of any text" 0 "a: note: $nasty" sweep annotate a --note "$nasty"
tap_run "another takes its place" 0 "$second: note: second thoughts" sweep annotate a/1 --note "second thoughts"
tap_run "a pin" 0 "a: pinned: run $second" sweep annotate a --pin 1
tap_run "by id" 0 "a: pinned: run $first" sweep annotate a --pin "${first:0:8}"
tap_run "by its whole name" 0 "a: pinned: run $second" sweep annotate a --pin a/1
tap_check "for scripts" "$(out=$(sweep annotate a --json | tool json pinned); [ "$out" = "$second" ] || echo "$out")"

# ---- shown
tap_run "status shows the sweep's" 0 "  tagged: draft, paper: $nasty" sweep status a
tap_run "and the pinned run" 0 "  pinned: run $second, a/1" sweep status a
tap_run "--runs the runs'" 0 "[best, good]" sweep status a --runs
tap_run "with the pin" 0 "[pinned; second thoughts]" sweep status a --runs
tap_run "so does --cost" 0 "  pinned: run $second, a/1" sweep status a --cost
tap_check "status --json" "$(for pair in "tags 1=paper" "pinned=$second" "run 0 tags 0=best" "run 1 note=second thoughts" "archived=null"; do
  out=$(sweep status a --json | tool json 0 ${pair%%=*}); [ "$out" = "${pair#*=}" ] || echo "$pair: $out"; done)"
tap_check "--cost --json" "$(out=$(sweep status a --cost --json | tool json run 0 tags 1); [ "$out" = good ] || echo "$out")"
analyze report "$root/results.db" -o "$tap_dir/report" >out 2>&1
page=$(find "$tap_dir/report" -name '*.html')
tap_check "the page has them, and no markup of theirs" "$(grep -q 'second thoughts' "$page" || echo "no note"
  ! grep -q '<img src=x' "$page" || echo "markup"; grep -q 'img src=x' "$page" || echo "no note of the sweep")"
tap_check "so has run_summary" "$(out=$(analyze sql "$root/results.db" --csv "SELECT tags, note FROM run_summary WHERE run_id = '$second'" | tail -1); [ "$out" = ",second thoughts" ] || echo "$out")"

# ---- chosen by
tap_check "status --tag" "$(out=$(sweep status --tag paper); grep -q '^a ' <<<"$out" && ! grep -q '^b ' <<<"$out" || echo "$out")"
tap_check "by a run's tag, and only its line" "$(out=$(sweep status --tag good --csv | cut -d, -f1-3 | tail -n +2); [ "$out" = "a,0,$first" ] || echo "$out")"
tap_check "no sweep has it" "$(sweep status --tag nowhere | grep .)"
runs_of() { analyze table "$root/results.db" "$@" 2>&1; }
tap_run "analyze, by a sweep's tag" 0 "3 runs of 3 configurations" runs_of --where tag=paper
tap_run "by a run's" 0 "1 run of 1 configuration" runs_of --where tag=good
tap_run "either of two" 0 "3 runs of 3 configurations" runs_of --where tag=good --where tag=draft
tap_run "with a setting" 0 "1 run of 1 configuration" runs_of --where tag=paper --where epsilon=0.2
tap_run "the pinned one" 0 "1 run of 1 configuration" runs_of --where pinned=yes
tap_run "the others" 0 "3 runs of 3 configurations" runs_of --where pinned=no
tap_run "an unknown tag" 1 "existing tags: best, draft, good, paper" runs_of --where tag=nowhere
tap_run "a tag that is none" 2 "--where tag=a b" runs_of --where "tag=a b"
tap_run "SQL as a tag" 2 "--where tag=x' OR 1=1" runs_of --where "tag=x' OR 1=1"
tap_run "neither yes nor no" 2 "pinned must be yes or no" runs_of --where pinned=maybe

# ---- persistence
sweep collect --rebuild >out 2>&1
tap_check "sweep collect --rebuild" "$(n=$(rows "SELECT count(*) FROM annotation"); [ "$n" = 7 ] || { echo "$n"; cat out; })"
analyze merge "$root/results.db" -o "$tap_dir/merged.db" >out 2>&1
tap_check "analyze merge" "$(n=$(tool sql "$tap_dir/merged.db" "SELECT count(*) FROM annotation"); [ "$n" = 7 ] || echo "$n")"
analyze export csv "$root/results.db" -o csv >out 2>&1
tap_check "analyze export" "$([ "$(wc -l <csv/annotation.csv)" = 8 ] || cat csv/annotation.csv)"
for i in 1 2 3 4 5 6 7 8; do sweep annotate b --tag "t$i" >/dev/null & done; wait
tap_check "eight at a time" "$(out=$(sweep annotate b | head -1); [ "$out" = "b: tags: t1, t2, t3, t4, t5, t6, t7, t8" ] || echo "$out")"
sweep annotate b $(printf -- " --untag t%s" 1 2 3 4 5 6 7 8) >/dev/null
printf '{' >"$root/annotations/sweep-b.json"
tap_run "a damaged file is named" 1 "sweep-b.json: not a JSON object; correct or remove the file" sweep annotate b --tag x
tap_run "and hides nothing else" 0 "pinned: run" sweep status
rm "$root/annotations/sweep-b.json"
tap_check "nothing of a note was executed" "$(ls owned 2>/dev/null)"

# ---- refused
tap_run "no such sweep" 2 "there is no sweep 'nosuch'" sweep annotate nosuch --tag x
tap_run "no such run" 2 "ffff" sweep annotate ffffffff --tag x
tap_run "a tag of two words" 2 "two words" sweep annotate a --tag "two words"
tap_run "a path as a tag" 2 "../x" sweep annotate a --tag ../x
tap_run "a path as a sweep" 2 "" sweep annotate ../../etc --tag x
tap_run "a tag that is not there" 2 "no such tag: 'papers'; did you mean paper?" sweep annotate a --untag papers
tap_run "control characters" 2 "control character (byte 2)" sweep annotate a --note $'a\e[2Jb'
tap_run "no UTF-8" 2 "the note is not UTF-8" sweep annotate a --note $'\xff'
tap_run "a note of several words" 2 "quote a text of several words" sweep annotate a --note two words
tap_run "a note too long" 2 "more than 4000" sweep annotate a --note "$(printf '%5000d' 1)"
tap_run "the same tag twice" 2 "--tag x and --untag x exclude each other" sweep annotate a --tag x --untag x
tap_run "a pin out of the sweep" 2 "a has no run 3: its indices are 0 to 2" sweep annotate a --pin 3
tap_run "of another sweep" 2 "is not in a" sweep annotate a --pin b/0
tap_run "a run in a run" 2 "a run is pinned in its sweep" sweep annotate a/0 --pin 0
tap_run "taken away" 0 "a: pinned: none" sweep annotate a --pin ""
tap_run "a note, too" 0 "$second: note: none" sweep annotate a/1 --note ""

# ---- archives
checkpoints() { find "$root/runs" -name '*.ckpt' | wc -l; }
experiment c 0.3,0.5; sweep submit c.ini --local --wait >/dev/null # 0.3 is a's, too
before=$(checkpoints)
tap_run "without a terminal there is no prompt" 2 "needs a terminal; --yes removes without asking" sweep rm a --checkpoints </dev/null
tap_expect "--dry-run lists the files to be removed" 0 "^would remove a: checkpoints of 2 runs, [0-9.]+ kB; those of 1 runs shared with other sweeps stay$" sweep rm a --checkpoints --dry-run
tap_check "and removes nothing" "$([ "$(checkpoints)" = "$before" ] || checkpoints)"
tap_run "an unknown sweep" 2 "there is no sweep 'nosuch'" sweep rm nosuch --checkpoints --yes
tap_expect "done" 0 "^removed a: checkpoints of 2 runs, [0-9.]+ kB; those of 1 runs" sweep rm a --checkpoints --yes
tap_check "the checkpoints are gone, the shared run's stay" "$([ "$(find "$root/runs/${first:0:2}/$first" -name '*.ckpt' | wc -l)" = 0 ] || echo there
  third=$(run a 2); [ "$(find "$root/runs/${third:0:2}/$third" -name '*.ckpt' | wc -l)" -gt 0 ] || echo "shared: gone")"
tap_check "results, logs and settings are kept" "$(for f in config.ini log.txt state stats.1.tsv eval.1.tsv; do [ -s "$root/runs/${first:0:2}/$first/$f" ] || echo "no $f"; done)"
tap_run "status says so" 0 "  archived on 20" sweep status a
tap_run "the runs are finished as before" 0 "3 finished" sweep status a
tap_run "--cost says so" 0 "  archived on 20" sweep status a --cost
tap_check "status --json" "$(sweep status a --json | tool json 0 archived | grep -qE '^20[0-9-]+$' || echo no)"
tap_run "again: nothing is left" 0 "removed a: checkpoints of 0 runs" sweep rm a --checkpoints --yes
tap_run "play says why it cannot" 2 "none was written yet, or sweep rm --checkpoints removed them" trainer play -c a/0 -o x.gif
tap_run "export too" 2 "none was written yet, or sweep rm --checkpoints removed them" trainer export a/0 --onnx x.onnx
tap_run "nothing to start says nothing" 0 "nothing to start" sweep submit a --local
tap_run "still archived" 0 "  archived on 20" sweep status a
tap_run "submit --seeds names what is missing" 0 "a was archived on 20" sweep submit a --seeds 2 --local --wait
tap_check "and then it is archived no longer" "$(sweep status a | grep archived)"
sweep collect --rebuild >/dev/null 2>&1
tap_check "results of the archived runs survive a rebuild" "$(n=$(rows "SELECT count(*) FROM evaluation WHERE run_id = '$first'"); [ "${n:-0}" -ge 1 ] || echo "$n")"

# ---- active runs are not touched
experiment d 0.7; sed -i 's/total_steps = 512/total_steps = 1e9/' d.ini
sweep submit d.ini --local >/dev/null
is_running() { sweep status d | grep -q '1 running' && [ "$(find "$root/runs" -path "*$(run d 0)*" -name '*.ckpt' | wc -l)" -gt 0 ]; }
tap_wait 60 is_running
tap_run "a running sweep is refused" 2 "stop it first: sweep stop d" sweep rm d --checkpoints --yes
sweep stop d >/dev/null
has_stopped() { sweep rm d --checkpoints --dry-run >/dev/null 2>&1; }
tap_wait 60 has_stopped
tap_expect "an unfinished one: the loss is reported" 0 "1 of them is not finished and would restart" sweep rm d --checkpoints --dry-run

# ---- removed
sweep rm d --yes >/dev/null; sweep annotate b --tag z >/dev/null; sweep annotate b/0 --tag y >/dev/null
id=$(run b 0); sweep rm b --yes >/dev/null
tap_check "sweep rm takes them along" "$(ls "$root/annotations" | grep -E "b.json|$id"; rows "SELECT * FROM annotation WHERE name IN ('b', '$id')")"

# ---- temporary files of killed commands
left="$root/.x.4194305-0.tmp $root/annotations/.y.4194305-1.tmp $root/sweeps/$(ls "$root/sweeps" | head -1)/.sweep.ini.4194305-2.tmp"
touch -d '2 hours ago' $left
sweep collect >/dev/null
tap_check "old temporary files of ended processes are removed" "$(ls -d $left 2>/dev/null)"
tap_done

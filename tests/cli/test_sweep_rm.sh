#!/usr/bin/env bash
# `sweep submit --seeds` only adds, and the added runs persist; `sweep rm` removes what it prints, keeps runs of other sweeps,
# and can be repeated after being killed; submit creates a missing workspace, other commands report it.
set -u
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/runs.sh"
root=$tap_dir/root; mkdir "$root"
cd "$tap_dir" || exit 1
export PATH=$SWEEP_BUILD/bin:$PATH SWEEP_ROOT=$root

# experiment NAME EPSILONS: four small runs or so
experiment() {
  printf '[sweep]\nname = %s\nseeds = 2\n[env]\nnum = 16\nlevel_count = 8\n[ppo]\nnum_steps = 16\nnum_minibatches = 2\nepochs = 1\n[train]\ntotal_steps = 512\n[net]\nwidth = 8\n[eval]\ncount = 1\nepisodes = 8\n[grid g]\nppo.epsilon = %s\n' \
    "$1" "$2" >"$1.ini"
}
runs() { find "$root/runs" -name config.ini | wc -l; }
rows() { tool sql "$root/results.db" "$1"; }

# ---- submit --seeds
experiment a 0.1,0.2
sweep submit a.ini --no-start >/dev/null
tap_run "fewer seeds are none" 2 "a already has the seeds 0..1, and --seeds 1 adds none: seeds are never removed; --seeds 3 would add one" sweep submit a --seeds 1 --no-start
tap_run "more are added" 0 "a: 6 runs, 2 new in the manifest" sweep submit a --seeds 3 --no-start
tap_run "a list adds to them, and takes none away" 0 "a: 8 runs, 2 new" sweep submit a --seeds 7..7 --no-start
tap_run "they survive sweep submit FILE" 0 "a: 8 runs, 0 new in the manifest" sweep submit a.ini --no-start
tap_run "sweep plan FILE shows them" 0 "seeds        4 (0, 1, 2, 7; 2 by --seeds)" sweep plan a.ini
tap_run "so does sweep plan NAME" 0 "seeds        4 (0, 1, 2, 7)" sweep plan a
tap_run "--set names the seeds, and no others count" 0 "seeds        1 (0)" sweep plan a.ini --set sweep.seeds=1
tap_check "the frozen file holds the original once" "$(n=$(grep -c 'The original file' "$root/sweeps/a/sweep.ini"); [ "$n" = 1 ] || echo "$n")"
said=$(sweep submit a --seeds 4 --no-start --json 2>/dev/null | tool json new)
tap_check "--seeds --json says how many are new" "$([ "$said" = 2 ] || echo "$said")"
printf 'no seeds here\n' >"$root/sweeps/a/extended"
tap_run "a damaged record is reported" 2 "sweeps/a/extended:1:" sweep plan a.ini
printf '; nothing\n' >"$root/sweeps/a/extended"
tap_run "an empty one too" 2 'the line "seeds = ..." is missing; restore it, or remove the file to drop its seeds' sweep plan a.ini
rm "$root/sweeps/a/extended"
sweep rm a --yes >/dev/null

# ---- rm
experiment a 0.1,0.2; experiment b 0.2,0.3
sweep submit a.ini --local --wait >/dev/null; sweep submit b.ini --local --wait >/dev/null
before=$(runs)
tap_run "without a terminal there is no prompt" 2 "asks for confirmation, which needs a terminal; --yes removes without asking" sweep rm a </dev/null
tap_expect "--dry-run lists the files to be removed" 0 "^would remove a: 2 runs, [0-9.]+ kB; 2 shared with other sweeps stay$" sweep rm a --dry-run
tap_check "and removes nothing" "$([ "$(runs)" = "$before" ] || runs)"
experiment a 0.1; sweep submit a.ini --local --wait >/dev/null # 0.2 is stale now, and b has it
experiment a 0.1,0.4; sweep submit a.ini --local --wait >/dev/null
experiment a 0.1; sweep submit a.ini --local --wait >/dev/null # and 0.4, which no sweep has
tap_expect "--stale removes runs that the file no longer has" 0 "^removed a: 2 stale runs, [0-9.]+ kB; 2 shared with other sweeps stay$" sweep rm a --stale --yes
tap_check "the manifest has the others" "$([ "$(wc -l <"$root/sweeps/a/manifest.tsv")" = 4 ] || cat "$root/sweeps/a/manifest.tsv")"
tap_check "results.db too" "$(n=$(rows "SELECT count(*) FROM sweep_run WHERE sweep = 'a'"); [ "$n" = 2 ] || echo "$n")"
tap_run "and nothing is stale any more" 0 "a: 2 runs, 0 new in the manifest" sweep submit a.ini --local --wait
id=$(sed -n 3p "$root/sweeps/a/manifest.tsv" | cut -f2)
tap_run "a run that several sweeps have stays" 2 "belongs to 2 sweeps (" sh -c "cp -r '$root/sweeps/a' '$root/sweeps/c'; sed -i '1s/a\$/c/' '$root/sweeps/c/manifest.tsv'; sweep rm $id --yes"
rm -r "$root/sweeps/c"
tap_run "a run goes by its id" 0 "it keeps its index in a; sweep submit a trains it again" sweep rm "${id:0:8}" --yes
tap_check "its folder and rows are gone" "$([ ! -e "$root/runs/${id:0:2}/$id" ] || echo there; for t in attempt evaluation run_log sweep_run; do rows "SELECT run_id FROM $t WHERE run_id = '$id'"; done; rows "SELECT id FROM run WHERE id = '$id'")"
tap_run "and it is trained again" 0 "2 runs" sweep submit a.ini --local --wait
tap_check "results.db has it again" "$(n=$(rows "SELECT count(*) FROM evaluation WHERE run_id = '$id'"); [ "${n:-0}" -ge 1 ] || echo "$n")"

# ---- links are removed, never followed
mkdir precious; echo keep >precious/file
ln -s "$tap_dir/precious" "$root/runs/${id:0:2}/$id/ckpt/link"
tap_run "links inside" 0 "removed run $id" sweep rm "$id" --yes
mkdir -p "$root/runs/${id:0:2}"; ln -s "$tap_dir/precious" "$root/runs/${id:0:2}/$id"
tap_expect "a link in a run's place" 0 "removed" sweep rm a --yes
tap_check "their targets exist" "$([ "$(cat precious/file)" = keep ] || ls precious)"
tap_check "the sweep is gone" "$([ ! -e "$root/sweeps/a" ] || ls "$root/sweeps/a"; rows "SELECT name FROM sweep WHERE name = 'a'")"

# ---- killed in the middle: the next call removes the rest
experiment d 0.5; sweep submit d.ini --local --wait >/dev/null
id=$(sed -n 3p "$root/sweeps/d/manifest.tsv" | cut -f2)
mv "$root/runs/${id:0:2}/$id" "$root/runs/${id:0:2}/.removed-$id"
tap_run "a removal continues" 0 "removed d: 2 runs" sweep rm d --yes
tap_check "nothing is left behind" "$(find "$root" -name '.removed-*')"
tap_run "results.db is whole" 0 "0 damaged, 0 warnings" analyze check "$root/results.db"

# A removal by several threads, killed at any time: whatever was removed, results.db and directories agree in the end.
many=$tap_dir/many
submit "$many" "$(printf '[sweep]\nname = k\nseeds = 400\n')"
fill "$many" "" '{ run(iterations, "finished"); eval(iterations, 0.5) }'
killed=0
for delay in 0.02 0.04 0.08 0.12 0.2 0.3; do
  timeout -s KILL $delay sweep rm k --yes --root "$many" >/dev/null 2>&1
  [ $? -eq 137 ] && killed=$((killed + 1))
  tap_run "results.db is whole after a kill at $delay s" 0 "0 damaged" analyze check "$many/results.db"
done
tap_check "removals were killed" "$([ $killed -gt 0 ] || echo "none of 6")"
sweep rm k --yes --root "$many" >rm 2>&1
tap_check "the last removal completes them" "$({ find "$many/runs" -mindepth 2; ls "$many/sweeps"; tool sql "$many/results.db" 'SELECT id FROM run LIMIT 3'; } 2>&1)"

# ---- a sweep that is submitted again while the confirmation is pending
during() { # ANSWER OPERANDS -- COMMAND...: runs the command between sweep rm's question and the answer; the words: rm
  local answer=$1 operands=$2; shift 3
  : >rm; rm -f answer; mkfifo answer
  script -qec "sweep rm $operands" /dev/null <answer >rm 2>&1 4>&- & asker=$!
  exec 4>answer
  tap_wait 60 grep -q "permanently?" rm
  "$@" >/dev/null
  echo "$answer" >&4
  exec 4>&-
  wait $asker
}
members() { tail -n +3 "$root/sweeps/f/manifest.tsv" | cut -f2 | sort; }
again() { experiment f "$1"; sweep submit f.ini --no-start; }
if command -v script >/dev/null; then
  again 0.61 >/dev/null; members >kept
  again 0.61,0.62 >/dev/null; again 0.61 >/dev/null
  during y "f --stale" -- again 0.61,0.63
  tap_run "a confirmation after a submit removes the runs shown" 0 "removed f: 2 stale runs" cat rm
  tap_check "and keeps the submitted ones" "$(n=$(members | wc -l); [ "$n" = 4 ] || members; comm -13 <(members) kept)"
  tap_check "in results.db too" "$(n=$(rows "SELECT count(*) FROM sweep_run WHERE sweep = 'f'"); [ "$n" = 4 ] || echo "$n")"
  again 0.61 >/dev/null
  during y "f --stale" -- again 0.61,0.63
  tap_run "runs that are in the file again stay" 0 "removed f: 0 stale runs" cat rm
  tap_check "with its place" "$(n=$(members | wc -l); [ "$n" = 4 ] || members)"
  during y f -- again 0.61,0.63,0.64
  tap_run "removing a sweep requires that all its runs were shown" 0 "f has 2 new runs; nothing was removed" cat rm
  tap_check "it is there" "$(n=$(members | wc -l); [ "$n" = 6 ] || members)"
  during n f -- true
  tap_run "no is no" 0 "nothing was removed" cat rm
  sweep rm f --yes >/dev/null
else tap_skip "what happens while sweep rm asks" "no script(1)"; fi

# ---- active runs stay
bytes=$(sweep rm b --dry-run --json | tool json sweeps 0 runs | tr -d '[]"' | tr ',' '\n' | wc -l)
tap_check "--json lists the runs" "$([ "$bytes" = 4 ] || echo "$bytes")"
id=$(sed -n 3p "$root/sweeps/b/manifest.tsv" | cut -f2)
sed -i "s/^status=.*/status=running/; s/^host=.*/host=elsewhere/" "$root/runs/${id:0:2}/$id/state"; touch "$root/runs/${id:0:2}/$id/state"
tap_run "a running run is not removed" 2 "stop it first: sweep stop b" sweep rm b --yes
tap_run "no such sweep" 2 "there is no sweep 'nosuch' in $root" sweep rm nosuch
tap_run "no such run" 2 "0000000" sweep rm 0000000000000000 --yes

# ---- a workspace that is not there
experiment e 0.1
tap_run "plan reads it as an empty one" 0 "$tap_dir/new does not exist yet; sweep submit creates it" sweep plan e.ini --root "$tap_dir/new"
tap_run "status explains" 1 "does not exist yet" sweep status --root "$tap_dir/new"
printf 'nonsense\n' >bad.ini
tap_run "a bad file makes none" 2 "bad.ini" sweep submit bad.ini --root "$tap_dir/new"
tap_check "none was left" "$([ ! -e new ] || echo there)"
tap_run "submit makes it and says so" 0 "made the workspace $tap_dir/new" sweep submit e.ini --no-start --root "$tap_dir/new"
tap_run "the trainer makes it too" 0 "finished" trainer -r "$tap_dir/new2/deep" -s env.num=16 -s env.level_count=8 -s ppo.num_steps=16 -s ppo.num_minibatches=2 -s train.total_steps=256 -s net.width=8 -s eval.count=0
tap_run "an experiment is no config" 2 "e.ini:1:1: [sweep] is a section of an experiment file, which describes many runs, not of a config file; run it with sweep submit e.ini" trainer --config e.ini
tap_done

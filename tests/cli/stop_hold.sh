# Sourced by the tests of sweep stop and sweep hold, on this machine and on Slurm: the same words, exit codes and JSON.
id_of() { sed -n "$(($1 + 3))p" "$SWEEP_ROOT/sweeps/study/manifest.tsv" | cut -f2; } # INDEX in the sweep "study"
status_of() { sed -n 's/^status=//p' "$SWEEP_ROOT/runs/$(id_of "$1" | cut -c1-2)/$(id_of "$1")/state" 2>/dev/null; }
is_running() { [ "$(status_of "$1")" = running ]; }
is_finished() { [ "$(status_of "$1")" = finished ]; }

# Four runs: 2 runs, and the others are held.
same_words() {
  local id; id=$(id_of 1)
  tap_run "stop of a waiting run" 0 "study: stopping 1 run;" sweep stop study 1
  tap_run "again" 2 "run $id is not running: it is pending" sweep stop study/1
  tap_check "hold of it" "$([ "$(sweep hold study "${id:0:8}" --json 2>/dev/null | tool json runs)" = 0 ] || sweep hold study 1 --json)"
  id=$(id_of 2)
  tap_check "stop --json of a run that runs, by its id" "$([ "$(sweep stop "$id" --json 2>/dev/null | tool json run)" = "[\"$id\"]" ] ||
    echo "not $id")"
  tap_check "it has a checkpoint" "$(ls "$SWEEP_ROOT/runs/${id:0:2}/$id/ckpt/"*.ckpt 2>&1 >/dev/null)"
  tap_check "and does not run" "$(is_running 2 && sweep status study --runs)"
  tap_run "stop of two that do not run" 2 "study: none of these runs is running or waiting" sweep stop study 1 2
  tap_run "a run that is not in the sweep" 2 "expected an index or an id that sweep status study --runs lists" sweep stop study none
}

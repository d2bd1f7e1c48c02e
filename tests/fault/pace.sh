# Sourced after cli/tap.sh by tests that need a run in progress when they kill, stop or inspect it: a trainer that is
# slowed on demand (pace.c). No test may depend on a run being slow enough, or on being quick enough itself.
#   "$paced" ...   the trainer; SWEEP_TRAINER=$paced for sweep's
#   slow MS        from now on an iteration takes so many milliseconds more, but for the first of each process
#   hold           each process does one iteration, then waits for a signal or for `fast`
#   fast           full speed
paced=$tap_dir/paced
cat >"$paced" <<SH
#!/bin/sh
TRAINER_PACE="$tap_dir/pace" exec "$SWEEP_BUILD/tests/fault/paced_trainer" "\$@"
SH
chmod +x "$paced"
slow() { echo "$1" >"$tap_dir/pace.new" && mv "$tap_dir/pace.new" "$tap_dir/pace"; }
hold() { slow 3600000; }
fast() { rm -f "$tap_dir/pace"; }

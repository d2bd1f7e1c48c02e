#!/usr/bin/env bash
# Runs of a sweep get the environment variables and the directory of the submitting shell from every executor. The
# trainers record theirs before they start. TAP.
set -u
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/small.sh"
cd "$tap_dir" || exit 1
export SWEEP_ROOT=$tap_dir/workspace
mkdir -p first second third
cat >note <<'END'
#!/bin/sh
[ -z "${SWEEP_RUN:-}" ] || { env; echo "directory=$(pwd -P)"; } >"$NOTES/$SWEEP_RUN.$$"
exec "$TRAINER" "$@"
END
chmod +x note
ln -s note other-note
export TRAINER=$SWEEP_BUILD/bin/trainer NOTES=$tap_dir/notes
mkdir notes

experiment() { # name, seeds, transitions
  printf '[sweep]\nname = %s\nseeds = %s\n[env]\nnum = 8\n' "$1" "$2" >"$1.ini"
  small_settings | sed "s/^total_steps.*/total_steps = $3/" >>"$1.ini"
}
experiment long 1 2G
experiment short 2 960
run_of() { awk -v row="${2:-1}" '$1 ~ /^[0-9]+$/ && ++n == row { print $2 }' "$SWEEP_ROOT/sweeps/$1/manifest.tsv"; }
noted() { cat "$NOTES/$(run_of "$1" "${2:-1}")".* 2>/dev/null | grep -Fqx -- "$3"; }
ended() { [ ! -e "$SWEEP_ROOT/sweeps/$1/queued" ]; }

(cd first && MARK=one ONLY_FIRST=1 SWEEP_TRAINER=$tap_dir/note sweep submit ../long.ini -j 4 --no-check) >out 2>&1
tap_wait 60 noted long 1 MARK=one
tap_result "a first sweep runs with its shell's variables" $? "$(cat out)"
tap_run "a second submission joins the executor" 0 "added to executor" \
  sh -c 'cd second && MARK="two
lines" LIBRARY=/second SWEEP_TRAINER='"$tap_dir"'/other-note GROUP_TOKEN=hush sweep submit ../short.ini --no-check -j 4'
tap_wait 60 ended short
noted short 1 LIBRARY=/second; tap_result "its runs get its variables" $? "$(cat notes/* | grep LIBRARY)"
noted short 1 lines; tap_result "with newlines in them" $?
noted short 1 "SWEEP_TRAINER=$tap_dir/other-note"; tap_result "its trainer" $?
noted short 1 "directory=$(cd second && pwd -P)"; tap_result "its directory" $?
! noted short 1 ONLY_FIRST=1; tap_result "and nothing of the executor's shell" $?
! noted long 1 LIBRARY=/second; tap_result "the first sweep keeps its own" $?
[ "$(stat -c %a "$SWEEP_ROOT/sweeps/short/environment")" = 600 ]; tap_result "the record is its owner's alone" $?
! grep -rq hush "$SWEEP_ROOT/sweeps"; tap_result "secrets are not recorded" $?

tap_run "changed environment variables are named" 0 "differs from that of its last submission in LIBRARY" \
  sh -c 'cd third && LIBRARY=/third SWEEP_TRAINER='"$tap_dir"'/note sweep submit short --seeds 4 --no-check -j 4 2>&1'
tap_wait 60 ended short
noted short 3 LIBRARY=/third; tap_result "runs that start then get the present one" $?
(cd first && LIBRARY=/first sweep submit short --force --no-check --same-environment -j 4) >out 2>&1
grep -q differs out && tap_result "--same-environment changes nothing" 1 "$(cat out)" || tap_result "--same-environment changes nothing" 0
tap_wait 60 ended short
! noted short 1 LIBRARY=/first && noted short 1 LIBRARY=/third
tap_result "runs that start over by it get the recorded one" $? "$(cat out)"

sed -i 's|^LIBRARY=.*|LIBRARY=/evil|' "$SWEEP_ROOT/sweeps/short/environment"
chmod 666 "$SWEEP_ROOT/sweeps/short/environment"
tap_run "a record that others may write is not taken" 0 "not a record of this user" \
  sh -c "sweep submit short --force --no-check --same-environment -j 4 2>&1"
tap_wait 60 ended short
! grep -rqx LIBRARY=/evil notes; tap_result "nothing of it reaches a run" $?
# ---- a module that only the submitter's PYTHONPATH has
python=$SWEEP_BUILD/python/bin/python
if "$python" -c "import gymnasium" 2>/dev/null; then
  printf '[sweep]\nname = pole\nseeds = 1\n[env]\ntask = gym/CartPole-v1\nnum = 8\nworkers = 4\n[slurm]\nmem = 200M\n' >pole.ini
  tap_run "memory of Python processes is held against the job's" 2 "MB of memory with its Python processes, but its job requests" \
    env SWEEP_PYTHON="$python" sweep plan pole.ini
  mkdir modules
  cat >modules/far_away.py <<'END'
import gymnasium, numpy

class Point(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,), numpy.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return numpy.zeros(2, numpy.float32), {}

    def step(self, action):
        self.steps += 1
        return numpy.zeros(2, numpy.float32), float(action), self.steps == 5, False, {}

gymnasium.register("Point-v0", entry_point=Point)
END
  { printf '[sweep]\nname = far\nseeds = 1\n[env]\nnum = 2\ntask = gym/far_away:Point-v0\n'; small_settings
    printf '[search it]\nmethod = tpe\ntrials = 6\nstartup = 2\nwave = 2\nppo.learning_rate = log 1e-4 .. 1e-2\n'
  } | sed 's/^total_steps.*/total_steps = 64/; s/^count = 0/count = 1/' >far.ini
  there() { env SWEEP_PYTHON="$python" PYTHONPATH="$PWD/modules" PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=ignore "$@"; }
  tap_run "it is planned" 0 "trainer would start" there sweep plan far.ini --trust
  tap_run "submitted to the executor of another shell" 0 "added to executor" there sweep submit far.ini --trust -j 4
  tap_wait 120 ended far
  tap_run "its runs are trained, those of later waves too" 0 "6 finished" sweep status far
else
  tap_skip "memory of Python processes" "no Gymnasium in build/python: make python"
  tap_skip "a module of the submitter's PYTHONPATH" "no Gymnasium in build/python: make python"
fi
sweep stop long >/dev/null 2>&1 # waits for its end
tap_done

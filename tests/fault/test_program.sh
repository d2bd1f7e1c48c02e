#!/usr/bin/env bash
# A program's run that is killed, stopped or misbehaves: no row is lost or duplicated, and its processes end.
set -u
cd "$(dirname "$0")/../.."
. tests/cli/tap.sh
PATH=$SWEEP_BUILD/bin:$PATH
export SWEEP_ROOT=$tap_dir/work
mkdir -p "$SWEEP_ROOT"
cd "$tap_dir" || exit 1
trap 'sweep stop >/dev/null 2>&1; tap_cleanup' EXIT
rows() { analyze sql "$SWEEP_ROOT/results.db" "$1" 2>/dev/null | tail -n +2 | awk '{ for (i = 1; i <= NF; i++) sub(/\.0$/, "", $i); $1 = $1; print }'; }
folder_of() { local id; id=$(sed -n "$(($2 + 3))p" "$SWEEP_ROOT/sweeps/$1/manifest.tsv" | cut -f2); echo "$SWEEP_ROOT/runs/${id:0:2}/$id"; }
state_of() { sed -n "s/^$3=//p" "$(folder_of "$1" "$2")/state" 2>/dev/null; }
supervisor() { # process id of the only run's supervisor, while it lives
  local pid; pid=$(state_of "$1" 0 pid)
  [ -n "$pid" ] && [ -e "/proc/$pid/exe" ] && echo "$pid"
}
child_of() { cat "/proc/$1/task/$1/children" 2>/dev/null | awk '{ print $1 }'; }
has_status() { [ "$(state_of "$1" 0 status)" = "$2" ]; }
metric_lines() { cat "$(folder_of "$1" 0)"/metrics.*.jsonl 2>/dev/null | wc -l; }
has_lines() { [ "$(metric_lines "$1")" -ge "$2" ]; }
write() { # NAME COMMAND [LINES of [program]...]
  { printf '[sweep]\nname = %s\ngoal = max episode_return\n[program]\ncommand = %s\nstep = step of {steps}\n' "$1" "$2"
    [ $# -gt 2 ] && printf '%s\n' "${@:3}"
    printf '[settings]\nsteps = %s\nlabel = %s\n[metric]\nepisode_return = reward\n' "${STEPS:-400}" "$1"; } > "$1.ini"
}

# Saves after each line, so that a killed attempt continues after its last line, or repeats it.
cat > train.sh <<'SH'
step=0
[ -f "$SWEEP_DIR/last" ] && step=$(cat "$SWEEP_DIR/last")
trap 'exit 75' TERM USR2
while [ $step -lt "$1" ]; do
  step=$((step + 1))
  echo "{\"step\": $step, \"reward\": $step}" >> "$SWEEP_METRICS"
  echo $step > "$SWEEP_DIR/.last" && mv "$SWEEP_DIR/.last" "$SWEEP_DIR/last"
  sleep 0.01
done
SH

# ---- kills at chance moments, of the program and of its supervisor
write killed 'sh train.sh {steps}'
sweep submit killed.ini > /dev/null
kills=0
while [ $kills -lt ${KILLS:-12} ] && ! has_status killed finished; do
  pid=$(supervisor killed) || { sweep submit killed.ini > /dev/null 2>&1; sleep 0.1; continue; }
  sleep 0.$((RANDOM % 4 + 1))
  target=$pid
  [ $((kills % 3)) -eq 2 ] && target=$(child_of "$pid")
  [ -n "$target" ] && kill -9 "$target" 2>/dev/null && kills=$((kills + 1))
  sweep submit killed.ini > /dev/null 2>&1
done
tap_wait 120 eval 'sweep submit killed.ini > /dev/null 2>&1; sleep 0.3; has_status killed finished'
sweep collect > /dev/null 2>&1
tap_check "after $kills kills every step is in results.db once" "$(
  [ "$(rows 'SELECT count(*), count(DISTINCT transitions), min(transitions), max(transitions) FROM iteration')" = "${STEPS:-400} ${STEPS:-400} 1 ${STEPS:-400}" ] ||
    rows 'SELECT count(*), count(DISTINCT transitions), min(transitions), max(transitions) FROM iteration')"
tap_check "its attempts are recorded" "$([ "$(rows 'SELECT max(attempt) FROM attempt')" -ge 3 ] || rows 'SELECT * FROM attempt')"
tap_check "rows are numbered by their steps" "$(rows 'SELECT * FROM iteration WHERE iteration <> transitions LIMIT 3')"

tap_check "it was killed as often as asked" "$([ $kills -ge ${KILLS:-3} ] || echo "$kills times")"
STEPS=400

# ---- stop and go on
write stopped 'sh train.sh {steps}'
sweep submit stopped.ini > /dev/null
tap_wait 60 has_lines stopped 20
sweep stop > /dev/null
tap_wait 60 has_status stopped stopped; tap_result "a program that saves and exits with 75 is stopped" $?
tap_run "submitted again it continues" 0 "1 finished" timeout 120 sweep submit stopped.ini --wait
tap_check "in a second attempt" "$([ "$(state_of stopped 0 attempt)" = 2 ] || state_of stopped 0 attempt)"

# ---- a program that ignores SIGTERM, with children that do
cat > deaf.sh <<'SH'
trap '' TERM USR2
sleep 300 & sleep 301 &
step=0
while :; do step=$((step + 1)); echo "{\"step\": $step, \"reward\": 1}" >> "$SWEEP_METRICS"; sleep 0.05; done
SH
write deaf 'sh deaf.sh' 'grace = 1'
sweep submit deaf.ini > /dev/null
tap_wait 60 has_lines deaf 3
group=$(child_of "$(supervisor deaf)")
sweep stop > /dev/null
tap_wait 60 has_status deaf stopped; tap_result "grace over, a deaf program is ended and counts as stopped" $?
tap_check "with all its processes" "$(grep -lzx "SWEEP_RUN=$(basename "$(folder_of deaf 0)")" /proc/[0-9]*/environ 2>/dev/null; [ -n "$group" ] || echo "no process was seen")"

# ---- outputs
cat > closed.sh <<'SH'
exec >&- 2>&-
echo '{"step": 400, "reward": 1}' >> "$SWEEP_METRICS"
sleep 0.5
SH
write closed 'sh closed.sh'
tap_run "a program that closes its outputs finishes" 0 "1 finished" timeout 60 sweep submit closed.ini --wait
cat > loud.sh <<'SH'
head -c ${LOUD:-100000000} /dev/zero | tr '\0' 'x'
echo; echo '{"step": 400, "reward": 1}' >> "$SWEEP_METRICS"
SH
write loud 'sh loud.sh'
tap_run "a program that prints 100 MB in one line finishes" 0 "1 finished" timeout 120 sweep submit loud.ini --wait
tap_check "and its log is bounded" "$([ "$(stat -c %s "$(folder_of loud 0)/log.txt")" -lt 70000000 ] || stat -c %s "$(folder_of loud 0)/log.txt")"
cat > endless.sh <<'SH'
echo '{"step": 1, "reward": 1}' >> "$SWEEP_METRICS"
exec yes "a line of output"
SH
write endless 'sh endless.sh'
sweep submit endless.ini > /dev/null
tap_wait 60 has_lines endless 1
log_is_full() { [ "$(stat -c %s "$(folder_of endless 0)/log.txt")" -gt 67000000 ]; }
tap_wait 60 log_is_full
pid=$(supervisor endless)
tap_check "while a program prints without end, the memory of its supervisor is bounded" \
  "$(awk '/^VmHWM/ && $2 > 65536' "/proc/$pid/status" 2>&1)"
start=$SECONDS
sweep stop > /dev/null
tap_wait 60 has_status endless stopped; tap_result "it stops at once" $((SECONDS - start > 20))
tap_check "and its log is bounded, too" "$([ "$(stat -c %s "$(folder_of endless 0)/log.txt")" -lt 70000000 ] || stat -c %s "$(folder_of endless 0)/log.txt")"
cat > odd.sh <<'SH'
{ echo '{"step": 1, "reward": NaN, "x": Infinity}'; echo 'no json'; printf '{"\377\376": 1, "step": 2, "reward": 2}\n'
  echo '{"step": 2, "reward": 3}'; echo '{"step": 1, "reward": 4}'; head -c 2000000 /dev/zero | tr '\0' 'y'; echo
  printf '{"step": 400, "reward": 5}\n{"step": 4'; } >> "$SWEEP_METRICS"
SH
write odd 'sh odd.sh'
tap_run "odd lines are ignored" 0 "1 finished" timeout 60 sweep submit odd.ini --wait
sweep collect > /dev/null 2>&1
tap_check "and the good ones are rows" "$(
  diff <(rows "SELECT iteration, transitions, episode_return FROM iteration WHERE run_id = '$(basename "$(folder_of odd 0)")'") \
    <(printf '1 1 4\n2 2 2\n3 2 3\n4 400 5\n'))"
tap_check "the log counts the bad ones" "$(grep -q '3 lines or events of the metrics could not be read' "$(folder_of odd 0)/log.txt" || tail -3 "$(folder_of odd 0)/log.txt")"

# ---- a program that forks and exits, and ones that die
cat > forks.sh <<'SH'
(sleep 1; echo '{"step": 399, "reward": 9}' >> "$SWEEP_METRICS"; sleep 300) &
echo '{"step": 400, "reward": 1}' >> "$SWEEP_METRICS"
SH
write forks 'sh forks.sh'
tap_run "a program that leaves a process behind finishes" 0 "1 finished" timeout 60 sweep submit forks.ini --wait
tap_check "and the process ends with it" "$(grep -lzx "SWEEP_RUN=$(basename "$(folder_of forks 0)")" /proc/[0-9]*/environ 2>/dev/null)"
write daemon 'sh -c "setsid sh forks.sh < /dev/null > /dev/null 2>&1 &"'
tap_run "one that runs as a daemon ends with its first process" 0 "1 finished" timeout 60 sweep submit daemon.ini --wait
tap_run "submitted again, the daemon is ended first" 0 "1 finished" timeout 60 sweep submit daemon.ini --force --wait
write crashed 'sh -c "echo the last words >&2; kill -SEGV $$"'
printf 'echo the last words >&2\nkill -SEGV $$\n' > crash.sh
write crashed 'sh crash.sh'
tap_run "a crash is a failure with its signal" 1 "killed by signal 11 (Segmentation fault): the last words" \
  timeout 60 sweep submit crashed.ini --wait
write unready 'sh train.sh {steps}' 'setup = echo no environment >&2; false'
tap_run "so is a setup that fails" 1 "setup failed with exit code 1" timeout 60 sweep submit unready.ini --wait
write nowhere 'sh -c true' 'cwd = gone'
mkdir gone && sweep plan nowhere.ini > /dev/null; rmdir gone
tap_run "and a working directory that is gone" 1 "gone" timeout 60 sweep submit nowhere.ini --wait --no-check

# ---- a full disk
full() { # NAME: runs it on a disk of 3 MB, makes room, runs it again, and prints its rows
  local SWEEP_ROOT=$tap_dir/disk
  timeout 120 sweep submit "$1.ini" --wait 2>&1
  rm -f disk/runs/*/*/files/fill
  timeout 120 sweep submit "$1.ini" --wait 2>&1
  sweep collect > /dev/null 2>&1
  echo "rows $(rows "SELECT count(*), count(DISTINCT transitions), max(transitions) FROM iteration WHERE run_id = \
'$(basename "$(folder_of "$1" 0)")' AND transitions IS NOT NULL")"
}
for kind in awhile always; do # the program fills the disk
  cat > $kind.sh <<SH
for step in \$(seq 1 40); do
  [ \$step = 20 ] && [ "\$SWEEP_ATTEMPT" = 1 ] && cat /dev/zero > "\$SWEEP_DIR/fill" 2>/dev/null
  [ \$step = 30 ] && [ $kind = awhile ] && { sleep 1.5; rm -f "\$SWEEP_DIR/fill"; }
  echo "{\"step\": \$step, \"reward\": 1}" >> "\$SWEEP_METRICS"
  sleep 0.02
done
SH
  STEPS=40 write $kind "sh $kind.sh"
done
mkdir disk
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=3m none disk 2> /dev/null; then
  trap 'umount "$tap_dir/disk"; sweep stop >/dev/null 2>&1; tap_cleanup' EXIT
  full awhile > said
  tap_check "a program's run outlasts a full disk" "$(grep -q '^nothing to start: 1 runs are finished' said || cat said)"
  tap_check "and every row is there once" "$(grep -qx 'rows 40 40 40' said || cat said)"
  tap_check "its log tells of the fault once" "$([ "$(grep -c 'stats.*No space left' disk/runs/*/*/log.txt)" = 1 ] || cat disk/runs/*/*/log.txt)"
  full always > said
  tap_check "if it ends on the full disk, it is started again" "$(grep -q '1 finished' said || cat said)"
  tap_check "and again every row is there once" "$(grep -qx 'rows 40 40 40' said || cat said)"
else tap_skip "a full disk" "a tmpfs cannot be mounted here"; fi

# ---- a program that starts over and writes fewer rows
cat > over.sh <<'SH'
every=1; [ "$SWEEP_ATTEMPT" -gt 1 ] && every=50
step=0
while [ $step -lt $([ "$SWEEP_ATTEMPT" -gt 1 ] && echo 400 || echo 300) ]; do
  step=$((step + every)); echo "{\"step\": $step, \"reward\": $step, \"own\": $step}" >> "$SWEEP_METRICS"
done
[ "$SWEEP_ATTEMPT" -gt 1 ] || exit 75
SH
write over 'sh over.sh'
timeout 60 sweep submit over.ini --wait > /dev/null 2>&1
tap_run "a program that starts over finishes" 0 "1 finished" timeout 60 sweep submit over.ini --wait
sweep collect > /dev/null 2>&1
tap_check "and from its first step on no number of the first attempt is left" "$(
  diff <(id=$(basename "$(folder_of over 0)"); rows "SELECT (SELECT count(*) FROM iteration WHERE run_id = '$id' AND transitions < 50), \
(SELECT count(*) FROM iteration WHERE run_id = '$id' AND transitions >= 50), \
(SELECT count(value) FROM metric WHERE run_id = '$id' AND step >= 50), \
(SELECT count(episode_return) FROM evaluation WHERE run_id = '$id' AND transitions >= 50)") <(echo '49 8 8 8'))"

# ---- other sources
cat > table.sh <<'SH'
printf 'step,reward\n1,0.5\n2,1\n' > "$SWEEP_DIR/progress.csv"
printf 'step,reward,loss\n1,0.5,\n2,1,\n400,2,7\n' > "$SWEEP_DIR/new.csv"; sleep 1; mv "$SWEEP_DIR/new.csv" "$SWEEP_DIR/progress.csv"
SH
write table 'sh table.sh' 'metrics = csv:{dir}/progress.csv'
tap_run "CSV is read, and read on when it is written again" 0 "1 finished" timeout 60 sweep submit table.ini --wait
cat > said.sh <<'SH'
for step in 1 2 400; do echo "iteration $step: mean return $step.5 (of 10)"; done
SH
write said 'sh said.sh' 'metrics = stdout:step,reward=iteration ([0-9]+): mean return ([-0-9.e]+)'
tap_run "standard output is read by a regular expression" 0 "1 finished" timeout 60 sweep submit said.ini --wait
sweep collect > /dev/null 2>&1
for name in table said; do
  tap_check "$name: three rows" "$([ "$(rows "SELECT count(*), max(transitions) FROM iteration WHERE run_id = '$(basename "$(folder_of $name 0)")'")" = "3 400" ] ||
    rows "SELECT transitions, episode_return FROM iteration WHERE run_id = '$(basename "$(folder_of $name 0)")'")"
done
tap_check "its output is in the log, too" "$(grep -q 'mean return 400.5' "$(folder_of said 0)/log.txt" || cat "$(folder_of said 0)/log.txt")"
tap_done

#!/usr/bin/env bash
# Stops of programs below wrappers: each process is told once, the real program saves, and nothing outlives its run.
set -u
cd "$(dirname "$0")/../.."
. tests/cli/tap.sh
PATH=$SWEEP_BUILD/bin:$PATH
export SWEEP_ROOT=$tap_dir/work
mkdir -p "$SWEEP_ROOT"
cd "$tap_dir" || exit 1
trap 'sweep stop >/dev/null 2>&1; tap_cleanup' EXIT
folder_of() { local id; id=$(sed -n 3p "$SWEEP_ROOT/sweeps/$1/manifest.tsv" | cut -f2); echo "$SWEEP_ROOT/runs/${id:0:2}/$id"; }
state_of() { sed -n "s/^$2=//p" "$(folder_of "$1")/state" 2>/dev/null; }
has_status() { [ "$(state_of "$1" status)" = "$2" ]; }
has_file() { [ -s "$(folder_of "$1")/files/$2" ]; }
processes_of() { grep -lzx "SWEEP_DIR=$(folder_of "$1")/files" /proc/[0-9]*/environ 2>/dev/null; }
has_processes() { [ -n "$(processes_of "$1")" ]; }
has_none() { ! has_processes "$1"; }
write() { # NAME COMMAND [LINES of [program]...]
  { printf '[sweep]\nname = %s\n[program]\ncommand = %s\nstep = step%s\ncode = none\n' "$1" "$2" "${LAST:+ of $LAST}"
    [ $# -gt 2 ] && printf '%s\n' "${@:3}"
    printf '[settings]\nlabel = %s\n' "$1"; } > "$1.ini"
}

# Saves on SIGTERM, as long as $SAVE says; a second signal ends it at once, as in many training scripts.
cat > p.py <<'PY'
import json, os, signal, sys, time
here = os.environ["SWEEP_DIR"]
told = []
def stop(number, frame):
    told.append(number)
    open(here + "/signals", "a").write("%d\n" % number)
    if len(told) > 1: os._exit(1)
signal.signal(signal.SIGTERM, stop)
signal.signal(signal.SIGUSR2, stop)
step = int(open(here + "/last").read()) if os.path.exists(here + "/last") else 0
metrics = open(os.environ["SWEEP_METRICS"], "a")
for step in range(step + 1, 100000):
    metrics.write(json.dumps({"step": step}) + "\n"); metrics.flush()
    open(here + "/ready", "w").write("1")
    time.sleep(0.02)
    if told:
        end = time.time() + 0.7
        while time.time() < end: time.sleep(0.1)
        print("saving", flush=True)
        open(here + "/last", "w").write(str(step))
        sys.exit(int(os.environ.get("CODE", "75")))
PY

# stops NAME: starts it, stops it when the program runs, and checks that it saved, was told once and left nothing
stops() {
  sweep submit "$1.ini" > /dev/null
  tap_wait 60 has_file "$1" ready
  sweep stop > /dev/null
  tap_wait 60 has_status "$1" stopped
  tap_check "$2 saves before it is stopped" "$(has_status "$1" stopped && has_file "$1" last || { state_of "$1" status; tail "$(folder_of "$1")/log.txt"; })"
  tap_check "and is told once" "$([ "$(wc -l < "$(folder_of "$1")/files/signals")" = 1 ] || cat "$(folder_of "$1")/files/signals")"
  tap_check "and leaves no process" "$(processes_of "$1")"
}

write direct 'python3 p.py'
stops direct "a program without a wrapper"
printf 'export X=1\npython3 p.py\necho after > "$SWEEP_DIR/after"\n' > run.sh
write shell 'bash run.sh'
stops shell "a program below a shell script"
tap_check "and the script does not go on" "$(has_file shell after && echo "it did")"
write dash 'sh -c "python3 p.py; echo after > $SWEEP_DIR/after"'
stops dash "a program below sh -c"
printf 'trap "echo cleaned > $SWEEP_DIR/cleaned" EXIT\npython3 p.py\n' > cleaning.sh
write cleaning 'bash cleaning.sh'
stops cleaning "a program below a script that cleans up at its exit"
tap_check "and the script cleans up" "$(has_file cleaning cleaned || echo "it did not")"
printf 'trap "echo told" TERM\npython3 p.py\n' > heedless.sh
write heedless 'bash heedless.sh'
stops heedless "a program below a script that handles the signal and waits"
printf 'trap "" TERM\npython3 p.py\n' > deaf.sh
write deaf 'bash deaf.sh'
stops deaf "a program below a script that ignores the signal"
printf 'trap "kill -TERM \\$pid" TERM\npython3 p.py &\npid=$!\nwait $pid\n' > forwarding.sh
write forwarding 'bash forwarding.sh'
stops forwarding "a program below a script that forwards the signal and does not wait for it"
printf 'python3 p.py &\nwait\n' > background.sh
write background 'bash background.sh'
stops background "a program in the background of a script"
write piped 'bash -c "python3 p.py | tee $SWEEP_DIR/output; true"'
stops piped "a program in a pipeline"
tap_check "and can print until it has saved" "$(grep -q saving "$(folder_of piped)/files/output" || echo "no output")"
write session 'bash -c "setsid python3 p.py; true"'
stops session "a program in a session of its own"
cat > wrapper.py <<'PY'
import subprocess, sys
sys.exit(subprocess.call(sys.argv[1:]))
PY
write python 'python3 wrapper.py python3 p.py'
stops python "a program below Python's subprocess"
printf '#!/bin/sh\n"$@"\n' > script.sh
write conda 'python3 wrapper.py bash script.sh python3 p.py'
stops conda "a program below a script below Python, as conda runs it"
cat > launcher.py <<'PY'
import signal, subprocess, sys
child = subprocess.Popen(sys.argv[1:], start_new_session=True)
signal.signal(signal.SIGTERM, lambda number, frame: child.send_signal(number))
sys.exit(child.wait())
PY
write launcher 'python3 launcher.py python3 p.py'
stops launcher "a program below a launcher that forwards the signal to a session of its own"
cat > mute.py <<'PY'
import signal, subprocess, sys
signal.signal(signal.SIGTERM, lambda number, frame: None)
sys.exit(subprocess.call(sys.argv[1:]))
PY
write mute 'python3 mute.py python3 p.py' 'grace = 8'
stops mute "a program below a wrapper that keeps the signal to itself"
write prepared 'python3 p.py' 'setup = export X=1'
stops prepared "a program with a setup"
printf '(trap "" USR1; exec sleep 1000) &\nserver=$!\npython3 p.py\ncode=$?\nkill $server\nexit $code\n' > server.sh
write server 'sh server.sh'
stops server "a program that needs a server below its wrapper (as xvfb-run)"

# ---- workers
cat > workers.py <<'PY'
import multiprocessing, os, runpy, time
def work():
    while True: time.sleep(0.1)
if __name__ == "__main__":
    workers = [multiprocessing.Process(target=work, daemon=True) for _ in range(3)]
    for worker in workers: worker.start()
    try: runpy.run_path("p.py", run_name="__main__")
    finally: open(os.environ["SWEEP_DIR"] + "/workers", "w").write(str(sum(w.is_alive() for w in workers)))
PY
write workers 'python3 workers.py'
stops workers "a program with workers"
tap_check "and has them until it has saved" "$([ "$(cat "$(folder_of workers)/files/workers")" = 3 ] || cat "$(folder_of workers)/files/workers")"

# ---- exit code 0
CODE=0 write zero 'env CODE=0 python3 p.py'
stops zero "a program that exits with 0"
tap_run "without a known end it continues" 0 "1 runs to do" sweep submit zero.ini
tap_wait 60 eval 'has_status zero running'
sweep stop > /dev/null
tap_wait 60 has_status zero stopped
LAST=100000 write known 'env CODE=0 python3 p.py'
stops known "a program that exits with 0 before its known end"
LAST=1 write reached 'env CODE=0 python3 p.py'
sweep submit reached.ini > /dev/null
tap_wait 60 has_file reached ready
sweep stop > /dev/null
tap_wait 60 has_status reached finished
tap_result "after its known end it is finished" $?

# ---- the supervisor is killed in the grace time
printf 'trap "" TERM\nsetsid sleep 1000 &\necho 1 > "$SWEEP_DIR/ready"\nwhile :; do sleep 0.1; done\n' > stubborn.sh
write stubborn 'bash stubborn.sh' 'grace = 100'
sweep submit stubborn.ini > /dev/null
tap_wait 60 has_file stubborn ready
pid=$(state_of stubborn pid)
sweep stop > /dev/null &
tap_wait 60 grep -q forwarded "$(folder_of stubborn)/log.txt"
kill -9 "$pid"
wait
tap_wait 60 has_none stubborn
tap_result "if the supervisor is killed meanwhile, its processes end, too" $?

# ---- what outlives the first process
printf 'echo "{\\"step\\": 1}" >> "$SWEEP_METRICS"\n(sleep 1; echo "{\\"step\\": 2}" >> "$SWEEP_METRICS") > /dev/null 2>&1 &\n' > late.sh
write late 'sh late.sh'
tap_run "a process that outlives the first one" 0 "1 finished" sweep submit late.ini --wait
tap_check "has time to write its metrics" "$([ "$(state_of late iteration)" = 2 ] || state_of late iteration)"
write escaped 'sh -c "(setsid sh -c \"sleep 1000; true\" > /dev/null 2>&1 &); true"'
tap_run "one in a session of its own" 0 "1 finished" sweep submit escaped.ini --wait
tap_check "ends with the run" "$(processes_of escaped)"
printf 'python3 p.py > /dev/null 2>&1 &\nwhile [ ! -e "$SWEEP_DIR/ready" ]; do sleep 0.1; done\n' > abandoning.sh
LAST=100000 write abandoning 'sh abandoning.sh'
tap_run "a wrapper that does not wait for its program fails" 1 "while others ran" sweep submit abandoning.ini --wait
tap_check "and the program saves" "$(has_file abandoning last || echo "it did not")"

# ---- the same run in two workspaces
printf 'echo 1 > "$SWEEP_DIR/ready"; while [ ! -e "$SWEEP_DIR/go" ]; do sleep 0.1; done\n' > twice.sh
write twice 'sh twice.sh'
sweep submit twice.ini > /dev/null
tap_wait 60 has_file twice ready
cp -r work copy
rm -f copy/sweeps/twice/queued copy/runs/*/*/files/ready
mkdir other
for root in other copy; do
  SWEEP_ROOT=$tap_dir/$root sweep submit twice.ini > /dev/null 2>&1
  SWEEP_ROOT=$tap_dir/$root tap_wait 60 has_file twice ready
done
tap_check "the same run in another workspace, or in a copy, does not end it" "$(has_processes twice || tail "$(folder_of twice)/log.txt")"
for root in other copy work; do touch "$(SWEEP_ROOT=$tap_dir/$root folder_of twice)/files/go"; done
for root in other copy work; do
  SWEEP_ROOT=$tap_dir/$root tap_wait 60 has_status twice finished
  tap_check "$root: it finishes in its first attempt" "$([ "$(SWEEP_ROOT=$tap_dir/$root state_of twice attempt)" = "$([ $root = copy ] && echo 2 || echo 1)" ] || SWEEP_ROOT=$tap_dir/$root state_of twice attempt)"
done
tap_done

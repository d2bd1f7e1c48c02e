#!/usr/bin/env bash
# Ends of programs: signals below wrappers, limits, failing setups and scripts, and programs that log nothing.
set -u
cd "$(dirname "$0")/../.."
. tests/cli/tap.sh
PATH=$SWEEP_BUILD/bin:$PATH
export SWEEP_ROOT=$tap_dir/work
mkdir -p "$SWEEP_ROOT"
cd "$tap_dir" || exit 1
trap 'sweep stop > /dev/null 2>&1; sweep stop --root quiet > /dev/null 2>&1; tap_cleanup' EXIT
folder_of() { local id; id=$(sed -n 3p "$SWEEP_ROOT/sweeps/$1/manifest.tsv" | cut -f2); echo "$SWEEP_ROOT/runs/${id:0:2}/$id"; }
state_of() { sed -n "s/^$2=//p" "$(folder_of "$1")/state" 2>/dev/null; }
write() { # NAME COMMAND [LINES of [program]...]
  { printf '[sweep]\nname = %s\n[program]\ncommand = %s\nstep = step of 100\ncode = none\n' "$1" "$2"
    [ $# -gt 2 ] && printf '%s\n' "${@:3}"
    printf '[settings]\nlabel = %s\n' "$1"; } > "$1.ini"
}
ends() { # NAME CODE TEXT DESCRIPTION: it runs to its end
  tap_run "$4" "$2" "$3" timeout 120 sweep submit "$1.ini" --wait
}
starts() { tap_check "in its attempt $2" "$([ "$(state_of "$1" attempt)" = "$2" ] || state_of "$1" attempt)"; }

# ---- a run that logs nothing any more, and one that does, until the end of this test
printf 'echo "{\\"step\\": 1}" >> "$SWEEP_METRICS"; exec sleep 1000\n' > silent.sh
printf 'while :; do echo "{\\"step\\": 1}" >> "$SWEEP_METRICS"; sleep 1; done\n' > logging.sh
mkdir quiet
for name in silent logging; do
  write $name "sh $name.sh"
  SWEEP_ROOT=$tap_dir/quiet sweep submit $name.ini > /dev/null
done

# ---- killed below a wrapper
cat > killed.sh <<'SH'
[ "$SWEEP_ATTEMPT" = 1 ] && kill -KILL $$
echo '{"step": 100}' >> "$SWEEP_METRICS"
SH
write shell 'bash -c "bash killed.sh; exit $?"'
ends shell 0 "1 finished" "a program that is killed below a shell is restarted"
starts shell 2
if command -v python3 > /dev/null; then
  write python 'python3 -c "import subprocess, sys; sys.exit(subprocess.call([\"sh\", \"killed.sh\"]))"'
  printf 'import subprocess, sys\nsys.exit(subprocess.call(["sh", "killed.sh"]))\n' > wrapper.py
  write python 'python3 wrapper.py'
  ends python 0 "1 finished" "and so is one below Python"
  starts python 2
fi
printf 'kill -KILL $$\n' > always.sh
write always 'bash -c "sh always.sh; exit $?"'
ends always 1 "killed (SIGKILL), possibly out of memory" "one that is killed again and again fails"
starts always 3
printf 'kill -SEGV $$\n' > crash.sh
write crash 'bash -c "sh crash.sh; exit $?"'
ends crash 1 "killed by signal 11 (Segmentation fault)" "a crash below a shell is reported as one"
starts crash 1

# ---- limits
printf 'while :; do :; done\n' > busy.sh
for setup in 'ulimit -t 1' 'ulimit -S -t 1'; do
  name=cpu$((${#setup} > 11))
  write $name 'sh busy.sh' "setup = $setup"
  ends $name 1 "killed at its limit of CPU time (ulimit -t)" "a limit of CPU time is named: $setup"
  starts $name 1
done
printf 'ulimit -t 1\nsh busy.sh\n' > limited.sh
write limited 'bash limited.sh'
ends limited 1 "killed at its limit of CPU time (ulimit -t)" "also below a script that sets it"
starts limited 1
write small 'bash -c "ulimit -f 1; head -c 100000 /dev/zero > $SWEEP_DIR/file; exit $?"'
ends small 1 "File size limit exceeded" "so is a limit of file size"

# ---- setups and scripts
write conda 'true' 'setup = conda-that-is-absent activate rl'
ends conda 1 "conda-that-is-absent: command not found" "a setup that fails says why"
printf '#!/bin/sh\r\ntrue\r\n' > crlf.sh
printf '#!/usr/bin/env python3\r\npass\r\n' > env.sh
printf '#!/opt/absent/python3 -u\npass\n' > absent.sh
chmod +x crlf.sh env.sh absent.sh
write crlf './crlf.sh'
ends crlf 1 "its interpreter is '/bin/sh\\r'" "a script with Windows line ends is explained"
write crlf2 'sh crlf.sh'
sed -i 's/\btrue\r/no-command\r/' crlf.sh
ends crlf2 1 "Windows line ends" "also below sh"
write env './env.sh'
ends env 1 "Windows line ends, so its interpreter is '/usr/bin/env python3\\r'" "and below env"
write absent './absent.sh'
ends absent 1 "its interpreter '/opt/absent/python3' is missing" "a missing interpreter is named"

# ---- homes in containers
write home 'true'
for home in /proc /dev/null; do
  tap_run "HOME=$home: a way out is named" 1 "XDG_CONFIG_HOME=DIR selects" env -u XDG_CONFIG_HOME HOME=$home sweep submit home.ini --no-start
done

# ---- programs that log nothing
cat > stalls.sh <<'SH'
trap 'echo saved > "$SWEEP_DIR/saved"; exit 75' TERM
echo '{"step": 1}' >> "$SWEEP_METRICS"
while :; do sleep 0.1; done
SH
write stalls 'sh stalls.sh' 'stall = 2s'
ends stalls 1 "stalled: no record for 2s (stall)" "a program that logs nothing any more is ended"
tap_check "and told to save" "$([ -s "$(folder_of stalls)/files/saved" ] || echo "it was not")"
printf 'trap "" TERM\nwhile :; do sleep 0.1; done\n' > never.sh
write never 'sh never.sh' 'stall = 1' 'grace = 1s'
ends never 1 "stalled: no record for 1 (stall)" "so is one that never logged, and is deaf"
printf 'for i in 1 2 3 4 5 6 100; do echo "{\\"step\\": $i}" >> "$SWEEP_METRICS"; sleep 0.5; done\n' > slow.sh
write slow 'sh slow.sh' 'stall = 2s'
ends slow 0 "1 finished" "a slow one is not"
write odd 'true' 'stall = soon'
tap_run "stall is checked" 2 "stall = soon: expected at most 100 days" sweep plan odd.ini
SWEEP_ROOT=$tap_dir/quiet
tap_wait 120 grep -q '^message=no record for' "$(folder_of silent)/state"
tap_run "status tells how long a run has been silent" 0 "no record for" sweep status silent
tap_run "also as JSON" 0 '"reason": "no record for' sweep status silent --json
tap_check "but not that of a run that logs" "$(state_of logging message)"
tap_done

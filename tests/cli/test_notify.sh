#!/usr/bin/env bash
# Notifications on one machine, without Slurm: a program, and mail by a stand-in for sendmail. The first failure is
# reported while other runs continue, the end once; a hanging or failing notifier delays nothing and is logged. TAP.
set -u
. "$(dirname "$0")/tap.sh"
root=$tap_dir/root; mkdir "$root" "$tap_dir/bin" "$tap_dir/config" "$tap_dir/config/sweep"
cd "$tap_dir" || exit 1
export SWEEP_ROOT=$root PATH=$tap_dir/bin:$PATH XDG_CONFIG_HOME=$tap_dir/config
unset SWEEP_SITE
site() { printf '[notify]\n%s\n' "$@" >"$tap_dir/config/sweep/site.ini"; }
program() { printf '#!/bin/sh\n%s\n' "$2" >"bin/$1"; chmod +x "bin/$1"; } # NAME SCRIPT
program tell "{ echo \"\$SWEEP_EVENT \$SWEEP_NAME \$SWEEP_FINISHED of \$SWEEP_RUNS\"; cat; } >>$tap_dir/told"
program sendmail "{ echo \"to \$2\"; cat; } >>$tap_dir/mail"
experiment() { # NAME EPSILONS STEPS
  printf '[sweep]\nname = %s\nseeds = 1\n[env]\nnum = 16\nlevel_count = 8\n[ppo]\nnum_steps = 16\nnum_minibatches = 2\nepochs = 1\n[train]\ntotal_steps = %s\n[net]\nwidth = 8\n[eval]\ncount = 1\nepisodes = 8\n[grid g]\nppo.epsilon = %s\n' \
    "$1" "$3" "$2" >"$1.ini"
}
told() { grep -q "$1" "$tap_dir/told" 2>/dev/null; }
logged() { grep -q "$1" "$root/executor.log"; }

# ---- the end
site "command = tell" "mail = me@example.org"
experiment good 0.1,0.2 512
sweep submit good.ini --local --wait >out 2>&1 || { echo "Bail out! $(cat out)"; exit 1; }
tap_wait 60 told "end good 2 of 2"; tap_result "the end is reported to a program" $? "$(cat told; tail -5 "$root/executor.log")"
tap_check "with words for people" "$(grep -qx 'sweep good has ended: 2 of 2 runs finished' told || cat told)"
mailed() { grep -q '^Subject: sweep good has ended: 2 of 2 runs finished$' mail; }
tap_wait 60 mailed; tap_result "and by mail" $? "$(cat mail)"
tap_check "to the address of the user's file" "$(grep -qx 'to me@example.org' mail || cat mail)"

# ---- the first failure: a run whose directory blocks its checkpoints; another one continues
rm -f told
experiment bad 0.3,0.4 1e9
sweep submit bad.ini --no-start >/dev/null
id=$(sed -n 3p "$root/sweeps/bad/manifest.tsv" | cut -f2); mkdir -p "$root/runs/${id:0:2}/$id"; echo x >"$root/runs/${id:0:2}/$id/ckpt"
sweep submit bad --local --jobs 2 >out 2>&1
tap_wait 60 told "^failure bad"; tap_result "the first failure is reported while others continue" $? "$(cat told out; tail -5 "$root/executor.log"; sweep status bad)"
tap_check "with the run and its reason" "$(grep -q "^bad/0 ($id): .*ckpt" told || cat told)"
tap_check "the other run continues" "$(sweep status bad --json | tool json 0 run 1 status | grep -qx running || sweep status bad)"
sweep stop bad >/dev/null
is_idle() { ! sweep status bad --json | tool json 0 run 1 status | grep -qx running; }
tap_wait 60 is_idle
tap_check "reported once" "$(n=$(grep -c '^failure' told); [ "$n" = 1 ] || echo "$n times")"

# ---- notifiers that hang or fail
program hang "echo begun >>$tap_dir/hung; exec sleep 600"
site "command = hang"
experiment later 0.5 512
begun=$SECONDS
sweep submit later.ini --local --wait >out 2>&1
tap_check "a notifier that hangs holds up nothing" "$(sweep status later | grep -q '1 finished' || cat out)"
tap_wait 60 logged "the notification of the end was not sent: command: hang: timed out after 10 seconds"
tap_result "and is reported in the log" $? "$(tail -5 "$root/executor.log")"
program broken "echo no bell >&2; exit 4"
site "command = broken"
experiment last 0.6 512
sweep submit last.ini --local --wait >out 2>&1
tap_wait 60 logged "command: broken: exit code 4: no bell"; tap_result "so is one that fails" $? "$(tail -5 "$root/executor.log")"
tap_check "the sweep is as good as before" "$(sweep status last | grep -q '1 finished' || sweep status last)"

# ---- doctor
site "command = tell --secret word" "mail = me@example.org"
rm -f told
tap_expect "doctor shows the recipients, but no arguments" 0 "notify +tell; mail to me@example.org, on both" sweep doctor
tap_expect "and sends a test message" 0 "test message +sent: tell; mail to me@example.org" sweep doctor --notify
tap_check "which arrives" "$(told "^test test" || cat told)"
site "mail = nobody"
tap_run "an address that is none" 1 "site.ini:2:8: notify.mail is not" sweep doctor
tap_run "submit says so before anything starts" 2 "notify.mail is not an address" sweep submit good.ini --local --set sweep.name=other
site "on = both"
tap_run "no recipient" 1 "command = PROGRAM or mail = ADDRESS" sweep doctor --notify
tap_done

#!/usr/bin/env bash
# AllegroKuka's tasks: listed, stopped and resumed with the same values on other numbers of threads, and models that do
# not match. TAP.
set -u
. tests/cli/tap.sh
. tests/fault/pace.sh
. tests/fault/resume.sh
models=trainer/envs/models
task=mujoco/AllegroKukaRegrasping
tap_run "the tasks are in the list" 0 "mujoco/AllegroKukaReorientation             117  23 in -1 .. 1            30000" trainer tasks
if ! trainer --dry-run --set env.task=$task >"$tap_dir/out" 2>&1; then
  tap_skip "AllegroKuka's tasks" "$(head -1 "$tap_dir/out")"
  tap_done
fi

# ---- a run, with memory: stopped and resumed on another number of threads
cat >"$tap_dir/small.ini" <<INI
[algo]
name = sapg
[env]
task = $task
num = 12
normalize_observations = rl_games
[train]
total_steps = 3072
threads = 1
[ppo]
num_steps = 16
num_minibatches = 2
epochs = 1
reward_scale = 0.01
[sapg]
blocks = 3
sequence_length = 8
[net]
sharing = shared
memory = lstm
memory_width = 8
trunk_width = 8
depth = 0
[eval]
count = 0
[checkpoint]
every = 0
INI
tap_run "a run of SAPG with memory" 0 "finished, 16 of 16 iterations" train whole
stopped parts; code=$?
tap_result "a stop saves it" "$([ $code -eq 75 ]; echo $?)" "exit $code"
train parts --quiet --resume --set train.threads=2
same_bytes "stopped, and resumed on two threads: the bytes of an undisturbed run" whole parts

# ---- models that do not fit: an installation with its share/sweep/models
own=$tap_dir/own/share/sweep/models
mkdir -p "$tap_dir/own/bin" "$own"
cp "$(command -v trainer)" "$tap_dir/own/bin/"
kuka() { "$tap_dir/own/bin/trainer" --dry-run --set env.task=$task; }
changed() { # sed's script for the part that the three tasks share
  cp "$models"/allegro_kuka*.xml "$own"; sed "$1" "$models/allegro_kuka.xml" >"$own/allegro_kuka.xml"; kuka
}
tap_run "no model" 2 "cannot find the model allegro_kuka_regrasping.xml" kuka
tap_run "an installation's model" 0 "task = $task" changed ''
tap_run "a model of another version" 2 "is release 7 of the model, but this trainer requires release 1" \
  changed 's/name="release" data="1"/name="release" data="7"/'
tap_run "goals out of reach" 2 "goals of AllegroKukaRegrasping are up to 1.5" \
  changed 's/name="link_0" pos="0 0.8 0"/name="link_0" pos="0 1.3 0"/'
rm "$own/allegro_kuka.xml"
tap_run "a part that is absent" 2 "allegro_kuka.xml" kuka
tap_run "other numbers a world" 2 "has nuserdata = 9, but AllegroKukaRegrasping requires 30" \
  changed 's/nuserdata="30"/nuserdata="9"/'
tap_run "an object that is no box" 2 "must be a box with the model's last joint, a free joint" \
  changed 's/name="object" type="box" size="0.025 0.025 0.025"/name="object" type="sphere" size="0.025"/'
tap_run "actuators in another order" 2 "actuator 0 must control joint 0" \
  changed 's/class="arm" joint="arm_1"/class="arm" joint="arm_3"/'
tap_done

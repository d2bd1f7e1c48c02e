#!/usr/bin/env bash
# MuJoCo's tasks on the command line: errors name the remedy if a file is missing, damaged or of another version; a
# stopped and resumed run ends with the bytes of an uninterrupted one; threads and ranks change nothing. TAP.
set -u
. tests/cli/tap.sh
. tests/fault/pace.sh
. tests/fault/resume.sh
cheetah=(--set env.task=mujoco/HalfCheetah-v4)

# ---- without the library
tap_run "a task nearly right" 2 "did you mean mujoco/HalfCheetah-v" trainer --dry-run --set env.task=mujoco/HalfCheeta-v4
tap_run "no task behind the name" 2 "env.task = mujoco/ is not one of" trainer --dry-run --set env.task=mujoco/
tap_run "a path is no task" 2 "is not a MuJoCo task" trainer --dry-run --set env.task=mujoco/../x
tap_run "Q values of real numbers" 2 "set algo.name to ppo, ppo_ewma or sapg" \
  trainer --dry-run "${cheetah[@]}" --set algo.name=pqn
tap_run "a curriculum without levels" 2 "needs a level generator" trainer --dry-run "${cheetah[@]}" \
  --set env.curriculum=sfl
tap_run "the hands are in the list" 0 "mujoco/AllegroHand                           88  16 in -1 .. 1" trainer tasks
tap_run "the list has sizes" 0 "mujoco/Humanoid-v5                          348  17 in -0.4 .. 0.4" trainer tasks
tap_result "the list is JSON" "$(trainer tasks --json | grep -q '"task": *"mujoco/Ant-v4"'; echo $?)"

# ---- files that are not a library
mkdir "$tap_dir/empty"
home() { MUJOCO_HOME=$tap_dir/$1 trainer --dry-run "${cheetah[@]}"; }
if ! trainer --dry-run "${cheetah[@]}" >"$tap_dir/out" 2>&1; then
  tap_expect "without MuJoCo the message names the command" 2 "make mujoco" trainer --dry-run "${cheetah[@]}"
  tap_skip "the rest" "$(tail -n 1 "$tap_dir/out")"
  tap_done
fi
tap_run "a folder without a library" 2 "run \`make mujoco\`, or set MUJOCO_HOME" home empty
library=$(ls "${MUJOCO_HOME:-$SWEEP_BUILD/mujoco}"/lib/libmujoco.so*) models=${MUJOCO_HOME:-$SWEEP_BUILD/mujoco}/models
make_home() {
  mkdir -p "$tap_dir/$1"/{lib,models}
  ln -sf "$(readlink -f "$library")" "$tap_dir/$1/lib/"
  cp "$models"/*.xml "$tap_dir/$1/models/"
}

mkdir -p "$tap_dir/text/lib"; echo "no library" >"$tap_dir/text/lib/libmujoco.so.4"
tap_run "a library that is none" 2 "MUJOCO_HOME" home text
mkdir -p "$tap_dir/other/lib"
for name in versionString loadXML deleteModel makeData deleteData resetData forward step rnePostConstraint stateSize \
  getState setState name2id copyModel objectVelocity defaultVFS addBufferVFS deleteVFS; do echo "const char *mj_$name(void) { return \"3.3.7\"; }"; done >"$tap_dir/other.c"
echo "int mj_version(void) { return 3003007; }" >>"$tap_dir/other.c"
gcc -shared -fPIC -o "$tap_dir/other/lib/libmujoco.so.3.3.7" "$tap_dir/other.c"
tap_run "a library of another version" 2 "is MuJoCo 3.3.7, but this trainer was built for" home other
echo "int mj_version(void) { return 0; }" >"$tap_dir/other.c"
gcc -shared -fPIC -o "$tap_dir/other/lib/libmujoco.so.3.3.7" "$tap_dir/other.c"
tap_run "a library without the functions" 2 "has no mj_versionString" home other

# ---- files that are not a model
make_home bare; rm "$tap_dir/bare/models/half_cheetah.xml"
tap_run "a model that is absent" 2 "models/half_cheetah.xml is missing" home bare
make_home cut; head -c 2000 "$models/half_cheetah.xml" >"$tap_dir/cut/models/half_cheetah.xml"
tap_run "a model that is damaged" 2 "models/half_cheetah.xml: " home cut
make_home wrong; cp "$models/hopper.xml" "$tap_dir/wrong/models/half_cheetah.xml"
tap_run "a model of another task" 2 "is not a model of HalfCheetah-v4: it has 6 positions" home wrong

# ---- models of our own: an installation with its share/sweep/models
mkdir -p "$tap_dir/own/bin" "$tap_dir/own/share/sweep/models"
cp "$(command -v trainer)" "$tap_dir/own/bin/"
own=$tap_dir/own/share/sweep/models/allegro_hand.xml
hand() { MUJOCO_HOME=${library%/lib/*} "$tap_dir/own/bin/trainer" --dry-run --set env.task=mujoco/AllegroHand; }
changed_hand() { sed "$1" trainer/envs/models/allegro_hand.xml >"$own"; hand; }
tap_run "our model is absent" 2 "cannot find the model allegro_hand.xml" hand
tap_run "our model is there" 0 "task = mujoco/AllegroHand" changed_hand ''
tap_run "our model is of another version" 2 "is release 7 of the model, but this trainer requires release 1" \
  changed_hand 's/name="release" data="1"/name="release" data="7"/'
tap_run "our model without its release" 2 "is release 0 of the model" changed_hand '/name="release"/d'
tap_run "our model damaged" 2 "allegro_hand.xml: XML" changed_hand '40,$d'
tap_run "our model without a finger's joint" 2 "is not a model of AllegroHand: it has 22 positions" \
  changed_hand '/joint name="ring_joint_3"/d; /position class="hand" joint="ring_joint_3"/d'
tap_run "our model without the object" 2 'has no body "object"' changed_hand 's/body name="object"/body name="thing"/'
tap_run "our model with other numbers a world" 2 "has nuserdata = 9, but AllegroHand requires 21" \
  changed_hand 's/nuserdata="21"/nuserdata="9"/'
tap_run "our model without the goal" 2 'has no mocap body "goal"' changed_hand 's/body name="goal"/body name="aim"/'
tap_run "goals out of reach" 2 "out of reach; it must be closer than 0.24 m" \
  changed_hand 's/name="allegro_mount" pos="0 0 0.5"/name="allegro_mount" pos="0 0 1.5"/'
make_home others
tap_run "a model that includes a missing file" 2 "models/hand/robot.xml is missing; run \`make mujoco\`" \
  env MUJOCO_HOME="$tap_dir/others" trainer --dry-run --set env.task=mujoco/ShadowHand

# ---- a run: stopped and resumed, on other threads and ranks
cat >"$tap_dir/small.ini" <<'INI'
[env]
task = mujoco/Hopper-v4
num = 12
normalize_observations = cleanrl
normalize_rewards = cleanrl
[train]
threads = 1
total_steps = 7680
[ppo]
num_steps = 16
num_minibatches = 4
epochs = 2
normalize_advantage = minibatch_unbiased
[net]
width = 8
depth = 1
[eval]
episodes = 4
count = 2
[checkpoint]
every = 0
INI
tap_run "a run trains to its end" 0 "finished, 40 of 40 iterations" train whole
stopped parts; code=$?
tap_result "a stop saves it" "$([ $code -eq 75 ]; echo $?)" "exit $code"
make_home changed; sed -i 's/<mujoco/<!-- mine --><mujoco/' "$tap_dir/changed/models/hopper.xml"
tap_expect "a run does not resume with another model" 2 "another version of hopper.xml" \
  env MUJOCO_HOME="$tap_dir/changed" trainer --config "$tap_dir/small.ini" --root "$tap_dir/parts" --resume
train parts --quiet --resume
same_bytes "stopped and resumed: the bytes of an undisturbed run" whole parts
train threads --quiet --set train.threads=2
same_bytes "two threads: the same bytes" whole threads
if command -v mpirun >/dev/null 2>&1 && ! trainer info | grep -q '^MPI  *no'; then
  (. tests/mpi/launch.sh # its settings of Open MPI; its functions stay in here
   for ranks in 1 2; do
     mkdir "$tap_dir/rank$ranks"
     mpirun -n $ranks trainer --config "$tap_dir/small.ini" --root "$tap_dir/rank$ranks" --quiet \
       --set comm.deterministic=yes
   done) >"$tap_dir/out" 2>&1
  same_bytes "two ranks: the same bytes" rank1 rank2
else
  tap_skip "two ranks" "no MPI"
fi
tap_done

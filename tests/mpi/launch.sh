# Sourced by tests of several ranks, after cli/tap.sh and fault/pace.sh: runs of 1 to 4 processes in separate roots.
# Ranks may outnumber processors and are not bound, because a container may have any part of a machine; waiting ranks
# yield. Sets both names of each setting: Open MPI 4's and 5's.
export OMP_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none
export TMPDIR=/tmp # Open MPI's sockets lie there, and a socket's path has at most 107 bytes

# begin WHAT STEPS LINES...: into $tap_dir, with a small.ini of so many transitions, LINES ("section.key=value") over
# it. Ends the test where there is no MPI. Sets tests.
begin() {
  local what=$1 steps=$2; shift 2
  if ! command -v mpirun >/dev/null 2>&1; then tap_skip "$what" "mpirun is not installed"; tap_done; fi
  if trainer info | grep -q '^MPI  *no'; then tap_skip "$what" "the trainer was built without MPI"; tap_done; fi
  tests=$SWEEP_BUILD/tests/mpi
  cd "$tap_dir" || exit 1
  printf '%s\n' env.morphologies=car env.difficulty=0 env.level_count=4 env.num=12 train.total_steps="$steps" \
    algo.name=ppo_ewma ppo.num_steps=16 ppo.num_minibatches=2 ppo.epochs=2 net.width=16 net.depth=2 eval.episodes=6 \
    eval.count=2 metrics.representation_every=2 "$@" | sort |
    awk -F'[.=]' '$1 != section { section = $1; print "[" section "]" } { sub(/^[a-z]*\./, ""); print }' >small.ini
}

folder() { echo "$1"/runs/*/*; }
newest() { ls "$1"/runs/*/*/ckpt/iteration-*.ckpt 2>/dev/null | tail -1; }
contents() { trainer checkpoint "$(newest "$1")" | grep -vE '^file|section +clock'; } # less its name and the clock
state() { sed -n "s/^$2=//p" "$(folder "$1")/state"; }
# process_of RANK ROOT: its id, as the run's log has it
process_of() { sed -n "s/.*rank $1 of .* on .*process \([0-9]*\).*/\1/p" "$(folder "$2")/log.txt" | tail -1; }

# train RANKS ROOT OPTIONS...: to its end
train() {
  local ranks=$1 root=$2 program; shift 2
  mkdir -p "$root"
  program=(trainer)
  [ "$ranks" = 1 ] || program=(mpirun -n "$ranks" trainer)
  timeout 300 "${program[@]}" --config small.ini --root "$root" --quiet "$@"
}
# launch RANKS ROOT OPTIONS...: in the background, until it has saved a checkpoint. Sets pid; its output is in `out`.
launch() {
  local ranks=$1 root=$2 program before; shift 2
  mkdir -p "$root"
  before=$(newest "$root")
  program=("$paced")
  [ "$ranks" = 1 ] || program=(mpirun -n "$ranks" "$paced")
  "${program[@]}" --config small.ini --root "$root" --quiet "$@" >out 2>&1 & pid=$!
  saved_since() { [ "$(newest "$root")" != "$before" ]; }
  tap_wait 120 saved_since || echo "# no checkpoint: $(tail -3 out)"
}
# ends PID: its exit code, when it ends by itself within two minutes
ends() {
  ended() { ! kill -0 "$1" 2>/dev/null; }
  tap_wait 120 ended "$1" || { echo "# it does not end"; kill -9 "$1"; }
  wait "$1"
}

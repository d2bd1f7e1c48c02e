# Sourced by tests of several ranks, after cli/tap.sh and fault/pace.sh, in $tap_dir with a small.ini: runs of 1 to 4
# processes in roots of their own. More ranks than processors, and ranks that are bound to none of them, since a
# container may have any part of a machine; those that wait let others work. Both names of each setting: Open MPI 4's
# and 5's.
export OMP_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none
export TMPDIR=/tmp # Open MPI's sockets lie there, and a socket's path has at most 107 bytes

folder() { echo "$1"/runs/*/*; }
newest() { ls "$1"/runs/*/*/ckpt/*.ckpt 2>/dev/null | tail -1; }
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
# launch RANKS ROOT OPTIONS...: in the background, until it has saved a checkpoint. Sets pid; what it says is in `out`.
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

#!/usr/bin/env bash
# Alternatives that a user would consider, timed on this machine: CSV rows of part "peer". A missing peer is reported as
# a comment with the way to install it; nothing else depends on Python.
#   PEER_JAX=python that has jax2d and kinetix-env    PEER_TORCH=python that has torch    (default: python3)
#   PEER_MUJOCO=python that has gymnasium and envpool
#   PEER_CLEANRL=the folder of CleanRL's scripts (or one of them), PEER_CLEANRL_PYTHON=python that has what they import
#   PEER_ENVIRONMENTS=python that has gymnasium, ale-py and procgen2: not here, bench_environments starts it
#   PEER_STATS=python that has rliable and pandas; PEER_ROWS=the file whose rows pandas reads (bench_large plain);
#   PEER_RESULTS=the results.db that it reads as it is (bench_large make)
# Usage: run.sh [PEER_JAX|PEER_MUJOCO|PEER_CLEANRL_PYTHON|PEER_STATS|PEER_TORCH [SCRIPT [CASE ...]]]
#   only this one, of which only SCRIPT, of whose rows only these
set -u
cd "$(dirname "$0")"
wanted=${1:-} wanted_script=${2:-}
cases=("${@:3}")
peer() { # name, python, module, packages, scripts...
  local name=$1 python=$2 module=$3 packages=$4; shift 4
  [ -z "$wanted" ] || [ "$wanted" = "$name" ] || return 0
  if ! command -v "$python" >/dev/null 2>&1 || ! "$python" -c "import $module" >/dev/null 2>&1; then
    echo "# peer $name: not installed; python3 -m venv peer && peer/bin/pip install $packages, then set ${name}=peer/bin/python"
    return
  fi
  for script in "$@"; do
    [ -z "$wanted_script" ] || [ "$wanted_script" = "$script" ] || continue
    "$python" "$script" ${cases[@]+"${cases[@]}"} 2>/dev/null || echo "# peer $name: $script failed; run it alone to see why"
  done
}
peer PEER_JAX "${PEER_JAX:-python3}" kinetix "jax==0.5.3 jaxlib==0.5.3 jax2d==1.0.1 kinetix-env==2.0.2" \
  jax_environment.py jax_ppo.py jax_transformer.py
peer PEER_MUJOCO "${PEER_MUJOCO:-python3}" gymnasium "'gymnasium[mujoco]==1.4.0' envpool" mujoco_environment.py
peer PEER_CLEANRL_PYTHON "${PEER_CLEANRL_PYTHON:-python3}" tyro \
  "'gymnasium[mujoco]==0.29.1' 'mujoco==2.3.3' 'numpy<2' torch tyro tensorboard 'gym==0.23.1' procgen2 'ale-py==0.10.1' opencv-python-headless" cleanrl_ppo.py
peer PEER_STATS "${PEER_STATS:-python3}" rliable "rliable==1.2.0 arch==7.2.0 'pandas<3'" analysis_statistics.py read_sql.py
peer PEER_TORCH "${PEER_TORCH:-python3}" torch "torch numpy" torch_update.py torch_convolution.py

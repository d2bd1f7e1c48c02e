"""Transitions per second of CleanRL's PPO by its own scripts, with their own settings, for comparison with our rows of the same names:

  ppo_HalfCheetah  ppo_continuous_action.py, 1 environment x 2048 steps
  ppo_Breakout     ppo_atari.py, 8 x 128
  ppo_starpilot    ppo_procgen.py, 64 x 32 and one minibatch, which has the 2048 rows of its 64 x 256 and eight

Each runs unchanged, and again with its memory reused (rows.py). The scripts are not part of this tree: PEER_CLEANRL
names their directory, or one of them. They count steps per second since their start. To install them, in a Python of
their own:

  python3 -m venv cleanrl
  cleanrl/bin/pip install 'gymnasium[mujoco]==0.29.1' 'mujoco==2.3.3' 'numpy<2' torch tyro tensorboard
  cleanrl/bin/pip install 'gym==0.23.1' procgen2 'ale-py==0.10.1' opencv-python-headless   # ppo_atari, ppo_procgen
  git clone --depth 1 https://github.com/vwxyzjn/cleanrl cleanrl/source
  make bench ONLY=mujoco PEER_CLEANRL_PYTHON=$PWD/cleanrl/bin/python PEER_CLEANRL=$PWD/cleanrl/source/cleanrl

Usage: cleanrl_ppo.py [CASE ...]"""
import os
import re
import subprocess
import sys
import tempfile

from rows import KEPT, THREADS, row

CASES = {
    "ppo_HalfCheetah": ("ppo_continuous_action.py", "--env-id HalfCheetah-v4 --total-timesteps 40960"),
    "ppo_Breakout": ("ppo_atari.py", "--env-id BreakoutNoFrameskip-v4 --total-timesteps 6144"),
    "ppo_starpilot": ("ppo_procgen.py", "--env-id starpilot --num-steps 32 --num-minibatches 1 --total-timesteps 8192"),
}
# Games are registered by hand since Gymnasium 1.0; OpenCV's own threads and torch's would wait for each other.
START = """
import runpy, sys
try:
    import ale_py, gymnasium
    getattr(gymnasium, "register_envs", id)(ale_py)
except ImportError:
    pass
try:
    import cv2
    cv2.setNumThreads(0)
except ImportError:
    pass
import torch
torch.set_num_threads(%d)
sys.argv = sys.argv[1:]
sys.path.insert(0, %r)
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def measure(case, folder, suffix, settings):
    name, options = CASES[case]
    script = os.path.join(folder, name)
    if not os.path.exists(script):
        print(f"# peer CleanRL, {case}: {folder} has no {name} (github.com/vwxyzjn/cleanrl, folder cleanrl)", flush=True)
        return
    command = [sys.executable, "-W", "ignore", "-c", START % (THREADS, folder), script, *options.split(), "--no-cuda"]
    with tempfile.TemporaryDirectory() as runs:  # it writes runs/
        done = subprocess.run(command, cwd=runs, capture_output=True, text=True,
                              env=os.environ | {"OMP_WAIT_POLICY": "PASSIVE"} | settings)
    speeds = re.findall(r"SPS: (\d+)", done.stdout)
    if speeds:
        row(case + suffix, "steps_per_second", float(speeds[-1]), "environment steps/s", "CleanRL")
    else:
        last = (done.stderr.strip().splitlines() or ["it printed no SPS"])[-1]
        print(f"# peer CleanRL, {case}: {last}", flush=True)


where = os.environ.get("PEER_CLEANRL")
if not where:
    print("# peer CleanRL: PEER_CLEANRL names the folder of its scripts (github.com/vwxyzjn/cleanrl, folder cleanrl)")
    sys.exit()
where = os.path.abspath(where)
folder = where if os.path.isdir(where) else os.path.dirname(where)
for wanted in sys.argv[1:] or CASES:
    for suffix, settings in (("", {}), ("_kept", KEPT)):
        measure(wanted, folder, suffix, settings)

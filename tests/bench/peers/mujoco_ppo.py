"""Transitions per second of CleanRL's ppo_continuous_action on HalfCheetah-v4, 1 environment x 2048 steps, by its own
script, which is no part of this tree: PEER_CLEANRL names the file. Usage: mujoco_ppo.py [TRANSITIONS]"""
import os
import re
import subprocess
import sys
import tempfile

from rows import row

script = os.environ.get("PEER_CLEANRL")
if not script:
    print("# peer CleanRL: PEER_CLEANRL=ppo_continuous_action.py names its script (github.com/vwxyzjn/cleanrl)")
    sys.exit()
command = [sys.executable, os.path.abspath(script), "--env-id", "HalfCheetah-v4", "--total-timesteps",
           sys.argv[1] if len(sys.argv) > 1 else "40960", "--no-cuda"]
with tempfile.TemporaryDirectory() as folder: # it writes runs/
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
speeds = re.findall(r"SPS: (\d+)", done.stdout) # since its start, printed each iteration
if not speeds:
    sys.exit("%s printed no SPS: %s" % (script, done.stderr[-2000:]))
row("ppo_HalfCheetah", "steps_per_second", float(speeds[-1]), "environment steps/s", "CleanRL")

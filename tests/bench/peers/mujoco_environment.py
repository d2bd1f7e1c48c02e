"""Environment steps per second of Gymnasium's SyncVectorEnv and of EnvPool on the tasks of bench_mujoco.c, under random
actions; a step of a peer is an environment step too (frame skip included). Usage: mujoco_environment.py [SECONDS a row]"""
import sys
import time
import warnings

import gymnasium
import numpy as np
from rows import THREADS, row

warnings.filterwarnings("ignore")
TASKS, WORLDS, SETS = ("HalfCheetah", "Ant", "Humanoid", "Walker2d"), 64, 16
SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 4.0


def steps_per_second(step, actions):
    """step(actions) steps all worlds once. The best of three parts of the time, after a fourth that warms up."""
    best = 0.0
    for part in range(4):
        begun, calls = time.perf_counter(), 0
        while time.perf_counter() - begun < SECONDS / 4:
            step(actions[calls % SETS])
            calls += 1
        if part > 0:
            best = max(best, calls * WORLDS / (time.perf_counter() - begun))
    return best


def draw(space):
    rng = np.random.default_rng(1)
    return rng.uniform(space.low.flat[0], space.high.flat[0], (SETS, WORLDS, space.shape[-1])).astype(np.float32)


for task in TASKS:
    envs = gymnasium.make_vec(task + "-v4", num_envs=WORLDS, vectorization_mode="sync")
    envs.reset(seed=1)
    row("step_" + task, "steps_per_second", steps_per_second(envs.step, draw(envs.single_action_space)),
        "environment steps/s", "gymnasium " + gymnasium.__version__)
    envs.close()
try:
    import envpool
except ImportError:
    print("# peer envpool: not installed in this Python")
    sys.exit()
for task in TASKS:
    envs = envpool.make_gymnasium(task + "-v4", num_envs=WORLDS, num_threads=THREADS, seed=1)
    envs.reset()
    row("step_" + task, "steps_per_second", steps_per_second(envs.step, draw(envs.action_space)), "environment steps/s",
        "envpool " + envpool.__version__)
    envs.close()

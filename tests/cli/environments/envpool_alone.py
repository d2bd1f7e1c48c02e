"""Plays EnvPool's environments with its own next-step resets and prints the output of tests/cli/cli_env.c for the trainer's.

    envpool_alone.py ID WORLDS STEPS SEED

One pool per world, seeded as by the trainer with SEED. The step after an end, whose action has no effect, is played but
not counted.
"""

import sys

import envpool
import numpy
from seeds import pool_seed

name, worlds, steps, seed = sys.argv[1], *(int(word) for word in sys.argv[2:5])


def fnv(row):
    data = row if row.dtype == numpy.uint8 else row.astype(numpy.float32)
    value = 14695981039346656037
    for byte in data.tobytes():
        value = (value ^ byte) * 1099511628211 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


lines = {}
for world in range(worlds):
    count = int(envpool.make_spec(name).gymnasium_action_space.n)
    pool = envpool.make(name, env_type="gymnasium", num_envs=1, seed=pool_seed(seed, world))
    shown, length = pool.reset()[0], 0
    lines[-1, world] = f"-1 {world} {fnv(shown[0])} 0 0 0 0 0 {'0' * 16}"
    for t in range(steps):
        shown, reward, terminated, truncated, _ = pool.step(numpy.array([(5 * t + 3 * world + t // 7) % count]))
        done, late, length, last = bool(terminated[0] or truncated[0]), not terminated[0] and bool(truncated[0]), length + 1, "0" * 16
        if done:
            last = fnv(shown[0])
            shown, nothing, *ends, _ = pool.step(numpy.array([0]))
            assert nothing[0] == 0 and not ends[0][0] and not ends[1][0]
        lines[t, world] = f"{t} {world} {fnv(shown[0])} {reward[0]:g} {done:d} {late:d} {done:d} {length} {last}"
        length = 0 if done else length
for key in sorted(lines):
    print(lines[key])

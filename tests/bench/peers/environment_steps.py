"""An environment in plain Python, for tests/bench/bench_peer.h: prints "ready", then for each line with a number of
seconds steps for that time under random actions and prints environment steps per second.

Usage: environment_steps.py TASK WORLDS THREADS    TASK: gym/ID, vector/ID, atari/ROM, procgen/GAME"""

import contextlib
import os
import sys
import time
import warnings

warnings.filterwarnings("ignore")
SETS = 16


def make_gym(name, worlds, threads):
    import gymnasium
    from gymnasium.vector import AutoresetMode, SyncVectorEnv

    envs = SyncVectorEnv([lambda: gymnasium.make(name)] * worlds, autoreset_mode=AutoresetMode.SAME_STEP)
    envs.reset(seed=1)
    return envs.step, envs.single_action_space.n


def make_vector(name, worlds, threads):
    import gymnasium

    envs = gymnasium.make_vec(name, num_envs=worlds, vectorization_mode="vector_entry_point")
    envs.reset(seed=1)
    return envs.step, envs.single_action_space.n


def make_atari(name, worlds, threads):
    from ale_py.vector_env import AtariVectorEnv

    envs = AtariVectorEnv(name, worlds, num_threads=min(worlds, threads), autoreset_mode="SameStep", frameskip=4,
                          noop_max=30, use_fire_reset=True, life_loss_info=True, reward_clipping=False)
    envs.reset(seed=1)
    return envs.step, envs.single_action_space.n


def make_procgen(name, worlds, threads):
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):  # gym says that it is old
        from procgen import ProcgenGym3Env

    envs = ProcgenGym3Env(num=worlds, env_name=name, distribution_mode="easy", num_threads=threads)

    def step(actions):
        envs.act(actions)
        return envs.observe()

    return step, 15


MAKERS = {"gym": make_gym, "vector": make_vector, "atari": make_atari, "procgen": make_procgen}
COMMANDS = {
    "procgen": "-m pip install numpy cffi pillow && {0} -m pip install --no-deps procgen2==0.10.7 gym3 gym==0.26.2 "
               "gym_notices imageio glfw moderngl glcontext",
}


def main():
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what environments print is no answer
    kind, _, name = sys.argv[1].partition("/")
    worlds, threads = int(sys.argv[2]), int(sys.argv[3])
    try:
        import numpy

        step, count = MAKERS[kind](name, worlds, threads)
    except ImportError as error:
        command = COMMANDS.get(kind, "-m pip install gymnasium ale-py").format(sys.executable)
        print(f"{error}; {sys.executable} {command}", file=out, flush=True)
        return
    actions = numpy.random.default_rng(1).integers(0, count, (SETS, worlds)).astype(numpy.int32)
    print("ready", file=out, flush=True)
    for line in sys.stdin:
        seconds, calls, begun = float(line), 0, time.perf_counter()
        while (passed := time.perf_counter() - begun) < seconds:
            for _ in range(4):
                step(actions[calls % SETS])
                calls += 1
        print(calls * worlds / passed, file=out, flush=True)


main()

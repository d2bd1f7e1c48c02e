"""Still-v0: worlds that do nothing, for the time of a turn of the bridge (tests/bench/bench_environments.c). Python imports
this at its start; SWEEP_BENCH_STILL asks for it.

All worlds of a vector environment are stepped at once: Gymnasium's SyncVectorEnv answers with the same arrays at every
step. The reward of world 0 is the time of that step in microseconds."""

import os

if "SWEEP_BENCH_STILL" in os.environ:
    import time

    import gymnasium
    import numpy

    class Still(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(-1, 1, (4,), numpy.float32)
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, seed=None, options=None):
            super().reset(seed=seed)
            return numpy.zeros(4, numpy.float32), {}

    def step(self, actions):
        begun = time.perf_counter_ns()
        if not hasattr(self, "still"):
            worlds = self.num_envs
            rewards, never = numpy.zeros(worlds), numpy.zeros(worlds, bool)
            self.still = numpy.zeros((worlds, 4), numpy.float32), rewards, never, never, {}
        self.still[1][0] = (time.perf_counter_ns() - begun) / 1000
        return self.still

    gymnasium.vector.SyncVectorEnv.step = step
    gymnasium.register("Still-v0", entry_point=Still)

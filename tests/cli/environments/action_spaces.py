"""An environment per kind of action space, whose step accepts only actions in the space; for
tests/cli/test_export_policy.sh. Rewards pull actions beyond their bounds."""

import gymnasium
import numpy
from gymnasium import spaces

INF = numpy.inf
SPACES = {
    "Discrete": spaces.Discrete(3),
    "DiscreteFrom": spaces.Discrete(4, start=-2),
    "Multi": spaces.MultiDiscrete([2, 3]),
    "MultiFrom": spaces.MultiDiscrete([2, 3], start=[5, -1]),
    "MultiSquare": spaces.MultiDiscrete([[2, 3], [4, 2]], start=[[0, 1], [2, -3]]),
    "MultiSmall": spaces.MultiDiscrete([2, 3], dtype=numpy.int32),
    "Binary": spaces.MultiBinary(3),
    "BinarySquare": spaces.MultiBinary((2, 2)),
    "Unit": spaces.Box(-1, 1, (2,), numpy.float32),
    "Double": spaces.Box(-0.1, 0.1, (2,), numpy.float64),
    "Half": spaces.Box(0.1, 0.3, (1,), numpy.float16),
    "Single": spaces.Box(-0.5, 0.5, (), numpy.float32),
    "Square": spaces.Box(-0.2, 0.4, (2, 2), numpy.float32),
    "Uneven": spaces.Box(numpy.array([-0.3, 0.0]), numpy.array([0.3, 2.0]), dtype=numpy.float32),
    "HalfBounded": spaces.Box(numpy.array([0.0, -INF]), numpy.array([INF, 0.3]), dtype=numpy.float64),
    "Unbounded": spaces.Box(-INF, INF, (2,), numpy.float32),
    "Int8": spaces.Box(-2, 2, (3,), numpy.int8),
    "UInt8": spaces.Box(0, 255, (2,), numpy.uint8),
    "Int32": spaces.Box(numpy.array([-1, 0]), numpy.array([0, 7]), dtype=numpy.int32),
    "Int64": spaces.Box(-3, 3, (2,), numpy.int64),
}


class Strict(gymnasium.Env):
    observation_space = spaces.Box(-10, 10, (3,), numpy.float32)

    def __init__(self, space):
        self.action_space = space

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.observation_space.sample(), {}

    def step(self, action):
        assert self.action_space.contains(action), (action, self.action_space)
        self.steps += 1
        value = float(numpy.sum(action, dtype="float64"))
        return self.observation_space.sample(), value if self.steps % 2 else -value, self.steps == 8, False, {}


for name, space in SPACES.items():
    gymnasium.register(f"{name}-v0", entry_point=Strict, kwargs={"space": space})

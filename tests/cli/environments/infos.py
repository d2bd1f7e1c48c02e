"""Environments whose infos report numbers, for tests/cli/test_info.sh: episodes of four steps, all the same."""

import gymnasium
import numpy


class Infos(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(0, 10, (1,), numpy.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return numpy.array([0], numpy.float32), {"distance": 1e6}

    def step(self, action):
        self.steps += 1
        ended = self.steps == 4
        info = self.info(ended)
        return numpy.array([self.steps], numpy.float32), 1.0, ended, False, info

    def info(self, ended):
        """Distances 1 to 4; `is_success` is false until the last step."""
        info = {
            "distance": numpy.float32(self.steps),
            "is_success": ended,
            "array/0d": numpy.array(2),
            "fallen": numpy.bool_(self.steps % 2),
            "odd": 1.0 if self.steps == 1 else float("nan"),
            "endless": -float("inf"),
            "huge": 10**400,
            "text": "3",
            "word": numpy.str_("3"),
            "vector": numpy.ones(3),
            "complex": 1j,
            "../escape": 1.0,
            "x'; DROP TABLE run; --": 1.0,
            7: 7.0,
        }
        if ended:
            info["episode"] = {"r": numpy.float64(4), "l": 4}
            info["final_info"] = {"energy": 0.5}
        return info


class Many(Infos):
    """Reports hundreds of numbers, under other names in each step, and success last."""

    count = 0

    def info(self, ended):
        Many.count += 200
        return {f"n{Many.count + i}": float(i) for i in range(200)} | {"is_success": ended}


class Half(Infos):
    """Succeeds in every second episode of a world, and reports it as `success`."""

    episode = 0

    def info(self, ended):
        self.episode += ended
        return {"success": numpy.array(self.episode % 2)}


for kind in Infos, Many, Half:
    gymnasium.register(kind.__name__ + "-v0", entry_point=kind)

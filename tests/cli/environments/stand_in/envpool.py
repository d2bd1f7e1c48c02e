"""A stand-in for EnvPool, which needs 650 MB, with its rules: an ended episode restarts in that world's next step, whose
action has no effect; reset(ids) restarts worlds; results arrive in any order, with info["env_id"].

Worlds count to ten (rewards 1 to 10), observe the index of the step and a random number sampled from the seed at each start.
Those of odd seeds are truncated by the time limit."""

import types

import gymnasium
import numpy

__version__ = "stand-in"


def list_all_envs():
    return ["Count-v0", "Counter-v0"]


def make_spec(name):
    return types.SimpleNamespace(
        gymnasium_observation_space=gymnasium.spaces.Box(-100, 100, (2,), numpy.float64),
        gymnasium_action_space=gymnasium.spaces.Discrete(3),
        config=types.SimpleNamespace(max_episode_steps=10),
    )


class Pool:
    def __init__(self, worlds, seed):
        self.late = numpy.array([(seed + world) % 2 for world in range(worlds)], bool)
        self.draws = [numpy.random.default_rng(seed + world) for world in range(worlds)]
        self.steps, self.mark = [0] * worlds, [0.0] * worlds

    def begin(self, world):
        self.steps[world], self.mark[world] = 0, self.draws[world].random()

    def answer(self, numbers, rewards):
        numbers = numpy.array(numbers)[::-1]
        shown = numpy.array([[self.steps[world], self.mark[world]] for world in numbers])
        over = numpy.array([self.steps[world] == 10 for world in numbers])
        late = over & self.late[numbers]
        return shown, numpy.array(rewards[::-1], "float32"), over & ~late, late, {"env_id": numbers}

    def reset(self, numbers=None):
        numbers = range(len(self.steps)) if numbers is None else numbers
        for world in numbers:
            self.begin(world)
        shown, *_, info = self.answer(list(numbers), [0] * len(numbers))
        order = info["env_id"].argsort() if len(numbers) == len(self.steps) else slice(None)
        return shown[order], {"env_id": info["env_id"][order]}

    def step(self, actions, numbers=None):
        numbers = range(len(self.steps)) if numbers is None else numbers
        rewards = []
        for world in numbers:
            if self.steps[world] == 10:
                self.begin(world)
                rewards.append(0)
            else:
                self.steps[world] += 1
                rewards.append(self.steps[world])
        return self.answer(list(numbers), rewards)

    def close(self):
        pass


def make(name, env_type, num_envs, seed=42):
    assert env_type == "gymnasium" and name in list_all_envs()
    return Pool(num_envs, seed)

"""Environments that cause warnings or errors of Gymnasium's checker, and still train; for tests/cli/test_check_env.sh."""

import os
import subprocess
import sys
import time

import gymnasium
import numpy

in_checker = sys.argv[-1:] == ["check=1"]


class Good(gymnasium.Env):
    """Episodes of five steps, with nothing to say of."""

    observation_space = gymnasium.spaces.Box(-10, 10, (2,), numpy.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def see(self):
        return numpy.array([self.steps, self.start], numpy.float32)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.steps, self.start = 0, self.np_random.random()
        if in_checker:
            self.meet_checker()
        return self.see(), {}

    def step(self, action):
        time.sleep(float(os.environ.get("SWEEP_TEST_PAUSE", 0)))
        self.steps += 1
        return self.see(), 1.0 if action else 0.0, self.steps == 5, False, {}

    def meet_checker(self):
        pass


class Wrapped(gymnasium.Wrapper):
    """A registered wrapper whose environment alone would fail."""

    def __init__(self):
        super().__init__(Drifts())

    def reset(self, seed=None, options=None):
        self.env.reset(seed=seed)
        self.env.start = 0.0
        return self.env.see(), {}


class Lists(Good):
    def see(self):
        return [float(self.steps), float(self.start)]


class Drifts(Good):
    """Starts at a random state, independent of the seed."""

    def reset(self, seed=None, options=None):
        observation, info = super().reset(seed=seed)
        self.start = float(numpy.random.default_rng().random())
        return self.see(), info


class Talks(Good):
    def meet_checker(self):
        for i in range(30):
            gymnasium.logger.warn(f"\x1b[31;1mremark {i}\x1b[0m \x07bell \u202eturned\nnext line " + 500 * "long ")


class Raises(Good):
    def meet_checker(self):
        raise RuntimeError("no\x1b[2J license")


class Hangs(Good):
    def meet_checker(self):
        time.sleep(1000)


class Exits(Good):
    def meet_checker(self):
        print("out of credit", file=sys.stderr, flush=True)
        os._exit(3)


class Crashes(Good):
    def meet_checker(self):
        os.kill(os.getpid(), 11)


class Prints(Good):
    def meet_checker(self):
        print(1000 * (999 * "x" + "\n"), flush=True)


class Leaves(Good):
    """Leaves a process behind that keeps what it has inherited."""

    def meet_checker(self):
        subprocess.Popen(["sleep", "1000"], start_new_session=True).args
        os._exit(4)


class Closed(Good):
    def close(self):
        with open(os.environ["SWEEP_TEST_CLOSED"], "a") as file:
            file.write(f"{in_checker}\n")


class Clings(Lists):
    """Does not let itself be closed."""

    def close(self):
        if in_checker:
            time.sleep(1000)


for kind in list(globals().values()):
    if isinstance(kind, type) and issubclass(kind, gymnasium.Env) and kind.__module__ == __name__:
        gymnasium.register(f"{kind.__name__}-v0", entry_point=kind)

"""Environments with the faults of real ones, for tests/cli/test_bridge.sh: Python imports this at its start."""

import contextlib
import os
import sys
import time

if os.path.basename(sys.argv[0] if sys.argv else "") in ("worker.py", "-c", "") and "SWEEP_TEST_ENVIRONMENTS" in os.environ:
    import gymnasium
    import numpy
    import seeds

    class Count(gymnasium.Env):
        """Episodes of ten steps; observations and rewards are the number of the step."""

        observation_space = gymnasium.spaces.Box(-100, 100, (2,), numpy.float32)
        action_space = gymnasium.spaces.Discrete(3)
        at = 3  # the step at which something goes wrong

        def reset(self, seed=None, options=None):
            super().reset(seed=seed)
            self.steps = 0
            return self.see(), {}

        def see(self):
            return numpy.array([self.steps, 1.0], numpy.float32)

        def wrong(self):
            pass

        def step(self, action):
            self.steps += 1
            if self.steps == self.at:
                self.wrong()
            return self.see(), float(self.steps), self.steps == 10, False, {}

    class Raises(Count):
        def wrong(self):
            raise ValueError("the wheel came off")

    class Hangs(Count):
        def wrong(self):
            time.sleep(1000)

    class Dies(Count):
        def wrong(self):
            os.kill(os.getpid(), 9)

    class Prints(Count):
        def wrong(self):
            print("a word on stdout", flush=True)

    class Forks(Count):
        def wrong(self):
            if os.fork() == 0:
                time.sleep(1000)

    class Doubles(Count):
        """Forks a process that goes on as if it were the worker."""

        worker = os.getpid()

        def wrong(self):
            if os.getpid() == self.worker:
                os.fork()

    class Nan(Count):
        def see(self):
            return numpy.array([numpy.nan if self.steps == 3 else 0.0, 1.0], numpy.float32)

    class Lost(Count):
        """Ends because it is lost: its last observation is not finite."""

        def see(self):
            return numpy.array([numpy.nan if self.steps == 10 else self.steps, 1.0], numpy.float32)

    class Late(Lost):
        def step(self, action):
            observation, reward, terminated, _, info = super().step(action)
            return observation, reward, False, terminated, info

    class Shape(Count):
        def see(self):
            return numpy.zeros(3 if self.steps == 3 else 2, numpy.float32)

    class Ahead(Count):
        """Of two worlds of a run with seed 1000 the second one's step ends when the first one's next step has begun."""

        world, all = -1, 0

        def reset(self, seed=None, options=None):
            if seed is not None:
                own = [seeds.world_seed(1000, world) for world in range(2)]
                self.world, self.all = own.index(seed) if seed in own else -1, 0
            return super().reset(seed=seed)

        def step(self, action):
            began = os.environ["SWEEP_TEST_AHEAD"]
            self.all += 1
            if self.world == 0:
                with open(began + ".new", "w") as file:
                    file.write(str(self.all))
                os.replace(began + ".new", began)
            while self.world == 1 and self.all % 16:  # the last of a rollout is awaited at once
                with contextlib.suppress(FileNotFoundError, ValueError):
                    if int(open(began).read()) > self.all:
                        break
                time.sleep(0.001)
            return super().step(action)

    in_checker = sys.argv[-1:] == ["check=1"]

    class Told(Count):
        """Writes its seeds to the file $SWEEP_TEST_SEEDS, and a line to $SWEEP_TEST_MADE for each instance; those of
        Gymnasium's checker to the same names with .check."""

        end = ".check" if in_checker else ""

        def __init__(self):
            with open(os.environ["SWEEP_TEST_MADE"] + self.end, "a") as file:
                file.write(f"{os.getpid()}\n")

        def reset(self, seed=None, options=None):
            if seed is not None:
                with open(os.environ["SWEEP_TEST_SEEDS"] + self.end, "a") as file:
                    file.write(f"{seed}\n")
            return super().reset(seed=seed)

    class Endless(Count):
        def step(self, action):
            observation, _, _, truncated, info = super().step(action)
            return observation, 1.0, False, truncated, info

    class Some(Endless):
        """Worlds with an even seed end at their tenth step, the others never."""

        def reset(self, seed=None, options=None):
            self.ends = seed % 2 == 0 if seed is not None else self.ends
            return super().reset(seed=seed)

        def step(self, action):
            observation, reward, _, truncated, info = super().step(action)
            return observation, reward, self.ends and self.steps == 10, truncated, info

    class Stuck(Count):
        """In a run with seed 0: the worlds of one purpose ($SWEEP_TEST_STUCK: its number and which of them) do not come back
        from their fourth step. The file $SWEEP_TEST_MARK is then there."""

        stuck = False

        def reset(self, seed=None, options=None):
            if seed is not None and "SWEEP_TEST_STUCK" in os.environ:
                purpose, number = (int(word) for word in os.environ["SWEEP_TEST_STUCK"].split())
                self.stuck = seed in [seeds.world_seed(0, world, purpose, number) for world in range(8)]
            return super().reset(seed=seed)

        def step(self, action):
            if self.stuck and self.steps == 3:
                open(os.environ["SWEEP_TEST_MARK"], "w").close()
                time.sleep(1000)
            return super().step(action)

    class Checked(Count):
        """Takes what its space has, and nothing else."""

        def step(self, action):
            assert self.action_space.contains(action), action
            return super().step(action)

    class Folded(Checked):
        observation_space = gymnasium.spaces.Dict(
            {"a": gymnasium.spaces.Discrete(3), "b": gymnasium.spaces.Tuple((gymnasium.spaces.Box(-1, 1, (2, 2)),))}
        )
        action_space = gymnasium.spaces.MultiDiscrete([2, 3], start=[5, -1])

        def see(self):
            return {"a": self.steps % 3, "b": (numpy.zeros((2, 2), numpy.float32),)}

    class Bits(Count):
        action_space = gymnasium.spaces.MultiBinary(3)

        def step(self, action):
            assert action.shape == (3,) and set(action) <= {0, 1}
            return super().step(action)

    class Uneven(Checked):
        action_space = gymnasium.spaces.Box(numpy.array([-1.0, 0.0]), numpy.array([1.0, 0.5]), dtype=numpy.float32)

    class Whole(Checked):
        action_space = gymnasium.spaces.Box(-3, 3, (2,), dtype=numpy.int64)

    class Words(Count):
        observation_space = gymnasium.spaces.Text(10)

    class Picture(Count):
        """Pixels that follow from the number of the step and of the pixel."""

        shape = 5, 7

        def __init__(self):
            self.observation_space = gymnasium.spaces.Box(0, 255, self.shape, numpy.uint8)

        def see(self):
            pixels = numpy.arange(numpy.prod(self.shape), dtype=int) * 31 + self.steps * 7
            return (pixels % 256).astype(numpy.uint8).reshape(self.shape)

    class Colored(Picture):
        shape = 5, 7, 3

    class Stacked(Picture):
        shape = 4, 5, 7

    class StackedColors(Picture):
        shape = 2, 5, 7, 3

    class Row(Picture):
        shape = (35,)

    class Screen(Picture):
        shape = 240, 320, 3

    class Film(Picture):
        """Four frames of one shade each, which is 25 times the number of their step; before the first, copies of it."""

        shape = 4, 40, 40

        def see(self):
            shades = [25 * max(0, self.steps - 3 + frame) for frame in range(4)]
            return numpy.ones(self.shape, numpy.uint8) * numpy.array(shades, numpy.uint8)[:, None, None]

    class Turns(Colored):
        def see(self):
            return super().see().reshape((7, 5, 3) if self.steps == 3 else self.shape)

    class Floats(Colored):
        def see(self):
            return super().see().astype(float if self.steps == 3 else numpy.uint8)

    for kind in (Count, Told, Endless, Some, Stuck, Ahead, Raises, Hangs, Dies, Prints, Forks, Doubles, Nan, Lost, Late, Shape, Folded, Bits, Uneven, Whole, Words, Picture,
                 Colored, Stacked, StackedColors, Row, Screen, Film, Turns, Floats):
        gymnasium.register(f"{kind.__name__}-v0", entry_point=kind)
    gymnasium.register("Endless-v1", entry_point=Endless, max_episode_steps=10**9)

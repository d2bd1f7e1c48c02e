"""libsim's worlds as environments of Gymnasium: KinetixVectorEnv, many that step together, and KinetixEnv, one alone.

The arithmetic is libsim's; here are spaces, buffers and Gymnasium's conventions.
"""
from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from . import libsim
from .errors import Error

BINDINGS = 6             # four of motors, two of thrusters
_LIMIT = 10.0            # observations lie within +-10


def _action_space(actions: str) -> spaces.Space:
    if actions == "multi_discrete":
        return spaces.MultiDiscrete([3, 3, 3, 3, 2, 2])
    if actions == "discrete":
        return spaces.Discrete(11)
    low = np.array([-1, -1, -1, -1, 0, 0], dtype=np.float32)
    return spaces.Box(low, np.ones(BINDINGS, np.float32), dtype=np.float32)


def _options(worlds: int, seed: int, settings: dict[str, Any]) -> libsim.Options:
    options = libsim.load().libsim_options_default()
    options.worlds, options.seed = worlds, seed % 2**64
    for name, names in (("actions", libsim.ACTIONS), ("reset", libsim.RESETS)):
        if name in settings and settings[name] not in names:
            raise Error(f"{name}={settings[name]!r}: must be one of {', '.join(names)}")
    known = {"actions": libsim.ACTIONS, "reset": libsim.RESETS}
    allowed = ("actions", "reset", "threads", "frame_skip", "max_steps", "dense_reward", "auto_reset",
               "compact_observations")
    for name, value in settings.items():
        if name not in allowed:
            raise Error(f"{name}: not an option of libsim; options: {', '.join(allowed)}")
        setattr(options, name, known[name].index(value) if name in known else value)
    return options


class _Actions:
    """Actions of Gymnasium as libsim's array: uint8 [worlds][6] or [worlds], or float32 [worlds][6]."""

    def __init__(self, kind: str, worlds: int) -> None:
        self.shape = (worlds,) if kind == "discrete" else (worlds, BINDINGS)
        self._continuous = kind == "continuous"
        self._array = np.zeros(self.shape, np.float32 if self._continuous else np.uint8)
        self.address = self._array.ctypes.data

    def take(self, actions: Any) -> int:
        """Copies them and gives the array's address. Unknown classes do nothing, in libsim and here."""
        given = np.asarray(actions)
        if given.shape != self.shape:
            raise Error(f"actions of shape {given.shape}: must be {self.shape}")
        if self._continuous:
            np.copyto(self._array, given, casting="same_kind")
        elif given.dtype.kind not in "iu":
            raise Error(f"actions of {given.dtype}: must be integers")
        elif given.dtype == np.uint8:
            np.copyto(self._array, given)
        else:                                   # 257 must not become 1
            np.copyto(self._array, np.minimum(given.astype(f"u{given.itemsize}"), 255), casting="unsafe")
        return self.address


class KinetixVectorEnv(VectorEnv):
    """Many worlds of libsim as one vector environment of Gymnasium, with resets in the same step.

    The observation after an episode's end is the next episode's first. Every end is a termination, the time limit's
    too, as in Kinetix: `truncations` are all False. `infos` has arrays of the step that ended: "solved", "level" (its
    number in the set; -1: in no set) and "episode_steps". Where episodes ended it also has, as Gymnasium's
    SyncVectorEnv, "final_obs" (their last observations, None for other worlds) and "final_info" (what `infos` says of
    them), with "_final_obs" and "_final_info" telling which worlds these are.

    >>> worlds = KinetixVectorEnv(4, "loco512:car", max_steps=64)
    >>> observations, infos = worlds.reset(seed=1)
    >>> observations, rewards, terminations, truncations, infos = worlds.step(worlds.action_space.sample())
    >>> observations.shape == (4, worlds.single_observation_space.shape[0]), rewards.dtype.name, terminations.shape
    (True, 'float64', (4,))
    >>> worlds.close()
    """

    metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}

    def __init__(self, num_envs: int, levels: str = "m", *, level_count: int = 64, level_seed: int = 0, seed: int = 0,
                 copy: bool = True, **options: Any) -> None:
        """levels: "s", "m", "l": `level_count` random ones of this size, drawn by level_seed; "loco512", or
        "loco512:car+hopper:0+1" for families and difficulties; or level files and directories, joined by '+'.

        seed: of the worlds, until reset(seed=...). copy=False: step() gives the same arrays each time, which its next
        call overwrites. options: actions ("multi_discrete", "discrete", "continuous"), reset ("level_set", "same",
        "new", "new_filtered"), threads, frame_skip, max_steps, dense_reward, compact_observations (docs/libsim.md).

        Raises LibraryError with libsim's message, and Error for options that there are not."""
        if "auto_reset" in options:
            raise Error("auto_reset: a vector environment always has it; KinetixEnv has none")
        self.num_envs, self._copy, self._settings = num_envs, copy, options
        self._levels = libsim.Levels(levels, level_count, level_seed)
        self._start(seed)
        kind = options.get("actions", "multi_discrete")
        self.single_observation_space = spaces.Box(-_LIMIT, _LIMIT, (self._batch.length,), np.float32)
        self.single_action_space = _action_space(kind)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._actions = _Actions(kind, num_envs)
        self._truncated = np.zeros(num_envs, np.bool_)
        self._last = np.zeros((num_envs, self._batch.length), np.float32)
        self._fresh = self._arrays()

    def _start(self, seed: int) -> None:
        self._batch = libsim.Batch(_options(self.num_envs, seed, self._settings), self._levels)
        self._is_seeded = True

    def _arrays(self) -> tuple[dict[str, np.ndarray], libsim.Step]:
        """Arrays for what a step gives, and their addresses."""
        worlds = self.num_envs
        arrays = {"observations": np.empty((worlds, self._batch.length), np.float32),
                  "reward": np.empty(worlds, np.float32), "done": np.empty(worlds, np.bool_),
                  "solved": np.empty(worlds, np.bool_), "level": np.empty(worlds, np.int32),
                  "episode_steps": np.empty(worlds, np.int32)}
        return arrays, libsim.Step(**{name: array.ctypes.data for name, array in arrays.items()})

    def _next_arrays(self) -> tuple[dict[str, np.ndarray], libsim.Step]:
        return self._arrays() if self._copy else self._fresh

    def _add_final(self, infos: dict[str, Any], done: np.ndarray) -> None:
        """Adds what Gymnasium's convention for resets in the same step has of episodes that ended."""
        final = np.full(self.num_envs, None, dtype=object)
        for world in np.flatnonzero(done):
            final[world] = self._last[world].copy()
        ended = done.copy()
        of_ended = {name: values * ended for name, values in infos.items()}
        of_ended.update({f"_{name}": ended for name in infos})
        infos.update(final_obs=final, _final_obs=ended, final_info=of_ended, _final_info=ended)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None,
              ) -> tuple[np.ndarray, dict[str, Any]]:
        """Starts an episode in every world. seed: of all of them together; None: goes on with other random numbers,
        except at the first reset. options={"level": numbers} starts world w on level number[w], where it stays."""
        if seed is not None and not isinstance(seed, (int, np.integer)):
            raise Error("seed: one number for all worlds, which differ by their places")
        super().reset(seed=None if seed is None else int(seed))
        if seed is not None:
            self._start(int(seed))
        elif not self._is_seeded:
            self._start(int(self.np_random.integers(2**63)))
        self._is_seeded = False
        observations = self._next_arrays()[0]["observations"]
        if options and "level" in options:
            level = np.array(np.broadcast_to(options["level"], (self.num_envs,)), dtype=np.int32)
            self._batch.reset_to(level.ctypes.data, observations.ctypes.data)
        else:
            self._batch.reset(observations.ctypes.data)
        return observations, {}

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """One step of all worlds. observations [worlds][features] float32, rewards [worlds] float64."""
        arrays, out = self._next_arrays()
        self._batch.step(self._actions.take(actions), out, self._last.ctypes.data)
        truncated = self._truncated.copy() if self._copy else self._truncated
        infos: dict[str, Any] = {name: arrays[name] for name in ("solved", "level", "episode_steps")}
        if arrays["done"].any():
            self._add_final(infos, arrays["done"])
        return arrays["observations"], arrays["reward"].astype(np.float64), arrays["done"], truncated, infos

    def draw(self, world: int = 0, pixels: int = 256) -> str:
        """A world as an SVG document of `pixels` a side."""
        return self._batch.draw(world, pixels)

    def close_extras(self, **_: Any) -> None:
        """Gives the memory back."""
        self._batch.close()
        self._levels.close()


class KinetixEnv(gymnasium.Env):
    """One world of libsim; has the arguments of KinetixVectorEnv. An end by the time limit is a truncation here.

    >>> world = KinetixEnv("loco512:car")
    >>> observation, info = world.reset(seed=1)
    >>> world.observation_space.contains(observation)
    True
    """

    metadata = {"render_modes": []}

    def __init__(self, levels: str = "m", **settings: Any) -> None:
        self._set = {name: settings.pop(name) for name in ("level_count", "level_seed") if name in settings}
        self._levels = libsim.Levels(levels, self._set.get("level_count", 64), self._set.get("level_seed", 0))
        self._settings = {**settings, "auto_reset": 0}
        self._start(0)
        kind = settings.get("actions", "multi_discrete")
        self.observation_space = spaces.Box(-_LIMIT, _LIMIT, (self._batch.length,), np.float32)
        self.action_space = _action_space(kind)
        self._actions = _Actions(kind, 1)

    def _start(self, seed: int) -> None:
        options = _options(1, seed, self._settings)
        options.done_reason = 1
        self._batch = libsim.Batch(options, self._levels)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None,
              ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._start(int(self.np_random.integers(2**63)))
        observation = np.empty(self._batch.length, np.float32)
        self._batch.reset(observation.ctypes.data)
        return observation, {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        observation, reward = np.empty(self._batch.length, np.float32), np.empty(1, np.float32)
        done, solved = np.zeros(1, np.uint8), np.zeros(1, np.bool_)
        level, steps = np.zeros(1, np.int32), np.zeros(1, np.int32)
        out = libsim.Step(*(a.ctypes.data for a in (observation, reward, done, solved, level, steps)))
        self._batch.step(self._actions.take(np.asarray(action)[None]), out)
        info = {"solved": bool(solved[0]), "level": int(level[0]), "episode_steps": int(steps[0])}
        return observation, float(reward[0]), bool(done[0] == 1), bool(done[0] == 2), info

    def close(self) -> None:
        self._batch.close()
        self._levels.close()

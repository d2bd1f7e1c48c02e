"""libsim through ctypes: declarations of sim/library/sim.h. Used by worlds.py."""
from __future__ import annotations

import ctypes
import ctypes.util
import os
import site
import sysconfig
from ctypes import POINTER, byref, c_char, c_char_p, c_float, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, Sequence

from .errors import LibraryError

NAME = "libsim.so.1"    # the number changes with the structures below
ACTIONS = ("multi_discrete", "discrete", "continuous")              # LibsimActions
RESETS = ("level_set", "same", "new", "new_filtered")               # LibsimReset


class Options(ctypes.Structure):
    """LibsimOptions."""

    _fields_ = [("seed", c_uint64), ("first_world", c_uint32), ("worlds", c_int32), ("threads", c_int32),
                ("frame_skip", c_int32), ("max_steps", c_int32), ("dense_reward", c_float), ("auto_reset", c_int32),
                ("compact_observations", c_int32), ("pad_writes_zero", c_int32), ("actions", c_int32),
                ("reset", c_int32), ("new_size", c_int32), ("done_reason", c_int32), ("reserved", c_int32 * 17)]


class Step(ctypes.Structure):
    """LibsimStep: addresses of arrays; NULL: not needed."""

    _fields_ = [(name, c_void_p) for name in
                ("observations", "reward", "done", "solved", "level", "episode_steps")]


_SIGNATURES: dict[str, tuple[Any, Sequence[Any]]] = {
    "libsim_version": (c_char_p, []),
    "libsim_error": (c_char_p, []),
    "libsim_free": (None, [c_void_p]),
    "libsim_levels_read": (c_int32, [c_char_p, POINTER(c_void_p)]),
    "libsim_levels_loco512": (c_int32, [c_char_p, c_char_p, c_int32, POINTER(c_void_p)]),
    "libsim_levels_random": (c_int32, [c_char, c_uint64, c_uint32, c_int32, c_int32, POINTER(c_void_p)]),
    "libsim_levels_destroy": (None, [POINTER(c_void_p)]),
    "libsim_levels_count": (c_int32, [c_void_p]),
    "libsim_options_default": (Options, []),
    "libsim_create": (c_int32, [POINTER(Options), c_void_p, POINTER(c_void_p)]),
    "libsim_destroy": (None, [POINTER(c_void_p)]),
    "libsim_actions": (c_int32, [c_void_p]),
    "libsim_observation_length": (c_int32, [c_void_p]),
    "libsim_reset": (c_int32, [c_void_p, c_void_p]),
    "libsim_reset_to": (c_int32, [c_void_p, c_void_p, c_void_p]),
    "libsim_step_final": (c_int32, [c_void_p, c_void_p, POINTER(Step), c_void_p]),
    "libsim_draw": (c_int32, [c_void_p, c_int32, c_int32, POINTER(c_void_p)]),
}
_loaded: ctypes.CDLL | None = None


def _path() -> str:
    """$LIBSIM, else the file that the package ppo_sweep has put into this Python's prefix, else the system's libsim."""
    if named := os.environ.get("LIBSIM"):
        return named
    for prefix in (sysconfig.get_path("data"), site.getuserbase()):
        if os.path.exists(packaged := os.path.join(prefix, "lib", NAME)):
            return packaged
    return NAME


def load() -> ctypes.CDLL:
    """Loads libsim. Raises LibraryError."""
    global _loaded
    if _loaded is None:
        path = _path()
        try:
            library = ctypes.CDLL(path)
            for name, (result, arguments) in _SIGNATURES.items():
                function = getattr(library, name)
                function.restype, function.argtypes = result, arguments
        except (OSError, AttributeError) as error:
            raise LibraryError(f"{path}: cannot be loaded: {error}; make install-lib puts it into PREFIX/lib, and "
                               "LIBSIM=/path/to/libsim.so.1 names it") from None
        _loaded = library
    return _loaded


def check(code: int) -> None:
    """Raises LibraryError with the library's message if a call failed."""
    if code != 0:
        raise LibraryError(load().libsim_error().decode(errors="replace"))


class Levels:
    """A set of levels: levels("m"), levels("loco512:car+hopper"), levels("folder/car.json")."""

    def __init__(self, name: str, count: int, seed: int) -> None:
        """name: "s", "m" or "l" for `count` filtered random levels of `seed`; "loco512" or
        "loco512:FAMILIES[:DIFFICULTY]" for at most `count` of these; anything else: files and
        directories as for libsim_levels_read."""
        self._library, self.handle = load(), c_void_p()
        if name in ("s", "m", "l"):
            check(self._library.libsim_levels_random(name.encode(), seed, 0, count, 1, byref(self.handle)))
        elif name.split(":")[0] == "loco512":
            parts = name.split(":")
            families, difficulty = (parts + ["all", "all"][len(parts) - 1:])[1:3] if len(parts) < 4 else ("", "")
            check(self._library.libsim_levels_loco512(families.encode(), difficulty.encode(), count,
                                                      byref(self.handle)))
        else:
            check(self._library.libsim_levels_read(os.fsencode(name), byref(self.handle)))

    def __len__(self) -> int:
        return self._library.libsim_levels_count(self.handle)

    def close(self) -> None:
        self._library.libsim_levels_destroy(byref(self.handle))

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self.close()


class Batch:
    """Worlds that step together. Arrays are given by address and must be long enough (sim.h)."""

    def __init__(self, options: Options, levels: Levels) -> None:
        self._library, self.handle = load(), c_void_p()
        check(self._library.libsim_create(byref(options), levels.handle, byref(self.handle)))
        self.length: int = self._library.libsim_observation_length(self.handle)

    def reset(self, observations: int) -> None:
        check(self._library.libsim_reset(self.handle, observations))

    def reset_to(self, levels: int, observations: int) -> None:
        check(self._library.libsim_reset_to(self.handle, levels, observations))

    def step(self, actions: int, out: Step, final_observations: int | None = None) -> None:
        """final_observations: an array's address; None: not needed."""
        if self._library.libsim_step_final(self.handle, actions, byref(out), final_observations) != 0:
            check(1)

    def draw(self, world: int, pixels: int) -> str:
        """Draws world `world` as an SVG document."""
        text = c_void_p()
        check(self._library.libsim_draw(self.handle, world, pixels, byref(text)))
        try:
            return ctypes.string_at(text).decode()
        finally:
            self._library.libsim_free(text)

    def close(self) -> None:
        self._library.libsim_destroy(byref(self.handle))

    def __del__(self) -> None:
        if getattr(self, "handle", None):
            self.close()

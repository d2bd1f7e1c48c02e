"""The Kinetix environment on the hand-designed levels of one size, as its authors' package ships them."""
import glob
import os
from importlib.metadata import version

import jax
import jax.numpy as jnp
import kinetix
from kinetix.environment import ActionType, ObservationType
from kinetix.environment import env as kinetix_env
from kinetix.environment.env_state import EnvParams, StaticEnvParams
from kinetix.util import saving

SIZES = {"s": (5, 2, 1, 1), "m": (6, 3, 2, 2), "l": (12, 4, 6, 2)}  # polygons, circles, joints, thrusters
FOLDER = os.environ.get("KINETIX_LEVELS") or os.path.join(os.path.dirname(kinetix.__file__), "levels")
VERSION = "jax2d %s kinetix-env %s jax %s" % tuple(version(p) for p in ("jax2d", "kinetix-env", "jax"))
PARAMS = EnvParams().replace(dense_reward_scale=0.2)


def static_params(size):
    polygons, circles, joints, thrusters = SIZES[size]
    return StaticEnvParams().replace(num_polygons=polygons, num_circles=circles, num_joints=joints,
                                     num_thrusters=thrusters, frame_skip=2)


def load(size):
    """All levels of the size, stacked."""
    files = sorted(glob.glob(os.path.join(os.path.abspath(FOLDER), size, "*.json")))
    if not files:
        raise SystemExit("no level files in %s/%s; set KINETIX_LEVELS" % (FOLDER, size))
    states = [saving.expand_env_state(saving.get_env_state_from_json(file), static_params(size)) for file in files]
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)


def worlds(levels, n):
    """n worlds, the levels in turn."""
    count = jax.tree.leaves(levels)[0].shape[0]
    return jax.tree.map(lambda leaf: leaf[jnp.arange(n) % count], levels)


def make_env(size, levels):
    """Auto-reset to a level drawn uniformly."""
    count = jax.tree.leaves(levels)[0].shape[0]

    def draw(key):
        level = jax.random.randint(key, (), 0, count)
        return jax.tree.map(lambda leaf: leaf[level], levels)
    return kinetix_env.make_kinetix_env(ActionType.MULTI_DISCRETE, ObservationType.SYMBOLIC_FLAT, draw, PARAMS,
                                        static_params(size), auto_reset=True)

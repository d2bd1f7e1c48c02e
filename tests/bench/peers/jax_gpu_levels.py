"""Writes the levels of `bench_device physics` as Kinetix' states: levels/{s,m,l}.npz next to this file, for jax_gpu.py
and jax_gpu_transformer.py.
Usage: jax_gpu_levels.py build/lib/libsim.so [SIZES, default sml]"""
import ctypes
import json
import os
import sys

import jax
import numpy as np
from jax2d.engine import calculate_collision_matrix, get_empty_collision_manifolds
from kinetix.environment.utils import create_empty_env

import jax_gpu

LEVELS, SEED = 256, 3
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "levels")


def value(v):
    return np.array([value(v[str(i)]) for i in range(len(v))]) if isinstance(v, dict) else v


def rows(part, objects):
    """The part of a state with what the level's file has of each object."""
    out = {}
    for name in part.__dataclass_fields__:
        old = getattr(part, name)
        out[name] = old
        if name in objects[0]:
            out[name] = np.array([value(o[name]) for o in objects]).astype(old.dtype)
            assert out[name].shape == old.shape, name
    return part.replace(**out)


def state(empty, level, static):
    def of(part, key, like):
        return np.array([o[key] for o in level[part]]).astype(like.dtype)
    filled = empty.replace(
        **{part: rows(getattr(empty, part), level[part]) for part in ("polygon", "circle", "joint", "thruster")},
        polygon_shape_roles=of("polygon", "role", empty.polygon_shape_roles),
        circle_shape_roles=of("circle", "role", empty.circle_shape_roles),
        polygon_densities=of("polygon", "density", empty.polygon_densities),
        circle_densities=of("circle", "density", empty.circle_densities),
        motor_bindings=of("joint", "motor_binding", empty.motor_bindings),
        thruster_bindings=of("thruster", "thruster_binding", empty.thruster_bindings),
        gravity=value(level["gravity"]).astype(empty.gravity.dtype))
    polygons, circles, both = get_empty_collision_manifolds(static)
    return jax.tree.map(np.asarray, filled.replace(
        collision_matrix=calculate_collision_matrix(static, filled.joint), acc_rr_manifolds=polygons,
        acc_cr_manifolds=circles, acc_cc_manifolds=both))


def main(library, sizes="sml"):
    lib = ctypes.CDLL(library)
    os.makedirs(FOLDER, exist_ok=True)
    for size in sizes:
        levels, text, states = ctypes.c_void_p(), ctypes.c_char_p(), []
        static = jax_gpu.static_params(size)
        empty = jax.tree.map(np.asarray, create_empty_env(static))
        if lib.libsim_levels_random(ctypes.c_char(size.encode()), ctypes.c_uint64(SEED), ctypes.c_uint32(0), LEVELS, 0,
                                    ctypes.byref(levels)):
            raise SystemExit("libsim_levels_random failed")
        for i in range(LEVELS):
            if lib.libsim_levels_write(levels, i, ctypes.byref(text)):
                raise SystemExit("libsim_levels_write failed")
            states.append(state(empty, json.loads(text.value)["env_state"], static))
        leaves = [np.stack(leaf) for leaf in zip(*map(jax.tree.leaves, states))]
        np.savez_compressed(os.path.join(FOLDER, size + ".npz"), **{"%03d" % i: leaf for i, leaf in enumerate(leaves)})


if __name__ == "__main__":
    main(*sys.argv[1:3])

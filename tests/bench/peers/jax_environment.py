"""Steps per second of Jax2D's engine and of the Kinetix environment (frame skip 2, reward, observation, auto-reset) on the
hand-designed levels of each size, random actions, the best of several batch sizes. Usage: jax_environment.py [s m l]"""
import sys

import jax
import jax.numpy as jnp
import kinetix_levels as kx
from jax2d.engine import PhysicsEngine
from rows import best_seconds, row

STEPS = 32
BATCHES = (128, 1024)


def engine_rate(size, levels, n):
    static = kx.static_params(size)
    engine, start = PhysicsEngine(static), kx.worlds(levels, n)
    shape = (STEPS, n, static.num_joints + static.num_thrusters)
    actions = jax.random.uniform(jax.random.PRNGKey(0), shape, minval=-1, maxval=1)

    @jax.jit
    def run(state):
        def step(state, action):
            return jax.vmap(engine.step, (0, None, 0))(state, kx.PARAMS, action)[0], None
        return jax.lax.scan(step, state, actions)[0].polygon.position
    return n * STEPS / best_seconds(lambda: jax.block_until_ready(run(start)))


def environment_rate(size, levels, n):
    env, start = kx.make_env(size, levels), kx.worlds(levels, n)
    keys = jax.random.split(jax.random.PRNGKey(2), (STEPS, n))
    classes = jnp.array([3, 3, 3, 3, 2, 2])
    actions = jax.random.randint(jax.random.PRNGKey(1), (STEPS, n, 6), 0, classes)

    @jax.jit
    def run(state):
        def step(state, now):
            observation, state, reward, done, _ = jax.vmap(env.step, (0, 0, 0, None))(now[0], state, now[1], kx.PARAMS)
            return state, (reward.sum(), done.sum(), sum(leaf.sum() for leaf in jax.tree.leaves(observation)))
        return jax.lax.scan(step, state, (keys, actions))
    return n * STEPS / best_seconds(lambda: jax.block_until_ready(run(start)))


for size in sys.argv[1:] or "sml":
    levels = kx.load(size)
    for case, rate, unit in (("engine", engine_rate, "physics steps/s"), ("env", environment_rate, "environment steps/s")):
        best, n = max((rate(size, levels, n), n) for n in BATCHES)
        row("%s_%s" % (case, size), "steps_per_second", best, unit, kx.VERSION)
        row("%s_%s" % (case, size), "best_batch", n, "worlds", kx.VERSION)

"""The learning curve of PPO in JAX on Kinetix' own environment, for docs/validation.md: solve rate on the ten hand-designed
levels of size S, first episodes of 512 attempts, and the share of solved episodes during training.
Usage: jax_learning.py SEED [ITERATIONS]. Prints seed, transitions, evaluated solve rate (or -), share while training."""
import sys

import jax
import jax.numpy as jnp
import jax_ppo as ppo
import kinetix_levels as kx
import optax

ppo.MINIBATCH, ppo.EPOCHS = 4096, 4
ppo.OPTIMIZER = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(1e-3, eps=1e-5))
EVERY, LIMIT = 5, 256


def make_evaluate(env, levels):
    count = jax.tree.leaves(levels)[0].shape[0]
    level = jnp.arange(ppo.WORLDS) % count

    @jax.jit
    def evaluate(weights, state, observation, key):
        def step(carry, key):
            state, observation, playing, solved = carry
            act, move = jax.random.split(key)
            parts = ppo.policy(ppo.ACTOR.apply(weights[0], observation))
            actions = jnp.concatenate([part.sample(seed=k) for part, k in zip(parts, jax.random.split(act))], -1)
            after, state, _, done, info = jax.vmap(env.step, (0, 0, 0, None))(
                jax.random.split(move, ppo.WORLDS), state, actions, kx.PARAMS)
            return (state, ppo.flat(after), playing & ~done, solved | (playing & done & info["GoalR"])), None
        none = jnp.zeros(ppo.WORLDS, bool)
        solved = jax.lax.scan(step, (state, observation, ~none, none), jax.random.split(key, LIMIT))[0][3]
        return (jnp.zeros(count).at[level].add(solved) / jnp.zeros(count).at[level].add(1.0)).mean()
    return evaluate


def main(seed, iterations):
    levels = kx.load("s")
    env, state = kx.make_env("s", levels), kx.worlds(levels, ppo.WORLDS)
    observation = ppo.flat(jax.vmap(env.get_obs)(state))
    start, evaluate, rollout = (state, observation), make_evaluate(env, levels), ppo.make_rollout(env)
    keys = iter(jax.random.split(jax.random.PRNGKey(seed), 3 * iterations + 8))
    weights = tuple(net.init(next(keys), observation[:1]) for net in (ppo.ACTOR, ppo.CRITIC))
    optimizer = ppo.OPTIMIZER.init(weights)
    print(seed, 0, "%.4f" % evaluate(weights, *start, next(keys)), "-", flush=True)
    for i in range(1, iterations + 1):
        (state, observation), transitions = rollout(weights, state, observation, next(keys))
        weights, optimizer = ppo.update(weights, optimizer, transitions, observation, next(keys))
        share = transitions[6].sum() / transitions[5].sum()
        rate = "%.4f" % evaluate(weights, *start, next(keys)) if i % EVERY == 0 else "-"
        print(seed, i * ppo.WORLDS * ppo.STEPS, rate, "%.4f" % share, flush=True)


main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10)

"""Kinetix' transformer (JAX, kinetix.models, unchanged) on a GPU: PPO on random levels in the sizes of its SFL training,
without the search. 8 epochs of minibatches of whole environments; advantages are normalized within a minibatch.
`tests/gpu/all.sh jax` runs it with the same training of ours.
Usage: jax_gpu_transformer.py SIZE WORLDS STEPS MINIBATCHES [bfloat16]     (levels, packages: jax_gpu.py)
bfloat16: precision of matrix products; the default on Hopper and Ampere GPUs is TF32. PEER_SMALL=1: one iteration."""
import statistics
import sys
import time

import jax
import jax.numpy as jnp
import optax

import jax_gpu  # before kinetix: it supplies distrax
from jax_gpu import ENTROPY, EPOCHS, EPSILON, GAMMA, LAMBDA, PARAMS, SMALL, VALUE, say

from kinetix.environment.spaces import ActionType, ObservationType
from kinetix.models.transformer_model import ActorCriticTransformer

CHOICES = [3, 3, 3, 3, 2, 2]  # of four motors and two thrusters
NETWORK = ActorCriticTransformer(
    transformer_depth=2, transformer_size=16, transformer_encoder_size=128, num_heads=8, aggregate_mode="dummy_and_mean",
    full_attention_mask=False, fc_layer_width=128, fc_layer_depth=5, activation="tanh", recurrent=False,
    action_mode=ActionType.MULTI_DISCRETE, action_dim=sum(CHOICES), hybrid_action_continuous_dim=len(CHOICES),
    multi_discrete_number_of_dims_per_distribution=CHOICES)
OPTIMIZER = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(5e-5, eps=1e-5))


def evaluate(weights, observations):
    """Distribution of actions and values for observations with leaves [steps][worlds]..."""
    ended = jnp.zeros(jax.tree.leaves(observations)[0].shape[:2], bool)
    return NETWORK.apply(weights, None, (observations, ended))[1:]


def one_step(tree):
    return jax.tree.map(lambda leaf: leaf[None], tree)


def make_rollout(env, worlds, steps):
    def advance(carry, key, weights):
        state, observation = carry
        sampling, moving = jax.random.split(key)
        actions, value = evaluate(weights, one_step(observation))
        chosen = actions.sample(seed=sampling)
        following, state, reward, done, _ = jax.vmap(env.step, (0, 0, 0, None))(
            jax.random.split(moving, worlds), state, chosen[0], PARAMS)
        return (state, following), (observation, chosen[0], actions.log_prob(chosen)[0], value[0], reward, done)

    def rollout(weights, state, observation, key):
        return jax.lax.scan(lambda carry, key: advance(carry, key, weights), (state, observation),
                            jax.random.split(key, steps))
    return rollout


def estimate(rewards, dones, values, last):
    """Generalized advantages [steps][worlds]; last: values after the last step."""
    following = jnp.concatenate([values[1:], last[None]])
    errors = rewards + GAMMA * following * (1 - dones) - values

    def backward(advantage, now):
        advantage = now[0] + GAMMA * LAMBDA * (1 - now[1]) * advantage
        return advantage, advantage
    return jax.lax.scan(backward, jnp.zeros_like(last), (errors, dones), reverse=True)[1]


def loss(weights, batch):
    observations, chosen, log_probs, values, advantages, targets = batch
    actions, estimates = evaluate(weights, observations)
    ratios = jnp.exp(actions.log_prob(chosen) - log_probs)
    advantages = (advantages - jnp.mean(advantages)) / (jnp.std(advantages) + 1e-8)
    gains = jnp.minimum(ratios * advantages, jnp.clip(ratios, 1 - EPSILON, 1 + EPSILON) * advantages)
    near = values + jnp.clip(estimates - values, -EPSILON, EPSILON)
    errors = jnp.maximum(jnp.square(estimates - targets), jnp.square(near - targets)) / 2
    return VALUE * jnp.mean(errors) - jnp.mean(gains) - ENTROPY * jnp.mean(actions.entropy())


def make_update(worlds, minibatches):
    def descend(carry, batch):
        weights, optimizer = carry
        changes, optimizer = OPTIMIZER.update(jax.grad(loss)(weights, batch), optimizer, weights)
        return (optax.apply_updates(weights, changes), optimizer), None

    def split(leaf, order):
        """[steps][worlds]... to [minibatches][steps][worlds of a minibatch]..."""
        parts = leaf[:, order].reshape(leaf.shape[0], minibatches, worlds // minibatches, *leaf.shape[2:])
        return jnp.moveaxis(parts, 1, 0)

    def update(weights, optimizer, transitions, last, key):
        observations, chosen, log_probs, values, rewards, dones = transitions
        after = evaluate(weights, one_step(last))[1][0]
        advantages = estimate(rewards, dones.astype(jnp.float32), values, after)
        data = (observations, chosen, log_probs, values, advantages, advantages + values)

        def epoch(carry, key):
            order = jax.random.permutation(key, worlds)
            return jax.lax.scan(descend, carry, jax.tree.map(lambda leaf: split(leaf, order), data))
        return jax.lax.scan(epoch, (weights, optimizer), jax.random.split(key, EPOCHS))[0]
    return update


def timed(function, *arguments):
    begin = time.perf_counter()
    result = jax.block_until_ready(function(*arguments))
    return result, time.perf_counter() - begin


def measure(levels, size, worlds, steps, minibatches):
    """Returns the median seconds of an iteration's rollout and update."""
    keys = (jax.random.PRNGKey(i) for i in range(1000))
    env, state = jax_gpu.make_env(size, levels, ObservationType.SYMBOLIC_ENTITY), jax_gpu.worlds(levels, worlds)
    observation = jax.jit(jax.vmap(env.get_obs))(state)
    some = jax.tree.map(lambda leaf: leaf[None, :2], observation)
    weights = NETWORK.init(next(keys), None, (some, jnp.zeros((1, 2), bool)))
    optimizer = OPTIMIZER.init(weights)
    say("%d parameters" % sum(leaf.size for leaf in jax.tree.leaves(weights)))
    rollout, seconds, mib = jax_gpu.compiled(make_rollout(env, worlds, steps), weights, state, observation, next(keys))
    say("rollout compiled in %.1f s, %.0f MiB" % (seconds, mib))
    transitions = rollout(weights, state, observation, next(keys))[1]
    update, seconds, mib = jax_gpu.compiled(make_update(worlds, minibatches), weights, optimizer, transitions, observation,
                                            next(keys))
    say("update compiled in %.1f s, %.0f MiB" % (seconds, mib))
    times = []
    for _ in range(1 if SMALL else 4):
        transitions = None  # its memory is needed
        ((state, observation), transitions), acting = timed(rollout, weights, state, observation, next(keys))
        (weights, optimizer), learning = timed(update, weights, optimizer, transitions, observation, next(keys))
        times.append((acting, learning))
        say("rollout %.3f s, update %.3f s" % (acting, learning))
    if not all(bool(jnp.isfinite(leaf).all()) for leaf in jax.tree.leaves(weights)):
        raise SystemExit("the weights are not finite")
    return tuple(statistics.median(part) for part in zip(*times[1:] or times))


def main(size, worlds, steps, minibatches):
    acting, learning = measure(jax_gpu.load(size), size, worlds, steps, minibatches)
    print("result: Kinetix' transformer in JAX, size %s, %d worlds x %d, %d minibatches, %s products: %.4g transitions/s; "
          "rollout %.3f s, update %.3f s" % (size.upper(), worlds, steps, minibatches,
                                             jax.config.jax_default_matmul_precision or "default",
                                             worlds * steps / (acting + learning), acting, learning), flush=True)


if __name__ == "__main__":
    if sys.argv[5:] == ["bfloat16"]:
        jax.config.update("jax_default_matmul_precision", "bfloat16")
    main(sys.argv[1], *map(int, sys.argv[2:5]))

"""End-to-end steps per second of the Kinetix environment with PPO in JAX, rollout and update each one jitted program:
separate 3x256 tanh networks, 8 epochs, minibatches of 16 384 transitions. Usage: jax_ppo.py [s m l]"""
import sys
import time

import distrax
import flax.linen as nn
import jax
import jax.numpy as jnp
import kinetix_levels as kx
import optax
from rows import row

WORLDS, STEPS, MINIBATCH, EPOCHS, ITERATIONS = 512, 64, 16384, 8, 3
GAMMA, LAMBDA, EPSILON, ENTROPY, VALUE = 0.995, 0.9, 0.2, 0.01, 0.5


class Network(nn.Module):
    outputs: int
    scale: float  # of the last layer's orthogonal kernel

    @nn.compact
    def __call__(self, x):
        for _ in range(3):
            x = nn.tanh(nn.Dense(256, kernel_init=nn.initializers.orthogonal(2 ** 0.5))(x))
        return nn.Dense(self.outputs, kernel_init=nn.initializers.orthogonal(self.scale))(x)


ACTOR, CRITIC = Network(16, 0.01), Network(1, 1.0)
OPTIMIZER = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(3e-4, eps=1e-5))


def policy(logits):
    motors, thrusters = logits[..., :12], logits[..., 12:]
    return (distrax.Categorical(motors.reshape(logits.shape[:-1] + (4, 3))),
            distrax.Categorical(thrusters.reshape(logits.shape[:-1] + (2, 2))))


def log_prob(logits, actions):
    motors, thrusters = policy(logits)
    return motors.log_prob(actions[..., :4]).sum(-1) + thrusters.log_prob(actions[..., 4:]).sum(-1)


def entropy(logits):
    return sum(part.entropy().sum(-1) for part in policy(logits))


def loss(weights, batch):
    observations, actions, old_log_prob, advantages, targets, old_values = batch
    logits, values = ACTOR.apply(weights[0], observations), CRITIC.apply(weights[1], observations)[:, 0]
    ratio = jnp.exp(log_prob(logits, actions) - old_log_prob)
    gain = jnp.minimum(ratio * advantages, jnp.clip(ratio, 1 - EPSILON, 1 + EPSILON) * advantages)
    near = old_values + jnp.clip(values - old_values, -EPSILON, EPSILON)
    error = 0.5 * jnp.maximum((values - targets) ** 2, (near - targets) ** 2)
    return -gain.mean() + VALUE * error.mean() - ENTROPY * entropy(logits).mean()


def flat(observation):
    return jax.tree.leaves(observation)[0].reshape(WORLDS, -1)


def make_rollout(env):
    def rollout(weights, state, observation, key):
        def step(carry, key):
            state, observation = carry
            act, move = jax.random.split(key)
            logits = ACTOR.apply(weights[0], observation)
            value = CRITIC.apply(weights[1], observation)[:, 0]
            actions = jnp.concatenate([part.sample(seed=k) for part, k in zip(policy(logits), jax.random.split(act))], -1)
            after, state, reward, done, info = jax.vmap(env.step, (0, 0, 0, None))(
                jax.random.split(move, WORLDS), state, actions, kx.PARAMS)
            return (state, flat(after)), (observation, actions, log_prob(logits, actions), value, reward, done,
                                          info["GoalR"] & done)
        return jax.lax.scan(step, (state, observation), jax.random.split(key, STEPS))
    return jax.jit(rollout)


@jax.jit
def update(weights, optimizer, transitions, last, key):
    observations, actions, log_probs, values, rewards, dones, _ = transitions

    def gae(carry, now):
        advantage, next_value = carry
        reward, done, value = now
        delta = reward + GAMMA * next_value * (1 - done) - value
        advantage = delta + GAMMA * LAMBDA * (1 - done) * advantage
        return (advantage, value), advantage
    bootstrap = CRITIC.apply(weights[1], last)[:, 0]
    _, advantages = jax.lax.scan(gae, (jnp.zeros(WORLDS), bootstrap), (rewards, dones.astype(jnp.float32), values),
                                 reverse=True)
    targets = advantages + values
    advantages = (advantages - advantages.mean()) / jnp.sqrt(advantages.var() + 1e-5)
    data = jax.tree.map(lambda x: x.reshape((WORLDS * STEPS,) + x.shape[2:]),
                        (observations, actions, log_probs, advantages, targets, values))

    def epoch(carry, key):
        order = jax.random.permutation(key, WORLDS * STEPS)
        batches = jax.tree.map(lambda x: x[order].reshape((-1, MINIBATCH) + x.shape[1:]), data)

        def minibatch(carry, batch):
            weights, optimizer = carry
            changes, optimizer = OPTIMIZER.update(jax.grad(loss)(weights, batch), optimizer, weights)
            return (optax.apply_updates(weights, changes), optimizer), None
        return jax.lax.scan(minibatch, carry, batches)
    return jax.lax.scan(epoch, (weights, optimizer), jax.random.split(key, EPOCHS))[0]


def measure(size):
    levels = kx.load(size)
    env, state = kx.make_env(size, levels), kx.worlds(levels, WORLDS)
    first = jax.vmap(env.step, (0, 0, 0, None))(jax.random.split(jax.random.PRNGKey(0), WORLDS), state,
                                               jnp.zeros((WORLDS, 6), jnp.int32), kx.PARAMS)
    observation, state = flat(first[0]), first[1]
    weights = tuple(net.init(jax.random.PRNGKey(i), observation[:1]) for i, net in enumerate((ACTOR, CRITIC)))
    optimizer, rollout, best = OPTIMIZER.init(weights), make_rollout(env), None
    for i in range(ITERATIONS):
        start = time.perf_counter()
        (state, observation), transitions = jax.block_until_ready(
            rollout(weights, state, observation, jax.random.PRNGKey(i)))
        collected = time.perf_counter()
        weights, optimizer = jax.block_until_ready(
            update(weights, optimizer, transitions, observation, jax.random.PRNGKey(100 + i)))
        times = (collected - start, time.perf_counter() - collected)
        if i and (best is None or sum(times) < sum(best)):  # the first compiles
            best = times
    n = WORLDS * STEPS
    row("ppo_" + size, "steps_per_second", n / sum(best), "transitions/s", kx.VERSION)
    row("ppo_" + size, "rollout_per_second", n / best[0], "transitions/s", kx.VERSION)
    row("ppo_" + size, "update_per_second", n / best[1], "transitions/s", kx.VERSION)


if __name__ == "__main__":
    for size in sys.argv[1:] or "sml":
        measure(size)

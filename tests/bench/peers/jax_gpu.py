"""Kinetix (JAX) on a GPU: environment steps per second on random levels S, M and L, and PPO in JAX as in jax_ppo.py.
Levels are the 256 of `bench_device physics`; jax_gpu_levels.py writes them to levels/*.npz next to this file.
Usage: jax_gpu.py SECONDS, with XLA_PYTHON_CLIENT_PREALLOCATE=false. PEER_SMALL=1: tiny, for a trial on a CPU.
PEER_CASES="env_s_65536 ppo_s_2048": only these. Needs jax[cuda], flax, optax, jax2d 1.0.1 and kinetix-env 2.0.2; since
jax 0.9 jnp.clip has min= and max=, so in jax2d's files a_min= and a_max= must be renamed. Works without distrax."""
import gc
import os
import statistics
import sys
import time

BEGUN = time.monotonic() - float(os.environ.get("PEER_STARTED_AGO", 0))
HERE = os.path.dirname(os.path.abspath(__file__))

import flax
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

try:
    import distrax  # noqa: F401
except ImportError:
    import distrax_part
    sys.modules["distrax"] = distrax_part
from kinetix.environment.env import make_kinetix_env
from kinetix.environment.env_state import EnvParams, StaticEnvParams
from kinetix.environment.spaces import ActionType, ObservationType
from kinetix.environment.utils import create_empty_env

SMALL = bool(os.environ.get("PEER_SMALL"))
STEPS, PASSES = (4, 2) if SMALL else (64, 5)
SIZES = {"s": (5, 2, 1, 1), "m": (6, 3, 2, 2), "l": (12, 4, 6, 2)}  # polygons, circles, joints, thrusters
PARAMS = EnvParams().replace(dense_reward_scale=0.2)


def static_params(size):
    polygons, circles, joints, thrusters = SIZES[size]
    return StaticEnvParams().replace(num_polygons=polygons, num_circles=circles, num_joints=joints,
                                     num_thrusters=thrusters, frame_skip=2)


def load(size):
    structure = jax.tree.structure(create_empty_env(static_params(size)))
    with np.load(os.path.join(HERE, "levels", size + ".npz")) as file:
        return jax.tree.unflatten(structure, [jnp.asarray(file[name]) for name in sorted(file.files)])


def worlds(levels, n):
    count = jax.tree.leaves(levels)[0].shape[0]
    return jax.tree.map(lambda leaf: leaf[jnp.arange(n) % count], levels)


def make_env(size, levels, observations=ObservationType.SYMBOLIC_FLAT):
    """Auto-reset to a level drawn uniformly."""
    count = jax.tree.leaves(levels)[0].shape[0]

    def draw(key):
        level = jax.random.randint(key, (), 0, count)
        return jax.tree.map(lambda leaf: leaf[level], levels)
    return make_kinetix_env(ActionType.MULTI_DISCRETE, observations, draw, PARAMS, static_params(size), auto_reset=True)


def say(text):
    print("[%6.1f s] %s" % (time.monotonic() - BEGUN, text), flush=True)


def compiled(function, *arguments, **options):
    start = time.perf_counter()
    program = jax.jit(function, **options).lower(*arguments).compile()
    seconds = time.perf_counter() - start
    memory = program.memory_analysis()
    mib = (memory.temp_size_in_bytes + memory.argument_size_in_bytes + memory.output_size_in_bytes) / 2 ** 20 if memory else 0
    return program, seconds, mib


def environment(size, n, observed=True):
    levels = load(size)
    env, state = make_env(size, levels), worlds(levels, n)

    def observe(observation):
        return jax.tree.leaves(observation)[0] if observed else jnp.zeros(())

    def run(state, last, key):
        act, move = jax.random.split(key)
        keys = jax.random.split(move, (STEPS, n))
        actions = jax.random.randint(act, (STEPS, n, 6), 0, jnp.array([3, 3, 3, 3, 2, 2]))

        def step(carry, now):
            observation, state, reward, done, _ = jax.vmap(env.step, (0, 0, 0, None))(now[0], carry[0], now[1], PARAMS)
            return (state, observe(observation)), (reward, done)  # kept, so that they are written to memory
        return jax.lax.scan(step, (state, last), (keys, actions))
    last = observe(jax.jit(jax.vmap(env.get_obs))(state))
    program, compile_seconds, mib = compiled(run, state, last, jax.random.PRNGKey(0))
    times, dones = [], 0
    for i in range(PASSES + 1):
        key = jax.block_until_ready(jax.random.PRNGKey(i))
        start = time.perf_counter()
        (state, last), (rewards, done) = jax.block_until_ready(program(state, last, key))
        times.append(time.perf_counter() - start)
        dones = int(done.sum())
        assert bool(jnp.isfinite(last).all()), "observations are not finite"
    median = statistics.median(times[1:])
    return ("%.6g environment steps/s (median of %d; best %.6g, worst %.6g), %.4f s a pass of %d steps; compile %.1f s; "
            "program %.0f MiB; observation %s; %d episodes ended in the last pass") % (
                n * STEPS / median, PASSES, n * STEPS / min(times[1:]), n * STEPS / max(times[1:]), median, STEPS,
                compile_seconds, mib, last.shape[1] if observed else "none", dones)


# ---- PPO ----------------------------------------------------------------------------------------------------------

GAMMA, LAMBDA, EPSILON, ENTROPY, VALUE, EPOCHS = 0.995, 0.9, 0.2, 0.01, 0.5, 8
OPTIMIZER = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(3e-4, eps=1e-5))


class Network(nn.Module):
    outputs: int
    scale: float  # of the last layer's orthogonal kernel

    @nn.compact
    def __call__(self, x):
        for _ in range(3):
            x = nn.tanh(nn.Dense(256, kernel_init=nn.initializers.orthogonal(2 ** 0.5))(x))
        return nn.Dense(self.outputs, kernel_init=nn.initializers.orthogonal(self.scale))(x)


ACTOR, CRITIC = Network(16, 0.01), Network(1, 1.0)


class Categorical:
    """distrax.Categorical's arithmetic."""
    def __init__(self, logits):
        self.logits = jax.nn.log_softmax(logits)

    def sample(self, key):
        return jax.random.categorical(key, self.logits)

    def log_prob(self, value):
        return (self.logits * jax.nn.one_hot(value, self.logits.shape[-1])).sum(-1)

    def entropy(self):
        return -(jnp.exp(self.logits) * self.logits).sum(-1)


def policy(logits):
    motors, thrusters = logits[..., :12], logits[..., 12:]
    return (Categorical(motors.reshape(logits.shape[:-1] + (4, 3))), Categorical(thrusters.reshape(logits.shape[:-1] + (2, 2))))


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


def ppo(size, n, minibatch_rows):
    levels = load(size)
    env, state = make_env(size, levels), worlds(levels, n)

    def flat(observation):
        return jax.tree.leaves(observation)[0].reshape(n, -1)

    def rollout(weights, state, observation, key):
        def step(carry, key):
            state, observation = carry
            act, move = jax.random.split(key)
            logits = ACTOR.apply(weights[0], observation)
            value = CRITIC.apply(weights[1], observation)[:, 0]
            actions = jnp.concatenate([part.sample(k) for part, k in zip(policy(logits), jax.random.split(act))], -1)
            after, state, reward, done, info = jax.vmap(env.step, (0, 0, 0, None))(
                jax.random.split(move, n), state, actions, PARAMS)
            return (state, flat(after)), (observation, actions, log_prob(logits, actions), value, reward, done,
                                          info["GoalR"] & done)
        return jax.lax.scan(step, (state, observation), jax.random.split(key, STEPS))

    def update(weights, optimizer, transitions, last, key):
        observations, actions, log_probs, values, rewards, dones, _ = transitions

        def gae(carry, now):
            advantage, next_value = carry
            reward, done, value = now
            delta = reward + GAMMA * next_value * (1 - done) - value
            advantage = delta + GAMMA * LAMBDA * (1 - done) * advantage
            return (advantage, value), advantage
        bootstrap = CRITIC.apply(weights[1], last)[:, 0]
        _, advantages = jax.lax.scan(gae, (jnp.zeros(n), bootstrap), (rewards, dones.astype(jnp.float32), values),
                                     reverse=True)
        targets = advantages + values
        advantages = (advantages - advantages.mean()) / jnp.sqrt(advantages.var() + 1e-5)
        data = jax.tree.map(lambda x: x.reshape((n * STEPS,) + x.shape[2:]),
                            (observations, actions, log_probs, advantages, targets, values))

        def epoch(carry, key):
            order = jax.random.permutation(key, n * STEPS)
            batches = jax.tree.map(lambda x: x[order].reshape((-1, minibatch_rows) + x.shape[1:]), data)

            def minibatch(carry, batch):
                weights, optimizer = carry
                changes, optimizer = OPTIMIZER.update(jax.grad(loss)(weights, batch), optimizer, weights)
                return (optax.apply_updates(weights, changes), optimizer), None
            return jax.lax.scan(minibatch, carry, batches)
        return jax.lax.scan(epoch, (weights, optimizer), jax.random.split(key, EPOCHS))[0]

    observation = flat(jax.jit(jax.vmap(env.get_obs))(state))
    weights = tuple(net.init(jax.random.PRNGKey(i), observation[:1]) for i, net in enumerate((ACTOR, CRITIC)))
    optimizer = OPTIMIZER.init(weights)
    rollout, rollout_compile, mib = compiled(rollout, weights, state, observation, jax.random.PRNGKey(0))
    (_, last), transitions = rollout(weights, state, observation, jax.random.PRNGKey(0))
    update, update_compile, update_mib = compiled(update, weights, optimizer, transitions, last, jax.random.PRNGKey(0))
    say("    ppo_%s_%d: compiled, rollout %.1f s (%.0f MiB), update %.1f s (%.0f MiB)" % (
        size, n, rollout_compile, mib, update_compile, update_mib))
    times = []
    for i in range(1 + (1 if SMALL else 3)):
        transitions = None
        start = time.perf_counter()
        (state, observation), transitions = jax.block_until_ready(rollout(weights, state, observation, jax.random.PRNGKey(i)))
        collected = time.perf_counter()
        weights, optimizer = jax.block_until_ready(
            update(weights, optimizer, transitions, observation, jax.random.PRNGKey(100 + i)))
        times.append((collected - start, time.perf_counter() - collected))
    assert all(bool(jnp.isfinite(leaf).all()) for leaf in jax.tree.leaves(weights)), "weights are not finite"
    roll, upd = (statistics.median(t[k] for t in times[1:]) for k in (0, 1))
    total, rows = statistics.median(sum(t) for t in times[1:]), n * STEPS
    return ("%.6g transitions/s end to end (median of %d); rollout %.6g (%.3f s), update %.6g (%.3f s); %d steps, "
            "minibatch %d, %d epochs; compile %.1f + %.1f s") % (
                rows / total, len(times) - 1, rows / roll, roll, rows / upd, upd, STEPS, minibatch_rows, EPOCHS,
                rollout_compile, update_compile)


def fewer(name, work, n):
    """work(n), or of half as many worlds as long as memory is lacking."""
    while True:
        problem = None
        try:
            return say("%s, %d worlds: %s" % (name, n, work(n)))
        except Exception as error:  # a case that fails is none of the others' business
            problem = str(error).strip().splitlines()[-1][:300] if str(error).strip() else repr(error)
            lacking = "RESOURCE_EXHAUSTED" in str(error) or "out of memory" in str(error).lower()
            head = type(error).__name__ + (" RESOURCE_EXHAUSTED" if lacking else "")
        gc.collect()
        say("%s, %d worlds: FAILED: %s: %s" % (name, n, head, problem))
        if not lacking or n <= 512:
            return
        n //= 2


def main(limit):
    many, some, few = (64, 32, 16) if SMALL else (65536, 8192, 2048)
    rows = 64 if SMALL else 16384
    cases = [("env_%s" % size, many, lambda n, size=size: environment(size, n)) for size in "sml"]
    cases += [("ppo_s", few, lambda n: ppo("s", n, rows))]
    cases += [("env_%s" % size, n, lambda n, size=size: environment(size, n)) for n in (few, some) for size in "sml"]
    cases += [("ppo_s", many, lambda n: ppo("s", n, rows)),
              ("ppo_s_minibatch_of_65536", many, lambda n: ppo("s", n, 64 if SMALL else 65536)),
              ("env_s_unobserved", many, lambda n: environment("s", n, False))]
    wanted = os.environ.get("PEER_CASES", "").split()
    for name, n, work in cases:
        if wanted and "%s_%d" % (name, n) not in wanted:
            continue
        if time.monotonic() - BEGUN > limit - (2 if SMALL else 20):
            say("%s, %d worlds: not begun, no time left" % (name, n))
            continue
        fewer(name, work, n)
        gc.collect()


if __name__ == "__main__":
    from importlib.metadata import version
    say("python %s, jax %s, jaxlib %s, flax %s, optax %s, kinetix-env %s, jax2d %s, numpy %s" % (
        sys.version.split()[0], jax.__version__, version("jaxlib"), flax.__version__, version("optax"), version("kinetix-env"),
        version("jax2d"), np.__version__))
    say("device: %s (%s), matmul precision %s" % (
        jax.devices()[0].device_kind, jax.devices()[0].platform, jax.config.jax_default_matmul_precision or "default"))
    say("one environment step: frame skip 2 = 2 physics steps; multi-discrete uniform random actions (4 motors x 3, 2 thrusters "
        "x 2); flat symbolic observation; dense reward 0.2; at most %s steps an episode; auto-reset to one of the 256 levels of "
        "bench_device physics (seed 3, unfiltered), drawn uniformly; %d steps a pass in one lax.scan" % (PARAMS.max_timesteps, STEPS))
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 540)

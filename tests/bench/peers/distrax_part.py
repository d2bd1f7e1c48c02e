"""The part of distrax that kinetix.models uses for discrete actions, for machines without it (jax_gpu.py)."""
import jax
import jax.numpy as jnp


class Distribution:
    def sample(self, seed):
        return jnp.squeeze(self._sample_n(seed, 1), 0)


class Categorical(Distribution):
    def __init__(self, logits):
        self.logits = jax.nn.log_softmax(logits)

    def _sample_n(self, key, n):
        return jax.random.categorical(key, self.logits, shape=(n, *self.logits.shape[:-1]))

    def log_prob(self, value):
        chosen = jax.nn.one_hot(value, self.logits.shape[-1])
        return jnp.sum(self.logits * chosen, -1)

    def entropy(self):
        return -jnp.sum(jnp.exp(self.logits) * self.logits, -1)

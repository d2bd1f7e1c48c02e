"""Kinetix' own transformer with PPO in JAX on the processors, as jax_gpu_transformer.py on a GPU: 64 worlds x 32 steps, 4
minibatches of whole worlds, 8 epochs, on the levels of S; with float32 products and with bfloat16 ones."""
import jax
import jax_gpu_transformer
import kinetix_levels as kx
from rows import row

WORLDS, STEPS, MINIBATCHES = 64, 32, 4

levels = kx.load("s")
for case, precision in ("transformer_s", "float32"), ("transformer_s_bf16", "bfloat16"):
    jax.config.update("jax_default_matmul_precision", precision)
    acting, learning = jax_gpu_transformer.measure(levels, "s", WORLDS, STEPS, MINIBATCHES)
    row(case, "steps_per_second", WORLDS * STEPS / (acting + learning), "transitions/s", kx.VERSION)
    row(case, "update_per_second", WORLDS * STEPS / learning, "transitions/s", kx.VERSION)

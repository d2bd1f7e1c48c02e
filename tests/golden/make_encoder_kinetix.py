#!/usr/bin/env python3
"""Makes encoder_kinetix.gold: embeddings and gradients of the public entity networks for the observations in the rows of an
older copy of the file, with parameters made by a formula (tests/unit/test_encoder_golden.c has the same one).

  python make_encoder_kinetix.py OLD.gold NEW.gold STOIX      needs kinetix-env 2.0.2 (it brings jax and flax)

STOIX is a checkout of EdanToledo/Stoix (stoix/networks/specialised/kinetix.py is run). Observations are those of
our simulator, as sim/task/observe_layout.h lays them out: size M, moving entities after a few steps."""
import math
import sys

import flax.linen as nn
import jax
import jax.numpy as jnp
import kinetix.models.actor_critic as actor_critic
import kinetix.models.transformer_model as transformer_model
import numpy as np
from kinetix.render.renderer_symbolic_entity import EntityObservation

POLYGONS, CIRCLES, JOINTS, THRUSTERS = 6, 3, 2, 2  # size M
SHAPES, MODEL = POLYGONS + CIRCLES, 128
FEATURES = {"polygon": 27, "circle": 19, "joint": 22, "thruster": 8}


class Embedding(nn.Module):
    """Stands where Kinetix' towers begin, and gives back what they are given."""
    action_dim: object = None
    fc_layer_depth: object = None
    fc_layer_width: object = None
    action_type: object = None
    hybrid_action_continuous_dim: object = None
    multi_discrete_number_of_dims_per_distribution: object = None
    add_generator_embedding: object = None
    generator_embedding_number_of_timesteps: object = None
    recurrent: object = None

    @nn.compact
    def __call__(self, hidden, obs, embedding, dones, activation):
        return embedding


def observation(rows):
    """Rows [n][features] of numbers -> what the renderer would have given."""
    at = 0

    def take(*shape):
        nonlocal at
        values = rows[:, at:at + int(np.prod(shape))].reshape((len(rows),) + shape)
        at += int(np.prod(shape))
        return values
    polygons, circles = take(POLYGONS, 27), take(CIRCLES, 19)
    joints, thrusters = take(2 * JOINTS, 22), take(THRUSTERS, 8)
    masks = [take(n) > 0 for n in (POLYGONS, CIRCLES, 2 * JOINTS, THRUSTERS)]
    joint_shapes, thruster_shapes = take(2 * JOINTS, 2), take(THRUSTERS)
    attention = take(SHAPES, SHAPES).astype(int)
    assert at == rows.shape[1]
    return EntityObservation(
        polygons=polygons, circles=circles, joints=joints, thrusters=thrusters, polygon_mask=masks[0],
        circle_mask=masks[1], joint_mask=masks[2], thruster_mask=masks[3],
        attention_mask=np.stack([(attention >> k & 1).astype(bool) for k in range(4)], 1),
        joint_indexes=joint_shapes.astype(int), thruster_indexes=thruster_shapes.astype(int))


def fraction(t, k):
    return np.modf(np.asarray(k, np.float64) * 0.6180339887498949 + t * 0.37)[0] - 0.5


def tensors(kind):
    """(name, rows, columns) in the order of our parameter vector."""
    listed = []
    for entity, features in FEATURES.items():
        width = 60 if kind != "transformer" else 127 if entity in ("polygon", "circle") else MODEL
        listed += [(entity + " W", features, width), (entity + " b", 1, width)]
    if kind != "transformer":
        return listed + [("heads W", 64, 256), ("heads b", 1, 256)]
    for layer in range(2):
        def gate(i):
            return [("gate %d W" % i, MODEL, 3 * MODEL), ("gate %d U" % i, MODEL, 2 * MODEL),
                    ("gate %d Ug" % i, MODEL, MODEL), ("gate %d b" % i, 1, MODEL)]

        def norm(i):
            return [("norm %d gain" % i, 1, MODEL), ("norm %d offset" % i, 1, MODEL)]
        parts = norm(1) + [("qkv W", MODEL, 48), ("qkv b", 1, 48), ("out W", 16, MODEL), ("out b", 1, MODEL)]
        parts += gate(1) + norm(2) + [("dense W", MODEL, MODEL), ("dense b", 1, MODEL)] + gate(2)
        parts += [("joint W", 3 * MODEL, MODEL), ("joint b", 1, MODEL)]
        parts += [("thruster W", 2 * MODEL, MODEL), ("thruster b", 1, MODEL)]
        listed += [("layer %d %s" % (layer, name), rows, columns) for name, rows, columns in parts]
    return listed


def values(kind):
    made = {}
    for t, (name, rows, columns) in enumerate(tensors(kind)):
        value = fraction(t + 1, np.arange(rows * columns)) * (0.2 if rows == 1 else 3 / math.sqrt(rows))
        value = (value + 1 if name.endswith("gain") else value).astype(np.float32)
        made[name] = value.reshape(rows, columns) if rows > 1 else value
    return made


def gate_parameters(v, name):
    w, u = v[name + " W"], v[name + " U"]
    kernels = (w[:, :MODEL], u[:, :MODEL], w[:, MODEL:2 * MODEL], u[:, MODEL:], w[:, 2 * MODEL:], v[name + " Ug"])
    gate = {"Dense_%d" % i: {"kernel": kernel} for i, kernel in enumerate(kernels)}
    gate["gating_bias"] = v[name + " b"]
    return gate


def parameters(kind, v):
    """Our tensors as flax names and cuts them."""
    def dense(name):
        return {"kernel": v[name + " W"], "bias": v[name + " b"]}
    tree = {"Dense_%d" % i: dense(name) for i, name in enumerate(("circle", "polygon", "joint", "thruster"))}
    if kind != "transformer":
        heads = 8 if kind == "set" else 4
        tree["MultiHeadDense_0"] = {"dense_kernels": v["heads W"].reshape(64, heads, -1).transpose(1, 0, 2),
                                    "dense_biases": v["heads b"].reshape(heads, -1)}
        return tree
    layers = {}
    for layer in range(2):
        at = "layer %d " % layer
        kernel, bias = v[at + "qkv W"], v[at + "qkv b"]
        attention = {name: {"kernel": kernel[:, 16 * i:16 * i + 16].reshape(MODEL, 8, 2),
                            "bias": bias[16 * i:16 * i + 16].reshape(8, 2)}
                     for i, name in enumerate(("query", "key", "value"))}
        attention["out"] = {"kernel": v[at + "out W"].reshape(8, 2, MODEL), "bias": v[at + "out b"]}
        norms = {"ln%d" % i: {"scale": v[at + "norm %d gain" % i], "bias": v[at + "norm %d offset" % i]} for i in (1, 2)}
        layers["tf_layers_%d" % layer] = dict(
            norms, attention1=attention, dense1=dense(at + "dense"), gate1=gate_parameters(v, at + "gate 1"),
            gate2=gate_parameters(v, at + "gate 2"))
        layers["joint_layers_%d" % layer] = dense(at + "joint")
        layers["thruster_layers_%d" % layer] = dense(at + "thruster")
    tree["Transformer_0"] = layers
    return tree


def model(kind, stoix):
    if kind == "stoix_set":
        sys.path.insert(0, stoix)
        from stoix.networks.specialised.kinetix import PermutationInvariantEntityEncoder
        return PermutationInvariantEntityEncoder()
    common = dict(action_dim=16, fc_layer_width=128, action_mode="multi_discrete", hybrid_action_continuous_dim=6,
                  multi_discrete_number_of_dims_per_distribution=[3, 3, 3, 3, 2, 2], fc_layer_depth=5,
                  activation="tanh", recurrent=False)
    if kind == "set":
        return actor_critic.ActorCriticPermutationInvariantSymbolicRNN(
            symbolic_embedding_dim=256, num_heads=8, preprocess_separately=True, encoder_size=64, **common)
    return transformer_model.ActorCriticTransformer(
        transformer_size=16, transformer_encoder_size=MODEL, transformer_depth=2, num_heads=8,
        aggregate_mode="dummy_and_mean", full_attention_mask=False, **common)


def evaluate(kind, names, shown, stoix, out):
    network, v = model(kind, stoix), {k: jnp.asarray(a) for k, a in values(kind).items()}
    if kind == "stoix_set":
        inputs = (jax.tree.map(jnp.asarray, shown),)
    else:  # with an axis of time, and nothing done
        inputs = (None, (jax.tree.map(lambda a: jnp.asarray(a)[None], shown), jnp.zeros((1, len(names)), bool)))
    drawn = network.init(jax.random.PRNGKey(0), *inputs)
    assert jax.tree.map(jnp.shape, drawn["params"]) == jax.tree.map(jnp.shape, parameters(kind, v))
    print("count", kind, sum(a.size for a in jax.tree.leaves(drawn)), file=out)

    def embed(v):
        result = network.apply({"params": parameters(kind, v)}, *inputs)
        return result if kind == "stoix_set" else result[0]
    embedding = np.asarray(embed(v))
    for name, numbers in zip(names, embedding):
        print("embedding", kind, name, " ".join("%.9g" % x for x in numbers.reshape(-1)), file=out)
    weights = fraction(0, np.arange(embedding.size)).astype(np.float32).reshape(embedding.shape)
    gradient = jax.grad(lambda v: jnp.sum(embed(v) * weights))(v)
    for t, (name, _, _) in enumerate(tensors(kind)):
        g = np.asarray(gradient[name], np.float64).reshape(-1)
        moment = (g * fraction(t + 2, np.arange(g.size))).sum()
        print("gradient", kind, t, "%.9g %.9g" % (math.sqrt((g * g).sum()), moment), file=out)


def main():
    old, new, stoix = sys.argv[1:]
    lines = open(old).read().splitlines()
    kept = [line for line in lines if line.startswith(("#", "row "))]
    names = [line.split()[1] for line in kept if line.startswith("row ")]
    rows = np.array([line.split()[2:] for line in kept if line.startswith("row ")], np.float32)
    transformer_model.GeneralActorCriticRNN = actor_critic.GeneralActorCriticRNN = Embedding
    jax.config.update("jax_default_matmul_precision", "highest")
    with open(new, "w") as out:
        print("\n".join(kept), file=out)
        for kind in ("set", "stoix_set", "transformer"):
            evaluate(kind, names, observation(rows), stoix, out)


if __name__ == "__main__":
    main()

"""Checks of python/sweepdb's policies; prints "name<TAB>problem" lines (tests/cli/test_python.sh).

usage: sweepdb_policy.py RUNS: a directory with a run directory for each name below, and next to it NAME.logits of cli_policy:
lines "observation | logits".
"""
import os
import pathlib
import re
import shutil
import struct
import sys

import numpy as np

import sweepdb
from sweepdb import checkpoint, policies
from sweepdb_check import check, raises, run_doctests

RUNS = sys.argv[1]


def numbers_of(name):
    with open(f"{RUNS}/{name}.logits") as file:
        rows = [line.split("|") for line in file]
    return [np.array([row[side].split() for row in rows], dtype=np.float32) for side in (0, 1)]


def compare(name):
    """Logits of the trainer, to float32's rounding: its tanh is a rational approximation."""
    x, expected = numbers_of(name)
    policy = sweepdb.policy(f"{RUNS}/{name}")
    assert policy.inputs == x.shape[1] and len(x) >= 16
    found = policy.logits(x)
    assert found.dtype == np.float32 and found.shape == expected.shape, (found.shape, expected.shape)
    assert np.ptp(expected) > 1e-3, "logits that tell nothing"
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6 * max(1, float(np.abs(expected).max())))
    assert policy.values(x).shape == (len(x),)
    assert policy.normalized == (name in ("norms", "halves"))
    total = sum(array.size for key, array in policy.weights.items() if key.startswith("actor"))
    assert total * 4 == len(checkpoint.read(policy.path, ("actor",)).sections["actor"])
    check_actions(policy, x)
    compare_export(name, policy, x)


def check_limits():
    """Readers accept as many sections as the trainer writes."""
    header = (pathlib.Path(__file__).parents[2] / "trainer/checkpoint/checkpoint.h").read_text()
    assert checkpoint._SECTIONS_MAX == int(re.search(r"CHECKPOINT_SECTIONS_MAX = (\d+)", header)[1])


def compare_export(name, policy, x):
    """The exported file alone tells all that the run's folder does."""
    exported = sweepdb.policy(f"{RUNS}/{name}.safetensors")
    for what in ("run_id", "iteration", "kind", "classes", "bounds", "inputs", "normalized"):
        assert getattr(exported, what) == getattr(policy, what), what
    assert exported.weights.keys() == policy.weights.keys() and exported.action_space is None
    np.testing.assert_allclose(exported.logits(x), policy.logits(x), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(exported.values(x), policy.values(x), rtol=1e-6, atol=1e-7)
    assert exported.act(x).dtype == policy.act(x).dtype and np.allclose(exported.act(x), policy.act(x), atol=1e-6)


def check_actions(policy, x):
    likeliest, drawn = policy.act(x), policy.act(x, np.random.default_rng(1))
    assert likeliest.shape == drawn.shape and len(drawn) == len(x)
    assert np.array_equal(drawn, policy.act(x, np.random.default_rng(1)))
    if policy.bounds:
        assert (np.abs(drawn) <= 1).all() and drawn.shape == (len(x), 6) and not np.array_equal(likeliest, drawn)
        return
    many = policy.act(np.repeat(x[:1], 20000, axis=0), np.random.default_rng(2)).reshape(20000, -1)
    if policy.kind != "q":      # frequencies are the softmax's
        logits = policy.logits(x[:1])[0][:policy.classes[0]].astype(np.float64)
        expected = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
        found = np.bincount(many[:, 0], minlength=len(expected)) / len(many)
        assert np.abs(found - expected).max() < 0.02, (found, expected)


def rewrite(name, change, **patch):
    """A copy of the run "plain" whose checkpoint's bytes, or whose settings, are changed."""
    shutil.rmtree(name, ignore_errors=True)
    shutil.copytree(f"{RUNS}/plain", name)
    path = checkpoint.find(name)
    data = bytearray(path.read_bytes())
    path.write_bytes(change(data))
    for before, after in patch.get("settings", {}).items():
        config = open(f"{name}/config.ini").read()
        assert before in config
        open(f"{name}/config.ini", "w").write(config.replace(before, after, 1))
    return name


def check_files():
    version = lambda data: data[:8] + struct.pack("<I", 2) + data[12:]
    flip = lambda at: lambda data: data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]
    same = lambda data: data
    raises(sweepdb.VersionError, "format version 2", lambda: sweepdb.policy(rewrite("v", version)))
    raises(sweepdb.DamagedError, "header's checksum", lambda: sweepdb.policy(rewrite("h", flip(60))))
    raises(sweepdb.DamagedError, "is truncated", lambda: sweepdb.policy(rewrite("e", lambda data: data[:40])))
    raises(sweepdb.DamagedError, "bytes instead of", lambda: sweepdb.policy(rewrite("s", lambda data: data[:-1])))
    raises(sweepdb.FormatError, "first bytes", lambda: sweepdb.policy(rewrite("m", flip(0))))
    raises(sweepdb.MissingError, "no such checkpoint", lambda: sweepdb.policy("nowhere"))
    raises(sweepdb.MissingError, "contains no checkpoint", lambda: sweepdb.policy("."))
    data = open(checkpoint.find(f"{RUNS}/plain"), "rb").read()
    weights = checkpoint.read(f"{RUNS}/plain", ("actor",)).sections["actor"]
    raises(sweepdb.DamagedError, 'checksum of "actor"',
           lambda: sweepdb.policy(rewrite("a", flip(data.index(weights) + 100))))
    for wrong in ({"width = 16": "width = 17"}, {"depth = 2": "depth = 0"}, {"sharing = separate": "sharing = shared"}):
        raises(sweepdb.VersionError, "do not match", lambda: sweepdb.policy(rewrite("w", same, settings=wrong)))
    raises(sweepdb.FormatError, "belongs to run", lambda: sweepdb.policy(rewrite("0123456789abcdef", same)))
    raises(sweepdb.VersionError, "no net.width", lambda: sweepdb.policy(rewrite("n", same, settings={"width =": "w ="})))
    raises(sweepdb.VersionError, "unknown", lambda: sweepdb.policy(
        rewrite("t", same, settings={"activation = tanh": "activation = gelu"})))
    alone = checkpoint.find(rewrite("alone", same))
    os.remove("alone/config.ini")
    raises(sweepdb.MissingError, "missing; it has the settings", lambda: sweepdb.policy(alone))


def check_exports():
    data = open(f"{RUNS}/plain.safetensors", "rb").read()
    length = struct.unpack("<Q", data[:8])[0]

    def altered(change):
        open("altered.safetensors", "wb").write(change(data))
        return "altered.safetensors"

    def without(word):
        return lambda data: data.replace(f'"{word}"'.encode(), f'"{word[::-1]}"'.encode(), 1)

    raises(sweepdb.DamagedError, "cannot be read", lambda: sweepdb.policy(altered(lambda data: data[:8 + length // 2])))
    raises(sweepdb.DamagedError, "does not match the header", lambda: sweepdb.policy(altered(lambda data: data[:-1])))
    raises(sweepdb.DamagedError, "does not match the header", lambda: sweepdb.policy(altered(
        lambda data: data.replace(b'"dtype": "F32"', b'"dtype": "F16"', 1).replace(b'"dtype":"F32"', b'"dtype":"F16"', 1))))
    raises(sweepdb.VersionError, 'no "config"', lambda: sweepdb.policy(altered(without("config"))))
    raises(sweepdb.VersionError, 'no "classes"', lambda: sweepdb.policy(altered(without("classes"))))
    raises(sweepdb.VersionError, "do not match", lambda: sweepdb.policy(altered(without("actor.W0"))))
    raises(sweepdb.UnsupportedError, "net.encoder = set", lambda: sweepdb.policy(f"{RUNS}/encoder.safetensors"))
    raises(sweepdb.MissingError, "no such checkpoint", lambda: sweepdb.policy("nowhere.safetensors"))


def check_refusals():
    raises(sweepdb.UnsupportedError, "net.encoder = set", lambda: sweepdb.policy(f"{RUNS}/encoder"))
    raises(sweepdb.UnsupportedError, "net.memory = lstm", lambda: sweepdb.policy(f"{RUNS}/memory"))
    raises(sweepdb.UnsupportedError, "algo.name = sapg", lambda: sweepdb.policy(f"{RUNS}/sapg"))
    policy = sweepdb.policy(f"{RUNS}/plain")
    raises(sweepdb.Error, "must be (rows,", lambda: policy.logits(np.zeros((1, policy.inputs + 1))))
    raises(sweepdb.Error, "must be (rows,", lambda: policy.logits(np.zeros(policy.inputs)))
    raises(ValueError, "read-only", lambda: policy.weights["actor.W0"].fill(0))


def check_worlds():
    """The policy plays the worlds that it was trained on."""
    policy = sweepdb.policy(f"{RUNS}/plain")
    worlds = sweepdb.KinetixVectorEnv(4, "loco512:car:0", level_count=4, compact_observations=1)
    assert worlds.single_observation_space.shape == (policy.inputs,)
    observations, _ = worlds.reset(seed=0)
    for _ in range(20):
        observations = worlds.step(policy.act(observations, np.random.default_rng(0)))[0]


for name, what in (("plain", "separate networks, tanh"), ("norms", "a common trunk, layer norm, observations normalized"),
                   ("halves", "one loss, elu, a single categorical, half precision"), ("gaussian", "a Gaussian"),
                   ("affine", "a tanh of a Gaussian on a common trunk"), ("flat", "no hidden layers"), ("q", "Q values")):
    check(f"logits are the trainer's: {what}", lambda: compare(name))
check("checkpoints that are damaged, or of another version", check_files)
check("exported files that are damaged, or of other programs", check_exports)
check("policies that cannot be read are refused", check_refusals)
check("limits are the trainer's", check_limits)
if len(sys.argv) > 2:
    check("the policy plays libsim's worlds", check_worlds)
check("doctests of the policies", lambda: run_doctests(4, checkpoint, policies))
check("end", lambda: None)

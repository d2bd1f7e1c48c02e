"""Checks the files of `trainer export` (tests/cli/test_export_policy.sh). Prints "name<TAB>problem" lines.

usage: policy_export.py FOLDER: for each NAME there the run's folder NAME, NAME.logits of cli_policy (lines "observation |
logits"), NAME.onnx and NAME.safetensors.
"""
import glob
import json
import os
import sys

import numpy as np

from sweepdb import checkpoint
from sweepdb_check import check

FOLDER = sys.argv[1]
NAMES = sorted(os.path.basename(path)[:-7] for path in glob.glob(f"{FOLDER}/*.logits"))
LAYERED = {"plain", "shared", "halves", "gaussian", "affine", "flat", "q", "each", "ewma"}


def package(name):
    try:
        return __import__(name)
    except ImportError:
        print(f"skip\tchecks with {name}: {sys.executable} has no {name} (make python)")
        return None


def rows_of(name):
    with open(f"{FOLDER}/{name}.logits") as file:
        rows = [line.split("|") for line in file]
    return [np.array([row[side].split() for row in rows], dtype=np.float32) for side in (0, 1)]


def compare(name, runtime):
    """Logits of the trainer, to float32's rounding: its tanh is a rational approximation, sums are in another order."""
    x, expected = rows_of(name)
    session = runtime.InferenceSession(f"{FOLDER}/{name}.onnx", providers=["CPUExecutionProvider"])
    given = session.get_inputs()[0]
    assert given.name == "observation" and given.shape[0] == "rows", (given.name, given.shape)
    if given.type == "tensor(uint8)":
        x = x.astype(np.uint8).reshape(len(x), *given.shape[1:])
    if len(session.get_inputs()) > 1:
        compare_steps(session, x, expected)
        return
    logits, action = session.run(["logits", "action"], {"observation": x})
    assert np.ptp(expected) > 1e-3, "logits that tell nothing"
    np.testing.assert_allclose(logits, expected, rtol=5e-5, atol=5e-6 * max(1, float(np.abs(expected).max())))
    for rows in (1, 5):
        few = session.run(["logits"], {"observation": x[:rows]})[0]
        np.testing.assert_allclose(few, expected[:rows], rtol=5e-5, atol=5e-6 * max(1, float(np.abs(expected).max())))
    check_actions(session.get_modelmeta().custom_metadata_map, expected, action)


def compare_steps(session, x, expected):
    """The rows are the steps of an episode."""
    state = np.zeros((1, session.get_inputs()[1].shape[1]), np.float32)
    for row, wanted in zip(x, expected):
        logits, action, state = session.run(["logits", "action", "next_state"], {"observation": row[None], "state": state})
        np.testing.assert_allclose(logits[0], wanted, rtol=5e-5, atol=5e-6 * max(1, float(np.abs(expected).max())))
    assert np.abs(state).max() > 1e-3, "a memory that tells nothing"
    check_actions(session.get_modelmeta().custom_metadata_map, logits, action)


def check_actions(facts, logits, action):
    config = json.loads(facts["config"])
    assert config["train"]["total_steps"] > 0 and len(facts["run"]) == 16 and int(facts["iteration"]) > 0
    if facts["policy"] in ("categorical", "q"):
        classes = [int(count) for count in facts["classes"].split(",")]
        parts = np.split(logits, np.cumsum(classes)[:-1], axis=1)
        assert action.dtype == np.int64
        action = action.reshape(len(action), -1)  # [rows] of a Gymnasium environment's single action
        assert np.array_equal(action, np.stack([part.argmax(axis=1) for part in parts], axis=1))
        return
    low, high = (float(bound) for bound in facts["bounds"].split(","))
    mean = logits[:, :logits.shape[1] // 2]
    expected = np.clip(mean, low, high) if facts["policy"] == "gaussian" else (
        (high + low) / 2 + (high - low) / 2 * np.tanh(mean))
    np.testing.assert_allclose(action, expected, rtol=5e-5, atol=1e-5)


def compare_weights(name, load):
    """All bytes of both sections of the checkpoint, and where sweepdb reads the network, under its names."""
    path = f"{FOLDER}/{name}.safetensors"
    with load(path, framework="numpy") as file:
        tensors = {key: file.get_tensor(key) for key in file.keys()}
        facts = file.metadata()
    found = checkpoint.read(f"{FOLDER}/{name}", ("actor", "critic"))
    for section in ("actor", "critic"):
        size = sum(array.nbytes for key, array in tensors.items() if key.startswith(section + "."))
        assert size == len(found.sections.get(section, b"")), (section, size)
    stored = np.frombuffer(found.sections["actor"], dtype="<f4")
    order = [array.ravel() for key, array in tensors.items() if key.startswith("actor.")]
    assert np.array_equal(np.sort(np.concatenate(order)), np.sort(stored))
    assert facts["run"] == found.run_id and int(facts["iteration"]) == found.iteration
    if name not in LAYERED:
        return
    import sweepdb
    policy = sweepdb.policy(f"{FOLDER}/{name}")
    own = {key: array for key, array in tensors.items() if not key.startswith("observation.")}
    assert own.keys() == policy.weights.keys(), (own.keys() ^ policy.weights.keys())
    for key, array in own.items():
        assert array.shape == policy.weights[key].shape and np.array_equal(array, policy.weights[key]), key
    assert ("observation.mean" in tensors) == policy.normalized
    if policy.normalized:
        x = rows_of(name)[0]
        seen = (x.astype(np.float64) - tensors["observation.mean"]) * tensors["observation.factor"]
        bound = float(facts["observation_bound"])
        seen = np.clip(seen, -bound, bound).astype(np.float32)
        seen = seen.astype(np.float16).astype(np.float32) if name == "halves" else seen
        np.testing.assert_array_equal(seen, policy.see(x))


def check_models(onnx):
    for name in NAMES:
        onnx.checker.check_model(onnx.load(f"{FOLDER}/{name}.onnx"), full_check=True)


if runtime := package("onnxruntime"):
    for name in NAMES:
        check(f"onnxruntime computes the trainer's logits: {name}", lambda: compare(name, runtime))
if package("safetensors"):
    from safetensors import safe_open
    for name in NAMES:
        check(f"safetensors reads all weights: {name}", lambda: compare_weights(name, safe_open))
if onnx := package("onnx"):
    check("onnx finds the models in order", lambda: check_models(onnx))
print("end")

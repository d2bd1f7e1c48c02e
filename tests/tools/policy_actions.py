"""Checks that the actions of exported policies equal those that the bridge passes to environments: of ONNX, and of
sweepdb.policy for safetensors (tests/cli/test_export_policy.sh). Prints "name<TAB>problem" lines.

usage: policy_actions.py FOLDER WORKER: for each space NAME of action_spaces.py FOLDER/NAME.logits of cli_policy,
NAME.onnx and NAME.safetensors; WORKER: the folder of worker.py.
"""
import os
import sys

import numpy as np

import sweepdb
from action_spaces import SPACES
from sweepdb_check import check

FOLDER, WORKER = sys.argv[1:3]
sys.path.insert(0, WORKER)
import worker  # noqa: E402

changed = {"cut": 0, "rounded": 0}


def rows_of(name):
    with open(f"{FOLDER}/{name}.logits") as file:
        rows = [line.split("|") for line in file]
    return [np.array([row[side].split() for row in rows], dtype=np.float32) for side in (0, 1)]


def given_by_trainer(facts, logits):
    """What the trainer sends to a worker where the likeliest action is taken."""
    if facts.kind == "categorical":
        parts = np.split(logits, np.cumsum(facts.classes)[:-1], axis=1)
        return np.stack([part.argmax(axis=1) for part in parts], axis=1).astype(np.uint8)
    low, high = np.float32(facts.bounds)
    return np.clip(logits[:, :logits.shape[1] // 2], low, high)


def compare(name):
    environment = worker.Gym(f"action_spaces:{name}-v0", 1, {"max_steps": "0", "encoder": "none"})
    x, logits = rows_of(name)
    policy = sweepdb.policy(f"{FOLDER}/{name}.safetensors")
    raw = given_by_trainer(policy, logits)
    expected = environment.translate(raw)
    space = SPACES[name]
    assert all(space.contains(action if space.shape else space.dtype.type(action)) for action in expected), expected[:3]
    if policy.kind == "gaussian":
        changed["cut"] += int((np.abs(raw - expected.reshape(raw.shape)) > 1).any())
        changed["rounded"] += int(space.dtype.kind in "iu" and (raw != expected.reshape(raw.shape)).any())
    yield "sweepdb", policy.act(x), expected
    yield "sweepdb of the run's folder", sweepdb.policy(f"{FOLDER}/{name}").act(x), expected
    drawn = policy.act(x, np.random.default_rng(1))
    assert drawn.dtype == space.dtype and all(space.contains(action if space.shape else space.dtype.type(action)) for action in drawn)
    if runtime:
        session = runtime.InferenceSession(f"{FOLDER}/{name}.onnx", providers=["CPUExecutionProvider"])
        yield "onnxruntime", session.run(["action"], {"observation": x})[0], expected


def agree(name):
    """Equality up to the last bits of logits, which may round differently."""
    for by, found, expected in compare(name):
        assert found.dtype == expected.dtype and found.shape == expected.shape, (by, found.dtype, found.shape, expected.dtype, expected.shape)
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(found, expected, rtol=1e-3 if expected.dtype == "f2" else 5e-5, atol=1e-5, err_msg=by)
        else:
            assert (found != expected).mean() < 0.05, (by, found, expected)


def check_changes():
    assert changed["cut"] >= 2 and changed["rounded"] >= 3, changed


try:
    import onnxruntime as runtime
except ImportError:
    runtime = None
    print(f"skip\tONNX's actions: {sys.executable} has no onnxruntime (make python)")
for name in filter(lambda name: os.path.isdir(f"{FOLDER}/{name}"), SPACES):
    check(f"exported actions are the bridge's: {name}", lambda: agree(name))
check("some of which it had to change", check_changes)
print("end")

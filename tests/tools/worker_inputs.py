"""Drives the worker's environments without a trainer: inputs and outputs of tests/cli/environments/odd_inputs.py.
Prints "name<TAB>problem" lines (tests/cli/test_worker.sh).

usage: worker_inputs.py WORKER: the folder of worker.py.
"""
import sys
import warnings

import numpy as np

from odd_inputs import BAD, GOOD, Plain
from sweepdb_check import check

sys.path.insert(0, sys.argv[1])
import worker  # noqa: E402

WORLDS, STEPS = 2, 12
warnings.simplefilter("ignore")


def play(name):
    """As serve() does, with actions far beyond all bounds; gives the ends of world 0."""
    env = worker.Gym(f"odd_inputs:{name}-v0", WORLDS, {"max_steps": "0", "encoder": "none"})
    shared = {"observations": np.zeros((WORLDS, env.observations), np.float32), "finals": np.zeros((WORLDS, env.observations), np.float32),
              "rewards": np.zeros(WORLDS, np.float32)}
    env.attach(shared)
    worker.put(shared["observations"], env.reset([1, 2]), "observations")
    worker.check_finite(shared["observations"], "observations")
    ends, drawn = [], np.random.default_rng(0)
    for step in range(STEPS):
        if env.factors:
            actions = np.stack([drawn.integers(0, size, WORLDS) for size in env.classes], axis=1).astype(np.uint8)
        else:
            actions = np.float32(drawn.normal(size=(WORLDS, env.values)) * 10.0 ** (step % 8))
        observations, rewards, terminated, truncated = env.step(actions, shared["finals"])
        worker.put(shared["observations"], observations, "observations")
        worker.check_finite(shared["observations"], "observations")
        worker.put(shared["rewards"], rewards, "rewards")
        worker.check_finite(shared["rewards"], "rewards")
        ends.append(bool(terminated[0] | truncated[0]))
    return ends, shared


def check_good(name):
    ends, shared = play(name)
    assert [step for step, end in enumerate(ends) if end] == [4, 9], ends
    if "observation_space" not in GOOD[name] and name not in ("ObsBool", "ObsFractions"):
        assert shared["observations"][0].tolist() in ([2, 1], [2, 3]), shared["observations"]
        assert shared["finals"][0].tolist() in ([5, 1], [5, 6]), shared["finals"]


def check_bad(name, message):
    try:
        play(name)
    except worker.Problem as problem:
        assert message in str(problem), problem
        return
    raise AssertionError("it trains")


assert Plain
for name in GOOD:
    check(f"an environment trains: {name}", lambda: check_good(name))
for name, (_, message) in BAD.items():
    check(f"the message says what is wrong: {name}", lambda: check_bad(name, message))
print("end")

#!/usr/bin/env python3
"""Random search as a program for `method = command:ask_random.py` (docs/experiments.md#programs-that-propose)."""
import json
import math
import random
import sys

head, *trials, ask = map(json.loads, sys.stdin)  # one line of JSON each
random.seed(ask["seed"])


def draw(axis):
    if axis["kind"] == "choice":
        return random.choice(axis["choices"])
    low, high = axis["low"], axis["high"]
    if axis["scale"] == "pow2":
        return 2 ** random.randint(round(math.log2(low)), round(math.log2(high)))
    if axis["kind"] == "integer":
        return random.randint(low, high)
    return math.exp(random.uniform(math.log(low), math.log(high))) if axis["scale"] == "log" else random.uniform(low, high)


for _ in range(ask["ask"]):  # values of settings whose condition does not hold are ignored
    print(json.dumps({"settings": {axis["setting"]: draw(axis) for axis in head["space"]}}))

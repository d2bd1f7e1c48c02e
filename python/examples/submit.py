"""Submits a sweep from Python, waits for it, and reads what came out: `sweep` is called as a program and answers in JSON.

    python python/examples/submit.py [WORKSPACE]

Works the same with Slurm and without, and goes on where it was when it is started again.
"""
from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

import sweepdb

EXPERIMENT = """
[sweep]
name  = from_python
seeds = 2
[env]
morphologies = car
difficulty   = 0
num          = 16
[ppo]
num_steps       = 32
num_minibatches = 4
[net]
width = 32
depth = 2
[train]
total_steps = 20k
[eval]
count    = 2
episodes = 32
[grid epsilon]
ppo.epsilon = {epsilons}
"""


def sweep(workspace: Path, *arguments: str) -> Any:
    """What a command of sweep answers. Its messages go to stderr; where it fails, they say why."""
    done = subprocess.run(["sweep", *arguments, "--root", str(workspace), "--json"], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"sweep {arguments[0]} ended with {done.returncode}")
    return json.loads(done.stdout)


def wait(workspace: Path, name: str) -> dict[str, Any]:
    """Until no run of the sweep is waiting or running; the counts of runs by how they ended."""
    while True:
        status = sweep(workspace, "status", name)[0]
        if not status["queued"] and status["count"]["running"] == 0:
            return dict(status["count"])
        time.sleep(1)


def main(workspace: Path) -> None:
    workspace.mkdir(parents=True, exist_ok=True)
    file = workspace / "from_python.ini"
    file.write_text(EXPERIMENT.format(epsilons=", ".join(str(epsilon) for epsilon in (0.1, 0.2, 0.4))))
    result = sweep(workspace, "submit", str(file))
    print(f"{result['runs']} runs, {result['to_run']} to run")
    counts = wait(workspace, "from_python")
    print(", ".join(f"{count} {state}" for state, count in counts.items() if count))
    sweep(workspace, "collect")
    with sweepdb.open(workspace / "results.db", frame="numpy") as results:
        runs = results.runs(["id"], {"sweep": "from_python", "status": "finished"})
        settings = results.settings({"sweep": "from_python"})
        solved = results.evaluations(["run_id", "iteration", "solve_rate"], {"sweep": "from_python"})
    epsilon_of = dict(zip(settings["run_id"], settings["ppo.epsilon"]))
    last = {run: rate for run, _, rate in sorted(zip(*(solved[name] for name in ("run_id", "iteration", "solve_rate"))))}
    rates = defaultdict(list)
    for run in runs["id"]:
        rates[epsilon_of[run]].append(last[run])
    for epsilon in sorted(rates):
        print(f"epsilon {epsilon}: solve rate {np.mean(rates[epsilon]):.2f} of {len(rates[epsilon])} seeds")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "from_python"))

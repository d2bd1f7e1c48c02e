"""Compares what exporters wrote with results.db (tests/cli/test_export_metrics.sh); prints "name<TAB>problem" lines.

usage: export_metrics_check.py mlflow|wandb|tensorboard RESULTS OUTPUT: lines of mlflow_stub.py or of the stand-in for
wandb, or a directory of event files.
"""
import collections
import glob
import json
import re
import sqlite3
import struct
import sys

from sweepdb_check import check

KIND, RESULTS, OUTPUT = sys.argv[1:]
database = sqlite3.connect(f"file:{RESULTS}?mode=ro", uri=True)
whole = {run: bool(whole) for run, whole in database.execute(
    "SELECT run_id, min(transitions = round(transitions)) FROM iteration GROUP BY run_id")}


def expected():
    """Returns (run, name) -> values by x, of each named metric."""
    found = collections.defaultdict(dict)
    for run, name, iteration, step, value in database.execute(
            "SELECT run_id, name, iteration, step, value FROM metric WHERE value IS NOT NULL ORDER BY iteration"):
        found[run, name][int(step) if whole[run] else iteration] = value
    return found


def read():
    """Returns (run, name) -> list of (x, value), of all that was exported."""
    found = collections.defaultdict(list)
    if KIND == "tensorboard":
        from tensorboard.backend.event_processing import event_accumulator
        for folder in glob.glob(f"{OUTPUT}/*"):
            events = event_accumulator.EventAccumulator(folder, size_guidance={event_accumulator.SCALARS: 0})
            events.Reload()
            for tag in events.Tags()["scalars"]:
                found[folder[-16:], tag] = [(event.step, event.value) for event in events.Scalars(tag)]
        return found
    for line in open(OUTPUT, encoding="utf-8"):
        row = json.loads(line)
        if row.get("kind", "metrics") == "metrics":
            found[row["run"], row["key"]].append((row["step"], row["value"]))
    return found


def single(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def compare():
    """Each metric has values of its own, by which its exported name is found."""
    wanted, found = expected(), read()
    names = collections.defaultdict(list)
    for (run, name), points in found.items():
        assert len({x for x, _ in points}) == len(points), f"{name!r} has a step twice"
        names[run, tuple(sorted(points))].append(name)
    for (run, metric), values in wanted.items():
        points = [(x, single(value) if KIND == "tensorboard" else value) for x, value in sorted(values.items())]
        exported = names.pop((run, tuple(points)), [])
        if metric == "return":  # of which the score is made, an evaluation
            exported = [name for name in exported if not name.startswith("eval")]
        assert len(exported) == 1, f"{metric!r} is exported as {exported}"
        if metric in ("charts/SPS", "losses/policy loss", "Größe", "损失", "train/loss", "eval/return", "1"):
            assert exported == [metric], (exported, metric)
    column = re.compile({"tensorboard": r"train/\w+|eval/.+/\w+", "wandb": r"[a-z]\w*|eval/.+/\w+",
                         "mlflow": r"[a-z]\w*|eval\..+\.\w+"}[KIND])
    for rest in names.values():
        assert all(column.fullmatch(name) for name in rest), rest


def columns():
    found = read()
    kl = {"tensorboard": "train/kl"}.get(KIND, "kl")
    for run, of_whole in whole.items():
        rows = database.execute("SELECT iteration, transitions, kl FROM iteration WHERE run_id = ?"
                                " AND kl IS NOT NULL ORDER BY iteration", (run,)).fetchall()
        values = {int(step) if of_whole else iteration: single(value) if KIND == "tensorboard" else value
                  for iteration, step, value in rows}
        assert values and dict(found[run, kl]) == values, (found[run, kl], values)
        score = {"mlflow": "eval.train.episode_return"}.get(KIND, "eval/train/episode_return")
        assert found[run, score], score


check(f"{KIND}: each named metric, once, by step", compare)
check(f"{KIND}: columns by step", columns)
print("end")

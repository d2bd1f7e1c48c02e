"""Reads event files with TensorBoard's own reader (tests/cli/test_export_runs.sh); prints "name<TAB>problem" lines.

usage: tensorboard_check.py EVENTS CSV RUN: outputs of `analyze export tensorboard` and `analyze export csv`, and one run.
"""
import csv
import glob
import json
import math
import os
import struct
import sys

from tensorboard.backend.event_processing import event_accumulator
from tensorboard.plugins.hparams import plugin_data_pb2

from sweepdb_check import check

EVENTS, CSV, RUN = sys.argv[1:]


def table(name):
    with open(f"{CSV}/{name}.csv", newline="", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if row.get("run_id", row.get("id")) == RUN]


def single(text):
    """As a float32, which events hold."""
    return struct.unpack("f", struct.pack("f", float(text)))[0]


def accumulate():
    sizes = {event_accumulator.SCALARS: 0, event_accumulator.TENSORS: 0}
    found = event_accumulator.EventAccumulator(glob.glob(f"{EVENTS}/*-{RUN}")[0], size_guidance=sizes)
    found.Reload()
    return found


def compare(found, prefix, rows, keys):
    columns = [name for name in rows[0] if name not in keys]
    compared = 0
    for name in columns:
        expected = [(int(float(row["transitions"])), single(row[name])) for row in rows
                    if row[name] and math.isfinite(float(row[name]))]
        tag = f"{prefix}/{name}"
        if not expected:
            assert tag not in found.Tags()["scalars"], tag
            continue
        events = found.Scalars(tag)
        assert [(event.step, event.value) for event in events] == expected, tag
        compared += len(expected)
    assert compared > 0, "nothing to compare"


def check_iterations(found):
    rows = table("iteration")
    compare(found, "train", rows, {"run_id", "iteration"})
    times = [event.wall_time for event in found.Scalars("train/kl")]
    assert times == sorted(times)


def check_evaluations(found):
    rows = table("evaluation")
    assert rows
    seconds = {row["iteration"]: float(row["wall_seconds"] or 0) for row in table("iteration")}
    begin = min(float(row["started"]) for row in table("attempt") if row["started"])
    times = [event.wall_time for event in found.Scalars("eval/train/solve_rate")]
    expected = [begin + seconds.get(row["iteration"], 0) for row in rows if row["level_set"] == "train"]
    assert max(seconds.values()) > 0 and all(abs(a - b) < 1e-3 for a, b in zip(times, expected)), "times"
    for level_set in {row["level_set"] for row in rows}:
        compare(found, f"eval/{level_set}", [row for row in rows if row["level_set"] == level_set],
                {"run_id", "iteration", "level_set"})


def check_settings(found):
    data = found.summary_metadata["_hparams_/session_start_info"].plugin_data
    assert data.plugin_name == "hparams"
    start = plugin_data_pb2.HParamsPluginData.FromString(data.content).session_start_info
    config = json.loads(table("run")[0]["config"])
    assert start.hparams and start.start_time_secs > 0
    for name, value in start.hparams.items():
        section, key = name.split(".")
        kind = value.WhichOneof("kind")
        assert getattr(value, kind) == config[section][key], (name, value)
        assert isinstance(config[section][key], bool) == (kind == "bool_value"), name
    end = plugin_data_pb2.HParamsPluginData.FromString(
        found.summary_metadata["_hparams_/session_end_info"].plugin_data.content).session_end_info
    assert end.status == 1, end      # success


def check_all_readable():
    for folder in os.listdir(EVENTS):
        found = event_accumulator.EventAccumulator(f"{EVENTS}/{folder}")
        found.Reload()
        assert "train/kl" in found.Tags()["scalars"], folder


one = accumulate()
check("TensorBoard reads each value of the iterations", lambda: check_iterations(one))
check("and of the evaluations", lambda: check_evaluations(one))
check("and the settings of the HParams page", lambda: check_settings(one))
check("and every run", check_all_readable)
print("end")

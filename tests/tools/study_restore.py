"""Restores the runs of docs/study/runs.csv as run directories of a workspace: each with its evaluations and, as its only
iteration, the last one, with the run's mean KL and gradient norm. `sweep collect` then builds a results.db of them, on
which `analyze claims` gives the verdicts of the study's own.

usage: study_restore.py RUNS.CSV ROOT"""
import csv
import os
import sys
import zlib

STEPS, EVALUATIONS, EPISODES = 64, 12, 312  # [profile study]: ppo.num_steps, eval.count; eval.episodes in whole levels


def run_log(kind, run, names, rows):
    names = "\t".join(names) + "\tcrc32"
    lines = ["\t".join(row) for row in rows]
    checked = [f"{line}\t{zlib.crc32(line.encode()):08x}\n" for line in lines]
    return f"#runlog 1 {kind} {run} 1 {zlib.crc32(names.encode()):08x}\n{names}\n" + "".join(checked)


def evaluated(first, last):
    """Iterations after which a run that went from iteration `first` to its last one was evaluated."""
    due = [i for i in range(first + 1, last + 1) if i * EVALUATIONS // last > (i - 1) * EVALUATIONS // last]
    return [first] + due


def state(fields):
    text = "".join(f"{name}={value}\n" for name, value in fields.items())
    return text + f"crc32={zlib.crc32(text.encode()):08x}\n"


def restore(row, root):
    run, done = row["id"], int(row["transitions"])
    each = round(int(row["environments"]) * float(row["factor"])) * STEPS
    last = done // each
    goes_on = row["begun_from"] and row["restored"] == "all"
    at = evaluated(int(row["begun_from"].split("@")[1]) if goes_on else 0, last)
    solved = [round(float(rate) * EPISODES) / EPISODES for rate in row["solve_rates"].split()]
    assert len(at) == len(solved), (run, at, len(solved))
    folder = f"{root}/runs/{run[:2]}/{run}"
    os.makedirs(folder)
    ddr = float(row["ddr"])
    files = {
        "stats.1.tsv": run_log("stats", run, ["iteration", "transitions[transitions]", "kl[nat]", "grad_norm_actor"],
                               [[str(last), str(done), f"{each / ddr:.9g}", row["grad_norm"]]]),
        "eval.1.tsv": run_log("eval", run, ["iteration", "level_set", "transitions[transitions]", "solve_rate", "episodes[episodes]"],
                              [[str(i), "train", str(i * each), f"{rate:.9g}", str(EPISODES)] for i, rate in zip(at, solved)]),
        "state": state({"status": row["status"], "attempt": 1, "iteration": last, "iterations": last, "transitions": done,
                        "transitions_total": done, "train_seconds": row["seconds"]}),
    }
    for name, text in files.items():
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            file.write(text)


def main():
    with open(sys.argv[1], encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            restore(row, sys.argv[2])


main()

"""Restores the published runs of a study (docs/study/*.csv) as run directories of a workspace: each with its
evaluations and, as its only iteration, the last one, with the means of the whole run. `sweep collect` then builds a
results.db of them, on which `analyze claims` gives the verdicts of the study's own.

Runs that recorded a plan are restored only if plan-<study>.md is still that plan.

usage: study_restore.py RUNS.CSV ROOT"""
import csv
import hashlib
import os
import sys
import zlib

STEPS, EVALUATIONS, EPISODES = 64, 12, 312  # [profile study]: ppo.num_steps, eval.count; eval.episodes in whole levels
EVALUATIONS_PLATEAU = 30  # [profile plateau]: eval.count
COVERED = "1000000"
FIXED_POINT_RUN = {"iterations": 200, "transitions": 1000000}


def run_log(kind, run, columns):
    """A log of one row per entry of the columns, {name: [value, ...]}; values are text."""
    names = "\t".join(columns) + "\tcrc32"
    lines = ["\t".join(row) for row in zip(*columns.values())]
    checked = [f"{line}\t{zlib.crc32(line.encode()):08x}\n" for line in lines]
    return f"#runlog 1 {kind} {run} 1 {zlib.crc32(names.encode()):08x}\n{names}\n" + "".join(checked)


def state(fields):
    text = "".join(f"{name}={value}\n" for name, value in fields.items())
    return text + f"crc32={zlib.crc32(text.encode()):08x}\n"


def write_run(root, run, commit, status, last, done, seconds, means, evaluations, measured=()):
    """means: columns of the last iteration; measured: (iteration, columns) of earlier ones; evaluations: columns, of
    which `iteration` is the first."""
    folder = f"{root}/runs/{run[:2]}/{run}"
    each = done // last
    at = evaluations.pop("iteration")
    os.makedirs(folder)
    rows = [*measured, (last, means)]
    columns = {name: None for _, row in rows for name in row}
    files = {
        "stats.1.tsv": run_log("stats", run, {"iteration": [str(i) for i, _ in rows],
                                              "transitions[transitions]": [str(i * each) for i, _ in rows]} |
                               {name: [row.get(name, "") for _, row in rows] for name in columns}),
        "eval.1.tsv": run_log("eval", run, {"iteration": [str(i) for i in at], "level_set": ["train"] * len(at),
                                            "transitions[transitions]": [str(i * each) for i in at]} | evaluations),
        "state": state({"status": status, "commit": commit, "attempt": 1, "iteration": last, "iterations": last, "transitions": done,
                        "transitions_total": done, "train_seconds": seconds}),
    }
    for name, text in files.items():
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            file.write(text)


def rated(rates):
    """Columns of evaluations with these solve rates, which are shares of whole episodes."""
    return {"solve_rate": [f"{round(float(rate) * EPISODES) / EPISODES:.9g}" for rate in rates],
            "episodes[episodes]": [str(EPISODES)] * len(rates)}


def evaluated(first, last, count=EVALUATIONS):
    """Iterations after which a run that went from iteration `first` to its last one was evaluated."""
    return [i for i in range(first, last + 1) if i == 0 or i * count // last > (i - 1) * count // last]


def restore_main(row, root):
    done = int(row["transitions"])
    each = round(int(row["environments"]) * float(row["factor"])) * STEPS
    goes_on = row["begun_from"] and row["restored"] == "all"
    at = evaluated(int(row["begun_from"].split("@")[1]) if goes_on else 0, done // each)
    rates = row["solve_rates"].split()
    assert len(at) == len(rates), (row["id"], at, len(rates))
    means = {"kl[nat]": f"{each / float(row['ddr']):.9g}", "grad_norm_actor": row["grad_norm"]}
    write_run(root, row["id"], row["commit"], row["status"], done // each, done, row["seconds"], means, {"iteration": at} | rated(rates))


def restore_ddr(row, root):
    last, done = int(row["iteration"]), int(row["transitions"])
    means = {"kl[nat]": f"{done / last / float(row['ddr']):.9g}"}
    if row.get("noise_scale"):
        means |= {"grad_variance_actor": row["noise_scale"], "grad_square_actor": "1"}
    write_run(root, row["run"], row["commit"], "finished", last, done, 0, means,
              {"iteration": evaluated(0, last)} | rated(row["solve_rates"].split()))


def limits(path):
    """Returns what was measured of the limits of batches: {run: [(iteration, columns), ...]}."""
    names = {"limit_epochs": "limit_epochs[epochs]", "limit_moved": "limit_moved", "kl_limit": "kl_limit[nat]"}
    with open(path, encoding="utf-8", newline="") as file:
        return {row["run"]: [(int(i), dict(zip(names.values(), values))) for i, *values in
                             zip(row["iterations"].split(), *(row[name].split() for name in names))]
                for row in csv.DictReader(file)}


def restore_fixed_point(row, root):
    last, done = FIXED_POINT_RUN["iterations"], FIXED_POINT_RUN["transitions"]
    means = {"kl[nat]": row["kl"], "kl_monotone": row["kl_monotone"], "kl_slope[1/iteration]": row["kl_slope"],
             "kl_consecutive[nat]": row["kl_consecutive"]}
    scores = {"iteration": [last], "episode_return": [row["final_return"]], "episodes[episodes]": ["8"]}
    measured = limits(os.path.dirname(sys.argv[1]) + "/fixed-point-limits.csv").get(row["run"], [])
    write_run(root, row["run"], "", "finished", last, done, 0, means, scores, measured)


def restore_parallel(row, root):
    last, done = int(row["iteration"]), int(row["transitions"])
    names = {"feature_rank": "feature_rank_actor", "inactive": "inactive_actor", "weight_norm": "weight_norm_actor",
             "kurtosis": "grad_kurtosis_actor", "policy_variance": "policy_variance", "ess": "ess_percent[%]",
             "coverage": "coverage_50"}
    means = {column: row[name] for name, column in names.items()}
    if row["coverage"]:
        means["coverage_states[states]"] = COVERED  # of each run, since the measure compares at equal numbers
    scores = row["scores"].split()
    rates = rated(scores) if "/" not in row["task"] else {"episode_return": scores, "episodes[episodes]": ["8"] * len(scores)}
    write_run(root, row["run"], row["commit"], row["status"], last, done, 0, means,
              {"iteration": evaluated(0, last, len(scores) - 1)} | rates)


def restore_plateau(row, root):
    last, done = int(row["iteration"]), int(row["transitions"])
    first = int(row["begun_from"].split("@")[1]) if row["begun_from"] else 0
    rates, kls = row["solve_rates"].split(), row["mean_kls"].split()
    at = evaluated(first, last, EVALUATIONS_PLATEAU)
    assert len(at) == len(rates) == len(kls) + 1, (row["run"], at, len(rates), len(kls))

    merged = [(end, {"kl[nat]": kl, "merged_iterations[iterations]": str(end - begin)})
              for begin, end, kl in zip(at, at[1:], kls)]
    means = merged.pop()[1] | {"grad_norm_actor": row["grad_norm"], "grad_variance_actor": row["grad_variance"],
                               "grad_square_actor": row["grad_square"]}
    write_run(root, row["run"], row["commit"], "finished", last, done, 0, means, {"iteration": at} | rated(rates), merged)


def check_plan(path, recorded):
    """Ends the program unless the plan of these runs begins with the recorded SHA-256."""
    folder, name = os.path.split(path)
    plan = f"{folder}/plan-{name.removesuffix('.csv')}.md"
    with open(plan, "rb") as file:
        if not hashlib.sha256(file.read()).hexdigest().startswith(recorded):
            sys.exit(f"{plan} is not the plan {recorded} that the runs recorded")


def main():
    distinct = {"mean_kls": restore_plateau, "feature_rank": restore_parallel, "id": restore_main, "ddr": restore_ddr}
    with open(sys.argv[1], encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for plan in {row["plan"] for row in rows if "plan" in row}:
        check_plan(sys.argv[1], plan)

    restore = next((distinct[name] for name in distinct if name in rows[0]), restore_fixed_point)
    for row in rows:
        restore(row, sys.argv[2])


main()

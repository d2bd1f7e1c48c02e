#!/usr/bin/env python3
"""Compares the tables of docs/study-ddr.md, study-fixed-point.md, study-parallel-data.md and study-com-epsilon.md with
the published runs (docs/study/*.csv): means over seeds; hashes of plans with the plans; commits of pictures with the
history. Prints each difference. Run it from the root of the repository."""
import collections
import csv
import glob
import hashlib
import math
import re
import statistics
import subprocess

from study_plateau import least_squares, runs_of

LEVERS, USUAL_ENVIRONMENTS = 4, 64  # of experiments/ddr_levers.ini


def rows(page):
    with open(page, encoding="utf-8") as file:
        return [[cell.strip() for cell in line.strip()[1:-1].split("|")] for line in file if line.startswith("|")]


def means(study, keys, columns):
    groups = collections.defaultdict(list)
    for row in runs_of(study):
        groups[tuple(row[key] for key in keys)].append([float(row[column]) for column in columns])
    return {key: [statistics.mean(column) for column in zip(*runs)] for key, runs in groups.items()}


def check(where, shown, value, digit):
    """A cell's number, rounded to `digit`, may be off by half a digit and the rounding of the published rows."""
    if abs(shown - value) > 0.51 * digit + 1e-4 * abs(value):
        print(f"{where}: {shown} on the page, {value:.4g} of the runs")


def cubic(points):
    """Returns the least-squares cubic of points (x, y), of centered x."""
    center = statistics.mean(x for x, _ in points)
    fit = least_squares([[(x - center) ** i for i in range(4)] for x, _ in points], [y for _, y in points])
    return lambda x: sum(fit[i] * (x - center) ** i for i in range(4))


def distances(cells, setting):
    """Returns the distances of a setting's cells from the curve of the other settings, by ascending DDR, where these have
    a DDR on both sides: [(value of the setting, distance)]."""
    others = [cell for (name, _), cell in cells.items() if name != setting]
    low, high = min(x for x, _ in others), max(x for x, _ in others)
    curve = cubic(others)
    own = sorted((x, y, value) for (name, value), (x, y) in cells.items() if name == setting and low <= x <= high)
    return [(value, y - curve(x)) for x, y, value in own]


def check_ddr():
    names = {"COM": "ppo.com", "epsilon": "ppo.epsilon", "epochs": "ppo.epochs", "environments": "scale.factor",
             "learning rate": "ppo.learning_rate", "target KL": "ppo.target_kl", "KL penalty": "ppo.kl_penalty"}
    usual = {"ppo.epsilon": "0.2", "ppo.epochs": "8", "scale.factor": "1", "ppo.learning_rate": "0.001"}
    runs = collections.defaultdict(list)
    for row in runs_of("ddr"):
        rate, ddr = float(row["solve_rates"].split()[-1]), float(row["ddr"])
        runs[row["setting"], row["value"], "ddr_levers" in row["sweeps"]].append((rate, ddr, math.log(ddr)))
    means_of = {key: [statistics.mean(column) for column in zip(*seeds)] for key, seeds in runs.items()}
    seen = 0
    for cells in rows("docs/study-ddr.md"):
        if cells[0] not in names:
            continue
        setting, seen = names[cells[0]], seen + 1
        is_lever = any(name == setting and lever for name, _, lever in means_of)
        compared = {(name, value): (log_ddr, mean) for (name, value, lever), (mean, _, log_ddr) in means_of.items()
                    if lever or not is_lever}
        found = distances(compared, setting)
        if len(cells) == 3:
            shown = list(zip(cells[1].split(", "), cells[2].split(", "), strict=True))
            unit = USUAL_ENVIRONMENTS if setting == "scale.factor" else 1
            if [float(value) for value, _ in shown] != [float(value) * unit for value, _ in found]:
                print(f"{cells[0]}: distances of {cells[1]} on the page, of {[value for value, _ in found]} in the runs")
            for (_, distance), (value, right) in zip(shown, found):
                check(f"{cells[0]} {value}, distance", float(distance), right, 0.01)
            continue

        values = {value: mean for (name, value, _), mean in means_of.items() if name == setting}
        if setting in usual:
            values[usual[setting]] = means_of["", "", True]
        best = max(values, key=lambda value: values[value][0])
        rate, value = re.fullmatch(r"([\d.]+) \(([\de.-]+)\)", cells[1]).groups()
        if float(value) != float(best):
            print(f"{cells[0]}: {value} is the best on the page, {best} of the runs")
        check(f"{cells[0]}, rate", float(rate), values[best][0], 0.01)
        check(f"{cells[0]}, DDR", float(cells[2].removesuffix(" k")), values[best][1] / 1000, 1)

        half = len(found) // 2
        for name, shown, part in (("lower", cells[3], found[:half]), ("upper", cells[4], found[half:])):
            check(f"{cells[0]}, {name} half", float(shown), statistics.mean(distance for _, distance in part), 0.01)
    if seen != len(names) + LEVERS:
        print(f"docs/study-ddr.md: {seen} rows of {len(names)} settings and {LEVERS} levers")


def check_fixed_point():
    columns = ["final_return", "kl_monotone", "kl_slope"]
    known = means("fixed-point", ["task", "environments", "steps", "minibatch_size"], columns)
    shape, seen = None, 0
    for cells in rows("docs/study-fixed-point.md"):
        if len(cells) != 8 or not cells[1].isdigit():
            continue
        shape, seen = cells[0].split(" x ") if cells[0] else shape, seen + 1
        for task, begin in (("HalfCheetah-v4", 2), ("Walker2d-v4", 5)):
            mean, where = known[task, *shape, cells[1]], f"{task} {shape[0]} x {shape[1]}, {cells[1]}"
            check(where, float(cells[begin]), mean[0], 1)
            check(where, float(cells[begin + 1].rstrip("%")), 100 * mean[1], 1)
            check(where, float(cells[begin + 2]), mean[2], 0.1)
    if seen != len(known) // 2:
        print(f"docs/study-fixed-point.md: {seen} of {len(known) // 2} settings")


def check_limits():
    measured = collections.defaultdict(list)
    for row in runs_of("fixed-point-limits"):
        size = str(5000 // int(row["minibatches"]))
        measured[row["task"].split("/")[1], row["environments"], size] += zip(row["limit_epochs"].split(),
                                                                              map(float, row["limit_moved"].split()))
    shape, seen = None, 0
    for cells in rows("docs/study-fixed-point.md"):
        if len(cells) != 6 or not cells[1].isdigit():
            continue
        shape, seen = cells[0].split(" x ") if cells[0] else shape, seen + 1
        for task, begin in (("HalfCheetah-v4", 2), ("Walker2d-v4", 4)):
            found = measured[task, shape[0], cells[1]]
            text = f"{sum(epochs != '0' for epochs, _ in found)} of {len(found)}"
            if text != cells[begin]:
                print(f"limits of {task} {shape[0]}, {cells[1]}: {cells[begin]} on the page, {text} of the runs")
            check(f"{task} {shape[0]}, {cells[1]}, moved", float(cells[begin + 1].rstrip("%")),
                  100 * statistics.mean(moved for _, moved in found), 1)
    if seen != len(measured) // 2:
        print(f"docs/study-fixed-point.md: limits of {seen} of {len(measured) // 2} settings")


def check_parallel():
    easier, harder = "car+unicycle+wheelfeet+tree", "chain+hopper+walker+cheetah"
    columns = {"feature_rank": 0.1, "inactive": 0.01, "weight_norm": 0.1, "kurtosis": 0.1, "policy_variance": 0.001}
    runs, seen = collections.defaultdict(list), 0
    for row in runs_of("parallel-data"):
        if row["task"] in (easier, harder):
            runs[row["task"], row["environments"] + " x " + row["steps"]].append(row)

    for cells in rows("docs/study-parallel-data.md"):
        if not re.fullmatch(r"\d+ x \d+", cells[0]):
            continue
        seen += 1
        if len(cells) == 5:
            for task, shown in ((easier, cells[3]), (harder, cells[4])):
                check(f"{task} {cells[0]}, rate", float(shown),
                      statistics.mean(float(row["scores"].split()[-1]) for row in runs[task, cells[0]]), 0.01)
        else:
            for (column, digit), shown in zip(columns.items(), cells[1:]):
                check(f"{harder} {cells[0]}, {column}", float(shown),
                      statistics.mean(float(row[column]) for row in runs[harder, cells[0]]), digit)
    if seen != len(runs):
        print(f"docs/study-parallel-data.md: {seen} rows, {len(runs)} settings")


def check_com_epsilon():
    runs, epsilons, seen = collections.defaultdict(list), None, 0
    for row in runs_of("com-epsilon"):
        runs[float(row["com"]), float(row["epsilon"])].append(float(row["solve_rates"].split()[-1]))

    for cells in rows("docs/study-com-epsilon.md"):
        if cells[0] == "COM":
            epsilons = [float(cell) for cell in cells[1:]]
        elif epsilons and cells[0].isdigit():
            for epsilon, shown in zip(epsilons, cells[1:], strict=True):
                seen += 1
                check(f"COM {cells[0]}, epsilon {epsilon}", float(shown), statistics.mean(runs[float(cells[0]), epsilon]), 0.01)
    if seen != len(runs):
        print(f"docs/study-com-epsilon.md: {seen} of {len(runs)} settings")


def check_plans():
    """Checks each SHA-256 on the studies' pages: 12 digits and an ellipsis."""
    hashes = []
    for path in glob.glob("docs/study/plan-*.md"):
        with open(path, "rb") as file:
            hashes.append(hashlib.sha256(file.read()).hexdigest())
    for page in glob.glob("docs/study*.md"):
        with open(page, encoding="utf-8") as file:
            for digits in re.findall(r"\b([0-9a-f]{12})\.\.\.", file.read()):
                if not any(whole.startswith(digits) for whole in hashes):
                    print(f"{page}: {digits} is no plan's SHA-256")


def git(*arguments):
    return subprocess.run(["git", *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)


def check_pictures():
    """Checks that pictures name commits of the history: of the trainer, and of a clean tree that drew them."""
    if git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        return
    for path in sorted(glob.glob("docs/study/*.svg") + glob.glob("docs/gallery/*.svg")):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        named = re.search(r"program: analyze [^,]*, commit (.*)", text)[1], *re.search(
            r"trainer: commit (.*)", text)[1].split(", ")
        for commit in named:
            if git("cat-file", "-e", commit + "^{commit}").returncode != 0:
                print(f"{path}: no commit {commit}")


check_ddr()
check_fixed_point()
check_limits()
check_parallel()
check_com_epsilon()
check_plans()
check_pictures()

#!/usr/bin/env python3
"""Prints the rows of the tables of docs/study-plateau.md that are no verdicts, from the published runs and probes:
   analyze asymptote --json | study_plateau.py runs
   study_plateau.py switches
   study_plateau.py predictors
   study_plateau.py plasticity
Run it from the root of the repository."""
import collections
import csv
import json
import math
import statistics
import sys

# Student's t by degrees of freedom
T_95 = {2: 4.3027, 3: 3.1824, 4: 2.7764, 5: 2.5706, 6: 2.4469, 7: 2.3646}
T_975 = {2: 6.2053, 3: 4.1765, 4: 3.4954, 5: 3.1634, 6: 2.9687, 7: 2.8412}


def runs_of(name):
    with open(f"docs/study/{name}.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def interval(values, quantiles):
    center = statistics.mean(values)
    half = quantiles[len(values) - 1] * statistics.stdev(values) / math.sqrt(len(values))
    return center, center - half, center + half


def line(values):
    """Returns the rise of the least-squares line through equally spaced values, from the first to the last, and its end."""
    n, mean = len(values), statistics.mean(values)
    offsets = [i - (n - 1) / 2 for i in range(n)]
    slope = sum(x * y for x, y in zip(offsets, values)) / sum(x * x for x in offsets)
    return slope * (n - 1), mean + slope * (n - 1) / 2


def settings():
    """Returns the runs from the start by (environments, COM)."""
    runs = collections.defaultdict(list)
    for row in runs_of("plateau"):
        if not row["begun_from"]:
            runs[int(row["environments"]), float(row["com"])].append(row)
    return dict(sorted(runs.items()))


def rates(row):
    return [float(rate) for rate in row["solve_rates"].split()]


def print_runs():
    """A row per configuration from the start: final score, gain of the last third by its least-squares line, as a share
    of all that was gained since the untrained policy, and the asymptote."""
    asymptotes = {(row["panel"], row["ppo.com"]): row for row in json.load(sys.stdin)}
    for (environments, com), runs in settings().items():
        runs = [rates(row) for row in runs]
        mean = [statistics.mean(scores) for scores in zip(*runs)]
        third = len(mean) * 2 // 3
        gained = line(mean[third:])[1] - mean[0]
        shares = interval([line(scores[third:])[0] / gained for scores in runs], T_95)
        fit = asymptotes[f"envs {environments}", com]
        asymptote = ("{:.2f} [{:.2f}, {:.2f}]".format(fit["asymptote"], fit["low"], fit["high"]) if fit["identified"]
                     else f"not identified, at least {fit['bound']:.2f}")
        print(f"| {environments} | {com:.0f} | {mean[-1]:.2f} | "
              "{:.2f} [{:.2f}, {:.2f}]".format(*shares) + f" | {asymptote} |")


def print_switches():
    """A row per switch of COM: final score, that of the runs with this COM from the start, and of the unswitched runs."""
    plain = settings()
    began_with = {row["run"]: float(row["com"]) for runs in plain.values() for row in runs}
    switched = collections.defaultdict(list)
    for row in runs_of("plateau"):
        if row["begun_from"]:
            switched[began_with[row["begun_from"][4:].split("@")[0]], float(row["com"])].append(row)

    for (old, new), runs in sorted(switched.items()):
        finals = [statistics.mean(rates(row)[-1] for row in group) for group in (runs, plain[64, new], plain[64, old])]
        print(f"| COM {old:.0f} to {new:.0f} | " + " | ".join(f"{final:.2f}" for final in finals) + " |")


def least_squares(rows, values):
    """Returns the coefficients of the least-squares fit to values of rows of regressors, by the normal equations."""
    n = len(rows[0])
    system = [[sum(row[i] * row[j] for row in rows) for j in range(n)] + [sum(row[i] * y for row, y in zip(rows, values))]
              for i in range(n)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda k: abs(system[k][i]))
        system[i], system[pivot] = system[pivot], system[i]
        system[i] = [value / system[i][i] for value in system[i]]
        for j in range(n):
            if j != i:
                system[j] = [value - system[j][i] * other for value, other in zip(system[j], system[i])]
    return [row[n] for row in system]


def leave_one_out_error(rows, values):
    """Returns the root mean square error of predicting each value from the fit to the others."""
    errors = []
    for i, row in enumerate(rows):
        fit = least_squares(rows[:i] + rows[i + 1:], values[:i] + values[i + 1:])
        errors.append(values[i] - sum(f * x for f, x in zip(fit, row)))
    return math.sqrt(statistics.mean(e * e for e in errors))


def log_kl(runs, first, last):
    """Returns the logarithm of the mean KL of an iteration, between evaluations."""
    return math.log(statistics.mean(float(kl) for row in runs for kl in row["mean_kls"].split()[first:last]))


def log_ddr(runs, first, last):
    return math.log(float(runs[0]["transitions"]) / float(runs[0]["iteration"])) - log_kl(runs, first, last)


def print_predictors():
    """Late DDR and gradient noise scale of each setting, with the mean score of its last third; then the root mean square
    error of predicting each setting's score from the others', linearly in the logarithms of these and other measures."""
    points = []
    for (environments, com), runs in settings().items():
        score = statistics.mean(rate for row in runs for rate in rates(row)[len(rates(row)) * 2 // 3:])
        ddr = log_ddr(runs, -7, None)
        noise = sum(float(row["grad_variance"]) for row in runs) / sum(float(row["grad_square"]) for row in runs)
        norm = statistics.mean(float(row["grad_norm"]) for row in runs)
        points.append({"score": score, "DDR": ddr, "noise scale": math.log(noise),
                       "DDR of the first 2 M transitions": log_ddr(runs, 0, 2), "gradient norm": math.log(norm),
                       "KL": log_kl(runs, -7, None)})
        print(f"| {environments} | {com:.0f} | {score:.2f} | {math.exp(ddr) / 1000:.1f} k | {noise / 1000:.1f} k |")

    scores = [point["score"] for point in points]
    sets = {"nothing": [], "both": ["DDR", "noise scale"]}
    for name in ("nothing", "DDR", "noise scale", "both", "DDR of the first 2 M transitions", "gradient norm", "KL"):
        rows = [[1, *(point[measure] for measure in sets.get(name, [name]))] for point in points]
        print(f"| {name} | {leave_one_out_error(rows, scores):.2f} |")


def ratio(values):
    return "{:.2f} [{:.2f}, {:.2f}]".format(*map(math.exp, interval(values, T_975)))


def print_plasticity():
    """A row per checkpoint and COM: relative errors of the actor for both options of --around, each with its ratio to that
    of COM 64, and of the critic."""
    logs = {}
    for row in runs_of("plasticity"):
        key = int(row["iteration"]), float(row["com"]), row["around"], row["network"]
        logs.setdefault(key, {})[row["seed"]] = math.log(float(row["relative"]))

    for iteration, com in sorted({key[:2] for key in logs}):
        cells = []
        for around in ("mean", "output"):
            own, usual = (logs[iteration, c, around, "actor"] for c in (com, 64))
            cells.append(f"{math.exp(statistics.mean(own.values())):.1f}")
            cells.append(ratio([own[seed] - usual[seed] for seed in own]) if com != 64 else "1")
        cells.append(f"{math.exp(statistics.mean(logs[iteration, com, 'mean', 'critic'].values())):.1f}")
        print(f"| {iteration} | {com:.0f} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    {"runs": print_runs, "switches": print_switches, "predictors": print_predictors,
     "plasticity": print_plasticity}[sys.argv[1]]()

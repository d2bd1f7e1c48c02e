"""Figs. 2 and 9 of "The Impact of On-Policy Parallelized Data Collection on Deep RL Networks" with the paper's UMAP: the
states that runs kept (metrics.visited_states), projected onto a plane, and the share of its cells that each run visited.

    pip install ./python umap-learn matplotlib
    python python/examples/umap_states.py results.db --sweep NAME --group env.num --task atari/Qbert

All runs of the sweep and task share one plane and equal numbers of states. Prints one line per group: runs, states,
coverage of a 50 x 50 grid (mean and smallest to largest run). Without umap-learn the plane is that of the first two
principal components; with matplotlib it also draws states.png.
"""
from __future__ import annotations

import argparse
import pathlib
import sys

import numpy as np

import sweepdb

CELLS, MOST_STATES = 50, 20000


def read_states(directory: pathlib.Path) -> np.ndarray:
    """The states of one run [states][features], in the order of training; empty if it kept none."""
    files = sorted(directory.glob("states.*.npy"), key=lambda file: int(file.name.split(".")[1]))
    return np.concatenate([np.load(file) for file in files]) if files else np.empty((0, 0), np.float32)


def run_directory(root: pathlib.Path, run: str) -> pathlib.Path:
    """The run's directory in this or an older layout of the workspace."""
    sharded = root / "runs" / run[:2] / run
    return sharded if sharded.is_dir() else root / "runs" / run


def thin(states: np.ndarray, count: int) -> np.ndarray:
    """`count` states, spread evenly."""
    return states[np.linspace(0, len(states) - 1, count).astype(int)]


def project(states: np.ndarray) -> tuple[np.ndarray, str]:
    """The states in a plane [states][2], and the method's name."""
    deviation = states.std(axis=0)
    standardized = (states - states.mean(axis=0)) / np.where(deviation > 0, deviation, 1)
    try:
        import umap
    except ModuleNotFoundError:
        print("umap-learn is not installed: principal components instead of UMAP", file=sys.stderr)
        axes = np.linalg.svd(thin(standardized, min(2000, len(states))), full_matrices=False)[2][:2]
        return standardized @ axes.T, "PCA"
    return np.asarray(umap.UMAP(n_components=2, random_state=0).fit_transform(standardized)), "UMAP"


def cover(points: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """The share of the grid's cells with a point."""
    cells = np.clip(((points - low) / np.where(high > low, high - low, 1) * CELLS).astype(int), 0, CELLS - 1)
    return len(np.unique(cells[:, 0] * CELLS + cells[:, 1])) / CELLS**2


def draw(groups: dict[str, list[np.ndarray]], method: str, path: pathlib.Path) -> None:
    """Draws the first run of each group, colored by the time of its states."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        print("matplotlib is not installed: no picture", file=sys.stderr)
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(1, len(groups), figsize=(3.2 * len(groups), 3.2), sharex=True, sharey=True,
                                   squeeze=False, layout="constrained")
    for axis, (label, runs) in zip(axes[0], groups.items()):
        axis.scatter(runs[0][:, 0], runs[0][:, 1], c=np.arange(len(runs[0])), s=2)
        axis.set_title(label)
    figure.suptitle(f"visited states, {method}")
    figure.savefig(path, bbox_inches="tight")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("database", type=pathlib.Path)
    parser.add_argument("--sweep", help="runs of this sweep only")
    parser.add_argument("--group", default="env.num", help="settings, separated by commas")
    parser.add_argument("--task", help="runs with this env.task only")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("states.png"))
    given = parser.parse_args()
    keys = given.group.split(",")
    where = {key: value for key, value in (("sweep", given.sweep), ("env.task", given.task)) if value}
    with sweepdb.open(given.database, frame="numpy") as database:
        runs = database.settings(where=where)
    states: list[tuple[str, np.ndarray]] = []
    for i, run in enumerate(runs["run_id"]):
        kept = read_states(run_directory(given.database.resolve().parent, str(run)))
        if len(kept):
            states.append((", ".join(f"{key} = {runs[key][i]}" for key in keys), kept))
    if not states:
        sys.exit("no run kept states; set metrics.visited_states in the experiment file")
    count = min(min(len(kept) for _, kept in states), max(1, MOST_STATES // len(states)))
    points, method = project(np.concatenate([thin(kept, count) for _, kept in states]))
    low, high = points.min(axis=0), points.max(axis=0)
    groups: dict[str, list[np.ndarray]] = {}
    for i, (label, _) in enumerate(states):
        groups.setdefault(label, []).append(points[i * count:(i + 1) * count])
    for label, own in groups.items():
        shares = [cover(run, low, high) for run in own]
        print(f"{label}\t{len(own)} runs\t{count} states\tcoverage {np.mean(shares):.4f} "
              f"({min(shares):.4f} to {max(shares):.4f})\t{method}")
    draw(groups, method, given.output)


if __name__ == "__main__":
    main()

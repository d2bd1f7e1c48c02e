"""Common tools for the statistics: rliable's bootstrap intervals, and pandas reading results.db."""
import os
import sqlite3
import sys
import time

import numpy
import pandas
import rliable
from rliable import library, metrics


from rows import best_seconds, row

SEEDS, TASKS, REPLICATES = 5, 10, 1000


def bootstrap():
    """Intervals of IQM and mean of one configuration; a rate, so that a thousand replicates instead of fifty times 50 000
    do: rliable draws them one after the other, so that its time grows with their number."""
    scores = {"x": numpy.random.default_rng(1).uniform(size=(SEEDS, TASKS))}
    both = lambda x: numpy.array([metrics.aggregate_iqm(x), metrics.aggregate_mean(x)])
    seconds = best_seconds(lambda: library.get_interval_estimates(scores, both, reps=REPLICATES))
    row("stratified_bootstrap", "replicates", REPLICATES / seconds, "1/s", "rliable " + getattr(rliable, "__version__", ""))


def read():
    """Four columns of all iterations, and their means by run: once, as a person would. The rows lie in a plain table of these
    columns alone (PEER_ROWS), which is the best case for pandas. Ours: the same means by `analyze sql` (results_group), and what
    people read the columns for, drawn: KL curves (results_read), and each run's DDR against its solve rate (results_ddr)."""
    path = os.environ.get("PEER_ROWS", "")
    if not os.path.exists(path):
        sys.exit("PEER_ROWS names no file of rows; bench_large plain makes one")
    start = time.perf_counter()
    with sqlite3.connect("file:" + path + "?mode=ro", uri=True) as database:
        frame = pandas.read_sql("SELECT run_id, transitions, kl, solve_rate FROM iteration", database)
    frame.groupby("run_id").mean()
    seconds = time.perf_counter() - start
    row("results", "time", seconds, "s", "pandas " + pandas.__version__)
    for case in "results_read", "results_ddr", "results_group":
        row(case, "rows", len(frame) / seconds, "1/s", "pandas " + pandas.__version__)


bootstrap()
read()

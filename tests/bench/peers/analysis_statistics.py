"""What people use for the statistics: rliable's bootstrap intervals, and pandas reading results.db."""
import os
import sqlite3
import subprocess
import tempfile

import numpy
import pandas
import rliable
from rliable import library, metrics

from rows import best_seconds, row

SEEDS, TASKS, REPLICATES = 5, 10, 1000


def bootstrap():
    """Intervals of IQM and mean of one configuration; a rate, so that fewer replicates than 50 000 do."""
    scores = {"x": numpy.random.default_rng(1).uniform(size=(SEEDS, TASKS))}
    both = lambda x: numpy.array([metrics.aggregate_iqm(x), metrics.aggregate_mean(x)])
    seconds = best_seconds(lambda: library.get_interval_estimates(scores, both, reps=REPLICATES))
    row("stratified_bootstrap", "replicates", REPLICATES / seconds, "1/s", "rliable " + getattr(rliable, "__version__", ""))


def read():
    """Four columns of all iterations, and their means by run."""
    program = os.path.join(os.environ.get("SWEEP_BUILD", "../../../build"), "tests/bench/bench_large")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "results.db")
        subprocess.run([program, "make", path, "200", "5000"], check=True)
        sql = "SELECT run_id, transitions, kl, solve_rate FROM iteration"

        def group():
            with sqlite3.connect("file:" + path + "?mode=ro", uri=True) as database:
                pandas.read_sql(sql, database).groupby("run_id").mean()

        row("results_read", "rows", 200 * 5000 / best_seconds(group, least=2), "1/s", "pandas " + pandas.__version__)


bootstrap()
read()

"""Third-party readers of results.db (PEER_RESULTS, made by bench_large): three columns of a million rows."""
import os
import sqlite3
import sys

import pandas

from rows import best_seconds, row

PATH = os.environ.get("PEER_RESULTS", "")
SQL = "SELECT transitions, kl, solve_rate FROM iteration LIMIT 1000000"

if not os.path.exists(PATH):
    sys.exit("PEER_RESULTS names no results.db; bench_large make makes one")
with sqlite3.connect("file:" + PATH + "?mode=ro", uri=True) as database:
    row("three columns of 1 M iterations", "time", best_seconds(lambda: database.execute(SQL).fetchall()), "s",
        "sqlite3 " + sqlite3.sqlite_version)
    row("three columns of 1 M iterations", "time", best_seconds(lambda: pandas.read_sql(SQL, database)), "s",
        "pandas " + pandas.__version__)

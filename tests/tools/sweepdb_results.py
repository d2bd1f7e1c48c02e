"""Checks of python/sweepdb on a results.db; prints "name<TAB>problem" lines (tests/cli/test_python.sh).

usage: sweepdb_results.py FILE: its rows through sweepdb against the same through SQL, hostile copies of it, doctests.
"""
import os
import shutil
import sqlite3
import sys
import tempfile

import numpy as np

import sweepdb
from sweepdb import database, frames, schema, where
from sweepdb_check import check, raises, run_doctests

PATH = sys.argv[1]


def copy(name, *statements):
    shutil.copy(PATH, name)
    handle = sqlite3.connect(name)
    for statement in statements:
        handle.execute(*statement if isinstance(statement, tuple) else (statement,))
    handle.commit()
    handle.close()
    return name


def open_numpy(path=PATH):
    return sweepdb.open(path, frame="numpy")


def compare_iterations(path):
    """Every column against the table `iteration`."""
    found = open_numpy(path).iterations()
    names = list(found)
    rows = sqlite3.connect(path).execute(f"SELECT {', '.join(names)} FROM iteration ORDER BY run_id, iteration").fetchall()
    assert len(rows) == len(found["iteration"]) > 0, (len(rows), len(found["iteration"]))
    assert found["run_id"].tolist() == [row[0] for row in rows]
    for at, name in enumerate(names[1:], 1):
        expected = np.array([row[at] for row in rows], dtype=float)
        np.testing.assert_array_equal(found[name].astype(float), expected, err_msg=name)


def check_where():
    results = open_numpy()
    every = results.iterations(["kl", "transitions"])
    runs, settings = results.runs(), results.settings()
    one = settings["run_id"][settings["train.seed"] == 1]
    some = results.iterations(["kl"], {"train.seed": 1, "kl": sweepdb.between(0.1, 0.3),
                                       "iteration": sweepdb.between(3, 9)})
    keep = np.isin(every["run_id"], one) & (every["kl"] >= 0.1) & (every["kl"] <= 0.3)
    keep &= (every["iteration"] >= 3) & (every["iteration"] <= 9)
    assert 0 < keep.sum() < len(keep), keep.sum()
    assert some["kl"].tolist() == every["kl"][keep].tolist()
    assert some["run_id"].tolist() == every["run_id"][keep].tolist()
    assert results.runs(["seed"], {"seed": [1]})["seed"].tolist() == [1] * int((runs["seed"] == 1).sum())
    first = runs["id"][0]
    assert set(results.iterations(["kl"], {"run_id": first})["run_id"]) <= {first}
    assert len(results.runs(where={"sweep": "two_grids"})["id"]) == len(runs["id"])
    assert len(results.runs(where={"sweep": "none"})["id"]) == 0
    assert len(results.iterations(["kl"], {"run_id": "none"})["kl"]) == 0
    assert results.iterations([], {"kl": None})["iteration"].tolist() == every["iteration"][np.isnan(every["kl"])].tolist()


def check_rows():
    results, handle = open_numpy(), sqlite3.connect(PATH)
    evaluations = results.evaluations()
    expected = handle.execute(f"SELECT {', '.join(evaluations)} FROM evaluation ORDER BY run_id, level_set, iteration")
    assert [list(row) for row in zip(*(column.tolist() for column in evaluations.values()))] == \
        [list(row) for row in expected.fetchall()]
    some = results.evaluations(["solve_rate"], {"solve_rate": sweepdb.between(0.5, 1)})["solve_rate"]
    assert len(some) == handle.execute("SELECT count(*) FROM evaluation WHERE solve_rate BETWEEN 0.5 AND 1").fetchone()[0]
    found = results.runs(["ddr", "id"])
    assert list(found) == ["ddr", "id"]
    assert dict(zip(found["id"], found["ddr"])) == dict(handle.execute("SELECT run_id, ddr FROM run_ddr"))
    run = results.runs()["id"][0]
    path = copy("metrics.db", ("INSERT INTO metric VALUES(?, 'charts/x', 1, 64, 0.5), (?, 'charts/x', 2, 128, NULL),"
                               " (?, 'losses/y', 1, 64, 3)", (run, run, run)))
    metrics = open_numpy(path).metrics(["charts/x"], {"run_id": run})
    assert metrics["step"].tolist() == [64, 128] and metrics["value"][0] == 0.5 and np.isnan(metrics["value"][1])
    assert len(open_numpy(path).metrics(where={"value": sweepdb.between(1, 4)})["name"]) == 1
    assert len(results.metrics()["name"]) == 0
    settings = results.settings()
    for name in ("ppo.epochs", "env.task"):
        expected = dict(handle.execute(f"SELECT id, json_extract(config, '$.{name}') FROM run"))
        assert dict(zip(settings["run_id"], settings[name])) == expected, name


def check_frames():
    kinds = [kind for kind in frames.KINDS[:2] if frames.importlib.util.find_spec(kind)]
    plain = open_numpy()
    for kind in kinds:
        with sweepdb.open(PATH, frame=kind) as results:
            for method in ("iterations", "evaluations", "runs", "settings"):
                frame, expected = getattr(results, method)(), getattr(plain, method)()
                assert type(frame).__module__.startswith(kind) and list(frame.columns) == list(expected)
                assert len(frame) == len(next(iter(expected.values())))
            frame = results.iterations(["kl"])
            assert [str(run) for run in frame["run_id"]] == plain.iterations(["kl"])["run_id"].tolist()
            np.testing.assert_array_equal(frame["kl"].to_numpy(), plain.iterations(["kl"])["kl"])
    missing = [kind for kind in frames.KINDS[:2] if kind not in kinds]
    for kind in missing:
        raises(sweepdb.Error, f"pip install {kind}", lambda: sweepdb.open(PATH, frame=kind))
    raises(sweepdb.Error, "must be one of", lambda: sweepdb.open(PATH, frame="csv"))


def check_columns():
    results = open_numpy()
    for bad in ("kl; DROP TABLE run", 'kl"', "nothing", "config"):
        raises(sweepdb.ColumnError, "has no column", lambda: results.iterations([bad]))
        raises(sweepdb.ColumnError, "has no column", lambda: results.evaluations([bad]))
        raises(sweepdb.ColumnError, "has no column", lambda: results.runs([bad]))
    raises(sweepdb.ColumnError, "must be a list", lambda: results.iterations("kl"))
    raises(sweepdb.ColumnError, "is not a column", lambda: results.iterations(["kl"], {"1=1 OR kl": 0}))
    raises(sweepdb.ColumnError, "no run has the setting", lambda: results.runs(where={"ppo.nothing": 0}))
    hostile = copy("hostile.db", 'ALTER TABLE evaluation ADD COLUMN "x"" FROM run; --" TEXT')
    raises(sweepdb.DamagedError, "columns that sweep does not write", lambda: open_numpy(hostile))


def check_files():
    raises(sweepdb.MissingError, "no such file", lambda: open_numpy("nowhere.db"))
    raises(FileNotFoundError, "sweep collect", lambda: open_numpy("nowhere.db"))
    raises(sweepdb.FormatError, "a directory", lambda: open_numpy("."))
    with open("text.db", "w") as file:
        file.write("no database\n" * 100)
    raises(sweepdb.FormatError, "first bytes", lambda: open_numpy("text.db"))
    other = sqlite3.connect("other.db")
    other.execute("CREATE TABLE run(id)")
    other.close()
    raises(sweepdb.FormatError, "not a results.db of sweep", lambda: open_numpy("other.db"))
    version = sweepdb.SCHEMA_VERSION
    raises(sweepdb.VersionError, "newer sweep", lambda: open_numpy(copy("new.db", f"PRAGMA user_version = {version + 1}")))
    raises(sweepdb.VersionError, "older sweep", lambda: open_numpy(copy("old.db", "PRAGMA user_version = 11")))
    strange = copy("a?mode=rwc#' %41.db")
    assert len(open_numpy(strange).runs()["id"]) > 0
    assert sqlite3.connect(PATH).execute("PRAGMA user_version").fetchone()[0] == version


def check_damage():
    data = open(PATH, "rb").read()
    with open("short.db", "wb") as file:
        file.write(data[:len(data) // 2])
    raises(sweepdb.DamagedError, "sweep collect --rebuild", lambda: read_all("short.db"))
    path = copy("bad.db", "UPDATE iteration SET kl = 'x' WHERE run_id = (SELECT max(run_id) FROM iteration)")
    raises(sweepdb.DamagedError, "wrong type", lambda: open_numpy(path).iterations(["kl"]))
    assert len(open_numpy(path).iterations(["ddr"])["ddr"]) > 0
    raises(sweepdb.DamagedError, "not JSON",
           lambda: open_numpy(copy("json.db", "UPDATE run SET config = '{' WHERE key = 1")).settings())


def read_all(path):
    results = open_numpy(path)
    results.iterations(), results.evaluations(), results.settings(), results.runs()


def rewrite(table, old, new):
    """SQL that changes the statement of a table in the schema."""
    return ("UPDATE sqlite_master SET sql = replace(sql, ?, ?) WHERE name = ?", (old, new, table))


def check_expressions():
    """What a query would evaluate although it only reads rows."""
    slow = "(instr(printf('%.*c', 20000000, 'a'), printf('%.*c', 10000000, 'a') || 'b') = 0)"
    open_schema = "PRAGMA writable_schema = ON"
    for table, old, new in (
            ("run", "message TEXT", f"message TEXT AS {slow}"),
            ("run", "message TEXT", "message TEXT \ufeffAS (host LIKE device)"),
            ("run", "message TEXT", "message TEXT/**/GENERATED--\n ALWAYS AS (host) STORED"),
            ("run", "message TEXT", f"message TEXT DEFAULT {slow}"),
            ("run", "message TEXT", "message TEXT COLLATE nocase"),
            ("iteration", "  kl REAL", f"  kl REAL AS {slow}"),
            ("run", "PRIMARY KEY(key)", f"PRIMARY KEY(key), CHECK {slow}"),
            ("sweep_run_by_run", "(run_id)", f"(run_id) WHERE {slow}"),
            ("sweep_run_by_run", "(run_id)", "(sweep LIKE run_id)"),
            ("sweep_run_by_run", "(run_id)", f"({slow})")):
        path = copy("slow.db", open_schema, rewrite(table, old, new))
        assert new in open(path, "rb").read().decode("utf-8", "replace"), new
        raises(sweepdb.FormatError, "is not a table or index that sweep creates", lambda: open_numpy(path))
    statistics = copy("statistics.db", "ANALYZE", open_schema, rewrite("sqlite_stat1", "idx,stat", f"idx,stat AS {slow}"))
    raises(sweepdb.Error, "", lambda: open_numpy(statistics))
    plain = copy("plain.db", "CREATE TABLE notes(a INTEGER PRIMARY KEY AUTOINCREMENT, b VARCHAR(20) DEFAULT 'AS (x)', "
                 "\"check\" DECIMAL(10, 5) DEFAULT -1.5, UNIQUE(b, a)) -- CHECK (a)",
                 "CREATE UNIQUE INDEX by_host ON run(host DESC, id)", "ANALYZE")
    assert len(open_numpy(plain).runs()["id"]) > 0


def check_views():
    """The file's own views are not read, and none stands for a table."""
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT run.*, x AS run_id FROM run, c"
    path = copy("view.db", "DROP VIEW run_summary", f"CREATE VIEW run_summary AS {endless}")
    results, handle = open_numpy(path), sqlite3.connect(PATH)
    found, names = results.runs(["id", *schema.SUMMARY]), ", ".join(["run_id", *schema.SUMMARY])
    assert [list(row) for row in zip(*(column.tolist() for column in found.values()))] == \
        [list(row) for row in handle.execute(f"SELECT {names} FROM run_summary ORDER BY run_id")]
    assert len(results.runs(where={"ddr": sweepdb.between(0, 1e30)})["id"]) > 0
    path = copy("table.db", "ALTER TABLE run RENAME TO was", f"CREATE VIEW run AS {endless.replace('run', 'was')}")
    raises(sweepdb.FormatError, "'run' is not a table", lambda: open_numpy(path))


def check_read_only():
    before = os.stat(PATH).st_mtime_ns
    results = open_numpy()
    read_all(PATH)
    raises(sqlite3.OperationalError, "readonly", lambda: results._handle.execute("DELETE FROM run"))
    assert os.stat(PATH).st_mtime_ns == before
    results.close()
    raises(sweepdb.Error, "closed", lambda: results.runs())


def check_other_user():
    """A database in WAL mode in a folder that cannot be written."""
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "results.db")
    shutil.copy(PATH, path)
    os.chmod(path, 0o444)
    os.chmod(folder, 0o555)
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setuid(65534)
            read_all(path)
            os._exit(0 if sorted(os.listdir(folder)) == ["results.db"] else 3)
        except BaseException as error:
            print(error, file=sys.stderr, flush=True)
            os._exit(4)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.chmod(folder, 0o755)
    shutil.rmtree(folder)
    assert code == 0, code


def check_doctests():
    if os.path.abspath(PATH) != os.path.abspath("results.db"):
        shutil.copy(PATH, "results.db")
    run_doctests(6, database, frames, where)


check("every column of every iteration is what SQL says", lambda: compare_iterations(PATH))
check("where chooses runs and rows", check_where)
check("evaluations, runs and settings are the tables'", check_rows)
check("pandas and polars, where they are, get the same columns", check_frames)
check("names of columns never become SQL", check_columns)
check("files that are missing, something else, or of another version", check_files)
check("damaged files", check_damage)
check("expressions in the schema of the file", check_expressions)
check("views of the file", check_views)
check("nothing is written", check_read_only)
check("another user's directory", check_other_user)
check("doctests", check_doctests)
check("end", lambda: None)

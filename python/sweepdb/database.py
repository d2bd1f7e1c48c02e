"""results.db as data frames: sweepdb.open("results.db").iterations(["kl"], {"ppo.com": 8}).

Read-only. Column names must be identifiers that occur in the file's tables; all other input of the caller is bound to
a statement or compared in Python, so that none of it becomes SQL.
"""
from __future__ import annotations

import json
import math
import os
import pathlib
import re
import sqlite3
from contextlib import contextmanager
from typing import Any, Iterable, Iterator, Sequence

import numpy as np

from . import frames, schema
from .errors import ColumnError, DamagedError, Error, FormatError, MissingError, VersionError
from .where import Between, Where, holds, mask

SCHEMA_VERSION = 12         # store/database/schema.h
APPLICATION = 0x53574250    # PRAGMA application_id, "SWBP"
_SUMMARY = tuple(schema.SUMMARY)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def open(path: str | os.PathLike[str], frame: str | None = None) -> "Database":  # noqa: A001
    """Opens a results.db for reading. frame: "pandas", "polars" or "numpy" (a dict of arrays); None: any installed.

    Raises MissingError, FormatError, VersionError or DamagedError.

    >>> with open("results.db", frame="numpy") as results:
    ...     rows = results.iterations(["kl"], {"status": "finished"})
    >>> list(rows), rows["kl"].dtype.name
    (['run_id', 'iteration', 'kl'], 'float64')
    """
    return Database(path, frame)


class Database:
    """An open results.db. Use it only in the thread that opened it, like any connection of sqlite3."""

    def __init__(self, path: str | os.PathLike[str], frame: str | None = None) -> None:
        self.path = pathlib.Path(path)
        self.frame = frames.choose(frame)
        _check_file(self.path)
        with self._errors():
            self._handle = self._connect()
        try:
            self._check_version()
            self._columns = {table: self._read_columns(table) for table in ("run", "iteration", "evaluation")}
        except Error:
            self._handle.close()
            raise

    def __enter__(self) -> "Database":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file; frames remain valid."""
        self._handle.close()

    # ---- queries -------------------------------------------------------------------------------------------------

    def columns(self, of: str = "iterations") -> list[str]:
        """Returns the column names of iterations(), evaluations() or runs()."""
        if of == "iterations":
            return list(self._columns["iteration"])
        if of == "evaluations":
            return list(self._columns["evaluation"])
        if of == "runs":
            return [*(c for c in self._columns["run"] if c not in ("key", "config")), *_SUMMARY]
        raise ColumnError(f"columns({of!r}): must be iterations, evaluations or runs")

    def runs(self, columns: Sequence[str] | None = None, where: Where | None = None) -> Any:
        """Returns one row per run. columns: None: all. where: columns of runs(), "sweep", and settings ("ppo.com")."""
        known = self.columns("runs")
        wanted = _check_columns(columns, known, "runs()")
        chosen = self._select_runs(where or {})
        own = [c for c in wanted if c not in _SUMMARY]
        own_rows = self._by_id("run", "id", own)
        summary = [c for c in wanted if c in _SUMMARY]
        summary_rows = self._summarize(summary)
        table = {}
        for source, names in ((own_rows, own), (summary_rows, summary)):
            for at, name in enumerate(names):
                table[name] = frames.column([source[run["id"]][at] if run["id"] in source else None for run in chosen])
        return frames.make(self.frame, {name: table[name] for name in wanted})

    def settings(self, where: Where | None = None) -> Any:
        """Returns one row per run: run_id, and one column per setting ("ppo.com"); None or NaN if a run lacks it."""
        chosen = self._select_runs(where or {}, settings=True)
        names = dict.fromkeys(name for run in chosen for name in run["settings"])
        table: dict[str, frames.Column] = {"run_id": frames.column([run["id"] for run in chosen])}
        for name in names:
            table[name] = frames.column([run["settings"].get(name) for run in chosen])
        return frames.make(self.frame, table)

    def evaluations(self, columns: Sequence[str] | None = None, where: Where | None = None) -> Any:
        """Returns one row per evaluation. where: columns of evaluations(), then as of runs()."""
        known = self._columns["evaluation"]
        wanted = _check_columns(columns, known, "evaluations()")
        of_rows, of_runs = _divide(where, known)
        runs = {run["id"] for run in self._select_runs(of_runs)}
        read = list(dict.fromkeys(["run_id", *wanted, *of_rows]))
        with self._errors():
            rows = self._handle.execute(
                f"SELECT {_sql_names(read)} FROM evaluation ORDER BY run_id, level_set, iteration").fetchall()
        conditions = [(read.index(name), condition) for name, condition in of_rows.items()]
        rows = [row for row in rows if row[0] in runs and all(holds(c, row[at]) for at, c in conditions)]
        return frames.make(self.frame, {name: frames.column([row[read.index(name)] for row in rows])
                                        for name in wanted})

    def iterations(self, columns: Sequence[str] | None = None, where: Where | None = None) -> Any:
        """Returns one row per iteration, sorted by run and iteration: run_id, iteration and `columns` (None: all),
        NaN if not measured. where: columns of iterations(), then as of runs(). A million rows take some seconds.
        """
        measured = self._columns["iteration"][2:]
        wanted = _check_columns(columns, self.columns(), "iterations()")
        wanted = [c for c in wanted if c not in ("run_id", "iteration")]
        of_rows, of_runs = _divide(where, ["iteration", *measured])
        runs = self._select_runs(of_runs)
        read = list(dict.fromkeys(["iteration", *wanted, *of_rows]))
        tables = [self._read_run(run["id"], read, of_rows) for run in runs]
        table = np.concatenate(tables) if tables else np.empty((0, len(read)))
        place = np.repeat(np.arange(len(runs)), [len(part) for part in tables])
        return frames.make(self.frame, {"run_id": frames.Codes(place, [run["id"] for run in runs]),
                                        "iteration": table[:, 0].astype(np.int64),
                                        **{name: table[:, read.index(name)] for name in wanted}})

    def _read_run(self, run: str, read: list[str], of_rows: Where) -> np.ndarray:
        """Returns a run's rows [rows][read] that match `of_rows`, sorted by iteration."""
        bounds = of_rows.get("iteration")
        low, high = (bounds.low, bounds.high) if isinstance(bounds, Between) else (-math.inf, math.inf)
        with self._errors():
            rows = self._handle.execute(f"SELECT {_sql_names(read)} FROM iteration WHERE run_id = ? AND iteration"
                                        " BETWEEN ? AND ? ORDER BY iteration", (run, low, high)).fetchall()
        try:
            table = np.array(rows, dtype=np.float64).reshape(len(rows), len(read))
        except (TypeError, ValueError, OverflowError):
            raise self._damaged(f"run {run!r} has values of a wrong type in iteration") from None
        for name, condition in of_rows.items():
            table = table[mask(condition, table[:, read.index(name)])]
        return table

    def metrics(self, names: Sequence[str] | None = None, where: Where | None = None) -> Any:
        """Returns one row per metric without a column in iterations(): run_id, name, iteration, step, value; sorted by
        run, name and iteration. names: None for all. where: columns of these rows, then as of runs()."""
        if isinstance(names, str):
            raise ColumnError(f"metrics(): names must be a list: [{names!r}]")
        columns = ["run_id", "name", "iteration", "step", "value"]
        of_rows, of_runs = _divide(where, columns)
        conditions = [(columns.index(name), condition) for name, condition in of_rows.items()]
        rows: list[tuple] = []
        for run in sorted(run["id"] for run in self._select_runs(of_runs)):
            with self._errors():
                found = self._handle.execute("SELECT run_id, name, iteration, step, value FROM metric WHERE run_id = ?"
                                             " ORDER BY name, iteration", (run,)).fetchall()
            rows += [row for row in found if (names is None or row[1] in names) and
                     all(holds(c, row[at]) for at, c in conditions)]
        return frames.make(self.frame, {name: frames.column([row[at] for row in rows])
                                        for at, name in enumerate(columns)})

    # ---- runs ----------------------------------------------------------------------------------------------------

    def _select_runs(self, where: Where, settings: bool = False) -> list[dict[str, Any]]:
        """Returns the runs that match `where`, sorted by id, each with its id and, if needed, its settings."""
        of_run = {name: c for name, c in where.items() if name in self._columns["run"] and name != "config"}
        if "run_id" in where:
            of_run["id"] = where["run_id"]
        of_settings = {name: c for name, c in where.items() if "." in name}
        of_summary = {name: c for name, c in where.items() if name in _SUMMARY}
        known = {"run_id", "sweep", *of_run, *of_settings, *of_summary}
        for name in where:
            if name not in known:
                raise ColumnError(f"where: {name!r} is not a column here or of runs, nor a setting; columns of "
                                  f"runs: {', '.join([*self._columns['run'], *_SUMMARY])}; settings look like "
                                  "'ppo.com'")
        settings = settings or bool(of_settings)
        names = list(dict.fromkeys(["id", *of_run, *(["config"] if settings else [])]))
        with self._errors():
            rows = self._handle.execute(f"SELECT {_sql_names(names)} FROM run ORDER BY id").fetchall()
        runs = [dict(zip(names, row)) for row in rows]
        if not all(isinstance(run["id"], str) for run in runs):
            raise self._damaged("run.id is not text")
        runs = [run for run in runs if all(holds(c, run[n]) for n, c in of_run.items())]
        for run in runs:
            run["settings"] = self._settings_of(run) if settings else {}
        if of_summary:
            summary = self._summarize(list(of_summary))
            runs = [run for run in runs if all(holds(c, value) for c, value in zip(
                of_summary.values(), summary.get(run["id"], [None] * len(of_summary))))]
        self._check_settings(of_settings, runs)
        members = self._members(where["sweep"]) if "sweep" in where else None
        return [run for run in runs if (members is None or run["id"] in members) and
                all(holds(c, run["settings"].get(n)) for n, c in of_settings.items())]

    def _settings_of(self, run: dict[str, Any]) -> dict[str, Any]:
        try:
            return _flatten(json.loads(run["config"])) if run["config"] else {}
        except (ValueError, TypeError, AttributeError, RecursionError):
            raise self._damaged(f"the settings of run {run['id']!r} are not JSON") from None

    def _check_settings(self, names: Iterable[str], runs: list[dict[str, Any]]) -> None:
        for name in names:
            if runs and not any(name in run["settings"] for run in runs):
                raise ColumnError(f"where: no run has the setting {name!r}; settings() lists them")

    def _members(self, sweep: Any) -> set[str]:
        with self._errors():
            return {run for name, run in self._handle.execute("SELECT sweep, run_id FROM sweep_run")
                    if holds(sweep, name)}

    def _by_id(self, table: str, key: str, names: list[str]) -> dict[str, tuple]:
        with self._errors():
            return {row[0]: row[1:] for row in
                    self._handle.execute(f"SELECT {_sql_names([key, *names])} FROM {_sql_names([table])}")}

    def _summarize(self, names: list[str]) -> dict[str, tuple]:
        """Returns columns of SUMMARY by run id."""
        with self._errors():
            columns = "".join(f", {schema.SUMMARY[name]}" for name in names)
            return {row[0]: row[1:] for row in self._handle.execute(f"SELECT run.id{columns} FROM run")} if names else {}

    # ---- the file ------------------------------------------------------------------------------------------------

    def _connect(self) -> sqlite3.Connection:
        """Opens a read-only connection. In WAL mode, SQLite writes to the database's directory. If it is not writable,
        immutable=1 is required, which is valid only for a file without a WAL."""
        uri = self.path.absolute().as_uri()
        handle = sqlite3.connect(uri + "?mode=ro", uri=True, timeout=30)
        schema.limit(handle)
        try:
            handle.execute("SELECT 1 FROM sqlite_master").fetchone()
            return handle
        except sqlite3.OperationalError:
            handle.close()
            if os.access(self.path.absolute().parent, os.W_OK):
                raise
        for suffix in ("-wal", "-journal"):
            neighbor = pathlib.Path(f"{self.path}{suffix}")
            if neighbor.exists() and neighbor.stat().st_size > 0:
                raise Error(f"{self.path}: cannot read all of it: the newest rows are in {neighbor}, and merging them "
                            "needs write permission in that directory; ask its owner to run sweep collect, or copy "
                            "both files to a directory of yours")
        handle = sqlite3.connect(uri + "?immutable=1", uri=True)
        schema.limit(handle)
        return handle

    def _check_version(self) -> None:
        with self._errors():
            self._handle.execute("PRAGMA query_only = ON")
            application = self._handle.execute("PRAGMA application_id").fetchone()[0]
            version = self._handle.execute("PRAGMA user_version").fetchone()[0]
        if application != APPLICATION:
            raise FormatError(f"{self.path}: an SQLite database, but not a results.db of sweep")
        with self._errors():
            foreign = schema.accept(self._handle)
        if foreign is not None:
            raise FormatError(f"{self.path}: changed by another program: {foreign!r} is not a table or index that sweep "
                              "creates; rebuild it from the run logs with: sweep collect --rebuild")
        if version > SCHEMA_VERSION:
            raise VersionError(f"{self.path}: written by a newer sweep (its schema is {version}, this package reads "
                               f"{SCHEMA_VERSION}); install the package of that version")
        if version < SCHEMA_VERSION:
            raise VersionError(f"{self.path}: written by an older sweep (its schema is {version}, this package's "
                               f"{SCHEMA_VERSION}); rebuild it from the run logs with: sweep collect --rebuild")

    def _read_columns(self, table: str) -> list[str]:
        with self._errors():
            names = [row[0] for row in self._handle.execute("SELECT name FROM pragma_table_info(?)", (table,))]
        if not names:
            raise self._damaged(f"it has no table {table}")
        if any(not _WORD.match(name) for name in names):
            raise self._damaged(f"the table {table} has columns that sweep does not write")
        return names

    def _damaged(self, what: str) -> DamagedError:
        return DamagedError(f"{self.path}: damaged: {what}; analyze check reports details, sweep collect --rebuild recreates it "
                            "from the run directories")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Converts SQLite's errors to those of this package."""
        try:
            yield
        except sqlite3.ProgrammingError as error:
            raise Error(f"{self.path}: {error}") from None
        except sqlite3.OperationalError as error:
            raise Error(f"{self.path}: cannot be read: {error}") from None
        except sqlite3.DatabaseError as error:
            raise self._damaged(str(error)) from None


def _check_file(path: pathlib.Path) -> None:
    if path.is_dir():
        raise FormatError(f"{path}: a directory; name the results.db in it")
    for suffix in ("-wal", "-shm", "-journal"):
        neighbor = pathlib.Path(f"{path.resolve()}{suffix}")
        if os.path.lexists(neighbor) and (neighbor.is_symlink() or not neighbor.is_file()):
            raise FormatError(f"{neighbor}: not a regular file, but would be read with {path}; move it away")
    if not path.exists():
        raise MissingError(f"{path}: no such file; sweep collect creates the results.db of a workspace")
    if not path.is_file():
        raise FormatError(f"{path}: not a regular file")
    try:
        with path.open("rb") as file:
            first = file.read(16)
    except OSError as error:
        raise Error(f"{path}: cannot be read: {error.strerror}") from None
    if first != b"SQLite format 3\0":
        raise FormatError(f"{path}: not a results.db: its first bytes are not those of an SQLite database")


def _check_columns(columns: Sequence[str] | None, known: Sequence[str], of: str) -> list[str]:
    if isinstance(columns, str):
        raise ColumnError(f"{of}: columns must be a list: [{columns!r}]")
    for name in columns or ():
        if name not in known:
            raise ColumnError(f"{of} has no column {name!r}; it has: {', '.join(known)}")
    return list(dict.fromkeys(known if columns is None else columns))


def _divide(where: Where | None, known: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Conditions on the rows' own columns, and those on runs."""
    own = {name: c for name, c in (where or {}).items() if name in known and name != "run_id"}
    return own, {name: c for name, c in (where or {}).items() if name not in own}


def _sql_names(names: Iterable[str]) -> str:
    """Names for SQL. All are columns of the file's tables by now; what is no word never gets here."""
    checked = list(names)
    if any(not _WORD.match(name) for name in checked):
        raise ColumnError(f"no names of columns: {checked}")
    return ", ".join(f'"{name}"' for name in checked)


def _flatten(config: dict[str, Any]) -> dict[str, Any]:
    """{"ppo": {"com": 8}} -> {"ppo.com": 8}. JSON has no infinity: "inf" is a number, but may be a text of a program.

    >>> _flatten({"settings": {"eps": "inf", "norm": "inf"}, "infinite": ["eps"]})
    {'settings.eps': inf, 'settings.norm': 'inf'}
    """
    infinite, flat = config.get("infinite", []), {}
    for section, settings in config.items():
        for name, value in settings.items() if isinstance(settings, dict) else ():
            is_number = name in infinite if section == "settings" else section != "program"
            flat[f"{section}.{name}"] = float(value) if value in ("inf", "-inf") and is_number else value
    return flat

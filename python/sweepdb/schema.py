"""Checks the schema of a results.db that others may have made, as store/database/schema_check.c does.

SQLite evaluates generated columns, CHECK, and expressions of indexes and defaults when rows are read, and a single call
can take hours. Files of sweep, of any version, have none of these. Views are not read: SUMMARY is run_summary's query.
"""
from __future__ import annotations

import re
import sqlite3
import time

_TABLES = {"run", "iteration", "evaluation", "metric", "sweep_run", "annotation", "iteration_bin"}
_LENGTH_MAX = 32 << 10     # bytes of a statement of the schema
_CPU_S = 2.0               # for reading it
_TOKEN = re.compile(r"""[ \t\r\n\f]+ | --[^\n]* | /\*.*?(?:\*/|\Z)
    | (?P<quoted> "(?:[^"]|"")*" | '(?:[^']|'')*' | `(?:[^`]|``)*` | \[[^\]]*\])
    | (?P<word> [A-Za-z0-9_$]+ ) | (?P<other> . )""", re.VERBOSE | re.DOTALL)
_EVALUATED = {"AS", "CHECK", "GENERATED", "COLLATE", "REFERENCES", "FOREIGN", "WHERE", "SELECT"}

# A program's statement, from a comma or parenthesis on: 'n' a word, 'q' a quoted name or text, other characters
# themselves. A list in parentheses has one word per item, so that none is an expression.
_LIST = r"\((?:[nq]d?,)*[nq]d?\)"
_COLUMNS = re.compile(rf"\((?:[nqdt,+\-.]|(?<=[nd]){_LIST})*\)[nd,]*\Z")
_INDEX = re.compile(rf"{_LIST}\Z")

SUMMARY = {  # columns of the view run_summary (store/database/schema.h), per row of run
    "sweeps": "(SELECT group_concat(sweep, ' ') FROM (SELECT DISTINCT sweep FROM sweep_run WHERE run_id = run.id))",
    "task": "trim(json_extract(config, '$.env.task'), '\"')",
    "algorithm": "trim(json_extract(config, '$.algo.name'), '\"')",
    "best_solve_rate": "(SELECT max(solve_rate) FROM evaluation WHERE run_id = run.id AND level_set = 'train')",
    "last_solve_rate": "(SELECT solve_rate FROM evaluation WHERE run_id = run.id AND level_set = 'train'"
                       " ORDER BY iteration DESC LIMIT 1)",
    "best_return": "(SELECT max(episode_return) FROM evaluation WHERE run_id = run.id AND level_set = 'train')",
    "last_return": "(SELECT episode_return FROM evaluation WHERE run_id = run.id AND level_set = 'train'"
                   " ORDER BY iteration DESC LIMIT 1)",
    "ddr": "(SELECT sum(kl_transitions) / sum(kl_sum) FROM iteration_bin WHERE iteration_bin.run_id = run.id)",
}


def limit(handle: sqlite3.Connection) -> None:
    """Gives a new connection narrow limits: SQLite reads its own sqlite_stat1 together with the schema."""
    end = time.thread_time() + _CPU_S
    handle.set_progress_handler(lambda: time.thread_time() >= end, 100)
    if hasattr(handle, "setlimit"):  # Python 3.11
        handle.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LENGTH_MAX)
        handle.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1)
    handle.execute("PRAGMA trusted_schema = OFF")


def accept(handle: sqlite3.Connection) -> str | None:
    """Returns the name of an object that sweep would not create; None: there is none, and the limits are lifted."""
    for kind, name, sql in handle.execute("SELECT type, name, sql FROM main.sqlite_master"):
        if sql is not None and not _is_harmless(name, sql):
            return str(name)
    handle.set_progress_handler(lambda: None, 1000000)  # lets Ctrl-C end a query
    if hasattr(handle, "setlimit"):
        handle.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 64 << 20)
        handle.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50000)
    return None


def _is_harmless(name: str, sql: str) -> bool:
    """Whether a statement of the schema creates only what no query of this package evaluates."""
    shape, words = "", []
    for token in _TOKEN.finditer(sql):
        word = token["word"]
        if word is None:
            shape += "q" if token["quoted"] else token["other"] or ""
            continue
        words.append(word.upper())
        shape += "d" if words[-1] in ("ASC", "DESC") else "t" if words[-1] == "DEFAULT" else "n"
    if words[:1] != ["CREATE"] or len(words) < 2:
        return False
    if words[1] in ("VIEW", "TRIGGER"):
        return name not in _TABLES
    if _EVALUATED & set(words) or "(" not in shape:
        return False
    body = shape[shape.index("("):]
    if words[1] == "INDEX" or words[1:3] == ["UNIQUE", "INDEX"]:
        return bool(_INDEX.match(body))
    return words[1] == "TABLE" and bool(_COLUMNS.match(body))

"""Columns as a data frame: pandas, polars, or a dict of numpy arrays."""
from __future__ import annotations

import importlib.util
from typing import Any, Sequence, Union

import numpy as np

from .errors import Error

KINDS = ("pandas", "polars", "numpy")


class Codes:
    """A categorical column: the index in `names` of each row."""

    def __init__(self, codes: np.ndarray, names: Sequence[str]) -> None:
        self.codes, self.names = codes, names

    def texts(self) -> np.ndarray:
        """Returns [rows] of str."""
        return np.array(self.names, dtype=object)[self.codes] if len(self.names) else np.empty(0, object)


Column = Union[np.ndarray, Codes]


def choose(kind: str | None) -> str:
    """Returns the kind of frame; None: pandas or polars, whichever is installed, else numpy."""
    if kind is None:
        return next((name for name in KINDS[:2] if importlib.util.find_spec(name)), "numpy")
    if kind not in KINDS:
        raise Error(f"frame={kind!r}: must be one of {', '.join(KINDS)}, or None")
    if kind != "numpy" and not importlib.util.find_spec(kind):
        raise Error(f"frame={kind!r}: {kind} is not installed; pip install {kind}, or frame='numpy'")
    return kind


def column(values: Sequence[Any]) -> np.ndarray:
    """Converts values of SQLite or JSON to an array: int64, bool, float64 (NaN for None), or object.

    >>> column([1, 2]).dtype.name, column([1, None, 0.5]).tolist(), column(["a", None]).dtype.name
    ('int64', [1.0, nan, 0.5], 'object')
    """
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return np.array(values, dtype=bool)
    if kinds == {int}:
        return np.array(values, dtype=np.int64 if all(abs(v) < 2**63 for v in values) else np.float64)
    if kinds and kinds <= {int, float, type(None)} and kinds != {type(None)}:
        return np.array(values, dtype=np.float64)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def make(kind: str, columns: dict[str, Column]) -> Any:
    """Creates the frame.

    >>> make("numpy", {"kl": np.array([0.5])})
    {'kl': array([0.5])}
    """
    if kind == "pandas":
        import pandas

        return pandas.DataFrame(
            {name: pandas.Categorical.from_codes(c.codes, list(c.names)) if isinstance(c, Codes) else c
             for name, c in columns.items()}, copy=False)
    if kind == "polars":
        import polars

        return polars.DataFrame([_series(polars, name, c) for name, c in columns.items()])
    return {name: c.texts() if isinstance(c, Codes) else c for name, c in columns.items()}


def _series(polars: Any, name: str, c: Column) -> Any:
    if isinstance(c, Codes):
        if not len(c.names):
            return polars.Series(name, [], dtype=polars.String)
        return polars.Series(name, list(c.names), dtype=polars.Categorical).gather(c.codes)
    if c.dtype == object:
        kinds = {type(value) for value in c} - {type(None)}
        return polars.Series(name, [v if kinds <= {str} or v is None else str(v) for v in c], dtype=polars.String)
    return polars.Series(name, c)

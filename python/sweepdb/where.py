"""Conditions: {"status": "finished", "ppo.com": [8, 32], "kl": between(0, 0.1)}.

They are evaluated here, by value or by array; none is written into SQL.
"""
from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

import numpy as np


class Between(NamedTuple):
    low: Any
    high: Any


def between(low: Any, high: Any) -> Between:
    """A condition: low <= value <= high.

    >>> holds(between(1, 3), 3), holds([8, 32], 8), holds("ppo", "pqn"), holds(None, None)
    (True, True, False, True)
    """
    return Between(low, high)


Where = Mapping[str, Any]


def _among(condition: Any) -> Sequence[Any] | None:
    """Returns the values of a list, tuple, set or array; None for any other condition."""
    if isinstance(condition, np.ndarray):
        return condition.ravel().tolist()
    return list(condition) if isinstance(condition, (list, tuple, set, frozenset)) else None


def holds(condition: Any, value: Any) -> bool:
    """Whether one value fulfils it. What cannot be compared does not."""
    if isinstance(condition, Between):
        try:
            return value is not None and bool(condition.low <= value <= condition.high)
        except TypeError:
            return False
    among = _among(condition)
    return value in among if among is not None else bool(value == condition)


def mask(condition: Any, values: np.ndarray) -> np.ndarray:
    """The same of an array of numbers: [rows] of bool. None asks for what was not measured.

    >>> mask(between(0, 1), np.array([0.5, 2, np.nan])).tolist()
    [True, False, False]
    """
    if values.dtype == object:
        return np.fromiter((holds(condition, value) for value in values), bool, len(values))
    if isinstance(condition, Between):
        return (values >= condition.low) & (values <= condition.high)
    among = _among(condition)
    if among is None:
        among = [condition]
    chosen = np.isin(values, [value for value in among if value is not None])
    return chosen | np.isnan(values) if None in among else chosen

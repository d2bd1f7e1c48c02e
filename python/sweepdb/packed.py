"""Packed columns of iteration_chunk (docs/architecture.md, "Packed columns"): up to 256 iterations a value.

All values of a column go through numpy together; Python runs once a chunk, never once a number.
"""
from __future__ import annotations

import json
from typing import Any, Sequence

import numpy as np

PLACES = 256                     # iterations of a chunk
_HEADER, _HEADER_FIXED = 6, 22   # bytes of a header; with form 0's base and step
_BYTES_MAX = _HEADER_FIXED + PLACES * 12 // 2
_TEXT_MAX = PLACES * 26 + 3
_OFFSET = 5_000_000_000_000_000  # added to base and step, so that they have no sign
_MANTISSA_END = 1_000_000_000    # forms 1 and 2
_HUNDREDS = 100 ** np.arange(7, -1, -1, dtype=np.int64)
_TENS = 10 ** np.arange(7, dtype=np.int64)
_POWERS = np.array([float(f"1e{d}") for d in range(100)])


class PackError(ValueError):
    """Bytes that are no packed column; `place` is the chunk's place in the list."""

    def __init__(self, place: int) -> None:
        super().__init__(f"value {place} is no packed column")
        self.place = place


def unpack(values: Sequence[Any]) -> np.ndarray:
    """Packed values, one a chunk -> float64 [chunks][256], NaN = not measured. Raises PackError.

    The example of docs/architecture.md: KL of 0.31, 0.28 and 0.305 at positions 1 to 3.

    >>> blob = bytes.fromhex("030200000101" "5000000000000280" "5000000000000000" "1f011a")
    >>> unpack([blob, None, 7, "[null,9e999]"])[:, :5]
    array([[  nan, 0.31 , 0.28 , 0.305,   nan],
           [  nan,   nan,   nan,   nan,   nan],
           [7.   , 7.   , 7.   , 7.   , 7.   ],
           [  nan,   inf,   nan,   nan,   nan]])
    """
    out = np.full((len(values), PLACES), np.nan)
    blobs = []
    for at, value in enumerate(values):
        if isinstance(value, bytes):
            blobs.append(at)
        elif isinstance(value, str):
            _unpack_text(value, at, out)
        elif value is not None:
            out[at] = value
    if blobs:
        _unpack_blobs([values[at][:_BYTES_MAX] for at in blobs], np.array(blobs), out)
    return out


def _unpack_text(text: str, at: int, out: np.ndarray) -> None:
    def refuse(_: str) -> None:
        raise ValueError

    try:
        numbers = json.loads(text, parse_constant=refuse) if len(text) <= _TEXT_MAX else None
        if not isinstance(numbers, list) or not 1 <= len(numbers) <= PLACES:
            raise ValueError
        if any(type(number) not in (int, float, type(None)) for number in numbers):
            raise ValueError
        out[at, :len(numbers)] = np.array(numbers, dtype=np.float64)
    except (ValueError, OverflowError, RecursionError):
        raise PackError(at) from None


class _Headers:
    """The headers of blobs as columns [m, 1] of int64."""

    def __init__(self, data: np.ndarray, start: np.ndarray, length: np.ndarray, rows: np.ndarray) -> None:
        head = data[start[:, None] + np.arange(_HEADER_FIXED)].astype(np.int64)
        high, low = head >> 4, head & 15
        two = 10 * high + low                      # decimal digits, two a byte
        self.decimals, self.width, self.form = two[:, 0], two[:, 1], two[:, 2]
        self.first, self.distance = 100 * two[:, 3] + two[:, 4], two[:, 5]
        fixed = self.form == 0
        self.bytes = np.where(fixed, _HEADER_FIXED, _HEADER)
        used = np.arange(_HEADER_FIXED) < self.bytes[:, None]
        bad = (((high > 9) | (low > 9)) & used).any(axis=1) | (length < self.bytes)
        bad |= (self.decimals > 22) | (self.width < 1) | (self.width > 12) | (self.form > 2)
        bad |= (self.first >= PLACES) | (self.distance < 1)
        if bad.any():
            raise PackError(int(rows[np.argmax(bad)]))
        self.base = np.where(fixed, two[:, 6:14] @ _HUNDREDS - _OFFSET, 0)
        self.step = np.where(fixed, two[:, 14:22] @ _HUNDREDS - _OFFSET, 0)
        most = (PLACES - 1 - self.first) // self.distance + 1
        self.count = np.minimum((length - self.bytes) * 2 // self.width, most)


def _unpack_blobs(blobs: list[bytes], rows: np.ndarray, out: np.ndarray) -> None:
    length = np.array([len(blob) for blob in blobs])
    start = np.cumsum(length) - length
    joined = b"".join(blobs) + bytes(_BYTES_MAX + 8)
    data = np.frombuffer(joined, dtype=np.uint8)
    h = _Headers(data, start, length, rows)
    k = np.arange(int(h.count.max(initial=0)))     # the k-th code of each blob
    codes = _take_codes(joined, start + h.bytes, h.width, k)
    known = (codes > 0) & (k < h.count[:, None])
    numbers = _numerators(h, codes - 1, k) / _POWERS[h.decimals][:, None]
    if (h.distance == 1).all() and (h.first == h.first[0]).all():
        first = int(h.first[0])
        numbers[~known] = np.nan
        out[rows, first:first + len(k)] = numbers
        return
    blob, code = np.nonzero(known)
    out[rows[blob], h.first[blob] + code * h.distance[blob]] = numbers[blob, code]


def _take_codes(joined: bytes, start: np.ndarray, width: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Codes of `width` hexadecimal digits -> int64 [blobs][k]; beyond a blob's end they mean nothing."""
    words = np.ndarray((len(joined) - 7,), dtype=">u8", buffer=joined, strides=(1,))
    digit = k * width[:, None]
    word = words[start[:, None] + (digit >> 1)].astype(np.uint64)
    word <<= ((digit & 1) << 2).astype(np.uint64)
    word >>= (64 - 4 * width).astype(np.uint64)[:, None]
    return word.view(np.int64)


def _numerators(h: _Headers, u: np.ndarray, k: np.ndarray) -> np.ndarray:
    fixed = h.base[:, None] + h.step[:, None] * k + u
    if (h.form == 0).all():
        return fixed
    form = h.form[:, None]
    high, mantissa = np.divmod(np.maximum(u, 0), _MANTISSA_END)
    magnitude = mantissa * _TENS[np.minimum(np.where(form == 1, high, high >> 1), 6)]
    return np.where(form == 0, fixed, np.where((form == 2) & (high & 1 == 1), -magnitude, magnitude))

"""Files of `trainer export --safetensors`: named tensors and metadata. Read-only."""
from __future__ import annotations

import json
import math
import os
import pathlib
import struct
from typing import Any, NamedTuple

import numpy as np

from .errors import DamagedError, Error, FormatError, MissingError, VersionError

_HEADER_MAX = 100 << 20                                 # as safetensors' own reader has it
_TYPES: dict[str, np.dtype[Any]] = {"F32": np.dtype("<f4"), "F64": np.dtype("<f8")}


class Weights(NamedTuple):
    """Read-only tensors by name, in the file's order; metadata as text."""

    path: pathlib.Path
    tensors: dict[str, np.ndarray]
    facts: dict[str, str]

    def fact(self, name: str) -> str:
        """Returns an entry of the metadata. Raises VersionError if there is none."""
        if name not in self.facts:
            raise VersionError(f"{self.path}: its metadata has no \"{name}\": written by another program or version")
        return self.facts[name]

    def vector(self, network: str) -> np.ndarray:
        """Concatenates all tensors of a network; empty if the file has none."""
        parts = [array.ravel() for name, array in self.tensors.items() if name.startswith(network + ".")]
        whole = np.concatenate(parts) if parts else np.zeros(0, np.dtype("<f4"))
        whole.setflags(write=False)
        return whole


def is_one(path: str | os.PathLike[str]) -> bool:
    """Whether the file begins like safetensors: the header's length, then the header."""
    given = pathlib.Path(path)
    if not given.is_file():
        return False
    try:
        with given.open("rb") as file:
            first = file.read(9)
    except OSError as error:
        raise Error(f"{given}: cannot be read: {error.strerror}") from None
    return len(first) == 9 and first[8:] == b"{" and struct.unpack("<Q", first[:8])[0] <= _HEADER_MAX


def read(path: str | os.PathLike[str]) -> Weights:
    """Reads a file. Raises MissingError, FormatError, VersionError or DamagedError."""
    given = pathlib.Path(path)
    if not given.exists():
        raise MissingError(f"{given}: no such file")
    if not is_one(given):
        raise FormatError(f"{given}: not a safetensors file")
    data = given.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    try:
        header = json.loads(data[8:8 + length].decode("utf-8"))
    except (UnicodeDecodeError, ValueError):
        raise DamagedError(f"{given}: damaged: the header cannot be read") from None
    if not isinstance(header, dict):
        raise DamagedError(f"{given}: damaged: the header is not an object")
    facts = header.pop("__metadata__", {})
    body = memoryview(data)[8 + length:]
    tensors = {name: _tensor(given, name, row, body) for name, row in header.items()}
    return Weights(given, tensors, {str(key): str(value) for key, value in facts.items()})


def _tensor(path: pathlib.Path, name: str, row: Any, body: memoryview) -> np.ndarray:
    try:
        dtype, shape, (begin, end) = row["dtype"], tuple(row["shape"]), row["data_offsets"]
        good = 0 <= begin <= end <= len(body) and all(isinstance(size, int) and size >= 0 for size in shape)
    except (KeyError, TypeError, ValueError):
        good, dtype = False, "F32"
    if not good or dtype not in _TYPES or end - begin != math.prod(shape) * _TYPES[dtype].itemsize:
        raise DamagedError(f"{path}: damaged, or of another program: the tensor \"{name}\" does not match the header")
    return np.frombuffer(body[begin:end], dtype=_TYPES[dtype]).reshape(shape)

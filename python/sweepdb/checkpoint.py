"""Checkpoint files (trainer/checkpoint/checkpoint.h): sections with checksums, which are verified. Read-only."""
from __future__ import annotations

import hashlib
import os
import pathlib
import re
import struct
from typing import BinaryIO, NamedTuple

from .errors import DamagedError, Error, FormatError, MissingError, UnsupportedError, VersionError

VERSION = 1
_MAGIC = b"SWEEPCK\n"
_HEADER = struct.Struct("<8sIIIIq24s")      # magic, version, byte order, sections, unused, iteration, run id
_ROW = struct.Struct("<24sQ32s")            # name, bytes, BLAKE2b-256
_CHECKSUM, _ORDER_MARK, _SECTIONS_MAX = 32, 0x01020304, 32
_RUN = re.compile(r"[0-9a-f]{16}\Z")
_NAME = re.compile(r"iteration-(\d{12,})\.ckpt\Z")


class Checkpoint(NamedTuple):
    """Contents of a file: sections by name, as bytes."""

    path: pathlib.Path
    run_id: str
    iteration: int
    sections: dict[str, bytes]

    def section(self, name: str) -> bytes:
        """Returns a section. Raises VersionError if there is none."""
        if name not in self.sections:
            raise VersionError(f"{self.path}: no section \"{name}\": written by another version, or by an algorithm "
                               f"without it; it has {', '.join(self.sections)}")
        return self.sections[name]


def find(path: str | os.PathLike[str]) -> pathlib.Path:
    """Returns the file of `path`: itself, or the newest checkpoint in a run directory or its ckpt."""
    given = pathlib.Path(path)
    if not given.exists():
        raise MissingError(f"{given}: no such checkpoint or run directory")
    if not given.is_dir():
        return given
    directory = given / "ckpt" if (given / "ckpt").is_dir() else given
    files = sorted((name for name in os.listdir(directory) if _NAME.match(name)), key=lambda name: int(name[10:-5]))
    if not files and (given / "settings.json").exists():
        raise UnsupportedError(f"{given}: a run of a program, which has no policy of the trainer")
    if not files:
        raise MissingError(f"{directory}: contains no checkpoint")
    return directory / files[-1]


def read(path: str | os.PathLike[str], wanted: tuple[str, ...]) -> Checkpoint:
    """Reads the existing sections of `wanted` and verifies their checksums.

    Raises MissingError, FormatError, VersionError or DamagedError."""
    file_path = find(path)
    if not file_path.is_file():
        raise FormatError(f"{file_path}: not a regular file")
    try:
        with file_path.open("rb") as file:
            return _read(file, file_path, wanted)
    except OSError as error:
        raise Error(f"{file_path}: cannot be read: {error.strerror}") from None


def _take(file: BinaryIO, path: pathlib.Path, count: int) -> bytes:
    data = file.read(count)
    if len(data) != count:
        raise DamagedError(f"{path}: damaged: the file is truncated")
    return data


def _read(file: BinaryIO, path: pathlib.Path, wanted: tuple[str, ...]) -> Checkpoint:
    first = file.read(_HEADER.size)
    if first[:8] != _MAGIC:
        raise FormatError(f"{path}: not a checkpoint: its first bytes are wrong")
    if len(first) < _HEADER.size:
        raise DamagedError(f"{path}: damaged: the file is truncated")
    _, version, order, count, _, iteration, run_id = _HEADER.unpack(first)
    if order != _ORDER_MARK:
        raise FormatError(f"{path}: written on a machine of another byte order")
    if version != VERSION:
        raise VersionError(f"{path}: format version {version}; this package reads version {VERSION}; install the "
                           "package of the sweep that wrote it")
    if count > _SECTIONS_MAX:
        raise DamagedError(f"{path}: damaged: {count} sections")
    table = _take(file, path, count * _ROW.size)
    if hashlib.blake2b(first + table, digest_size=_CHECKSUM).digest() != _take(file, path, _CHECKSUM):
        raise DamagedError(f"{path}: damaged: the header's checksum is wrong")
    rows = [(_text(name), size, checksum) for name, size, checksum in _ROW.iter_unpack(table)]
    length = file.tell() + sum(size for _, size, _ in rows)
    if os.fstat(file.fileno()).st_size != length:
        raise DamagedError(f"{path}: damaged: {os.fstat(file.fileno()).st_size} bytes instead of {length}")
    sections = {}
    for name, size, checksum in rows:
        if name not in wanted:
            file.seek(size, os.SEEK_CUR)
            continue
        sections[name] = _take(file, path, size)
        if hashlib.blake2b(sections[name], digest_size=_CHECKSUM).digest() != checksum:
            raise DamagedError(f"{path}: damaged: the checksum of \"{name}\" is wrong")
    directory, run = path.absolute().parent.parent.name, _text(run_id)
    if _RUN.match(directory) and directory != run:
        raise FormatError(f"{path}: belongs to run {run}, not to {directory}")
    return Checkpoint(path, run, iteration, sections)


def _text(stored: bytes) -> str:
    """Returns the text before the first zero byte, with '?' for characters that are not printable.

    >>> _text(b"actor" + bytes(3))
    'actor'
    """
    return "".join(chr(c) if 32 <= c < 127 else "?" for c in stored.split(b"\0")[0])


def settings(checkpoint: pathlib.Path) -> dict[str, str]:
    """Returns the run's settings, "net.width" -> "256", from the config.ini two directories above a checkpoint."""
    path = checkpoint.absolute().parent.parent / "config.ini"
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise MissingError(f"{path}: missing; it has the settings of the checkpoint; keep the run directory "
                           "together") from None
    except (OSError, UnicodeDecodeError) as error:
        raise Error(f"{path}: cannot be read: {error}") from None
    found: dict[str, str] = {}
    section = ""
    for line in lines:
        line = line.strip()
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1].strip()
        elif "=" in line and line[0] not in ";#":
            name, value = (part.strip() for part in line.split("=", 1))
            found[f"{section}.{name}"] = value[1:-1] if value[:1] == value[-1:] == '"' and len(value) > 1 else value
    return found

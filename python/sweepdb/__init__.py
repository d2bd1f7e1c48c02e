"""Results, policies and worlds of sweep, from Python (docs/python.md)."""
from typing import Any

from .database import SCHEMA_VERSION, Database, open  # noqa: A004
from .errors import (ColumnError, DamagedError, Error, FormatError, LibraryError, MissingError, UnsupportedError,
                     VersionError)
from .policies import Policy
from .policies import Policy as policy
from .where import between

__version__ = "0.2.0"     # the Makefile's VERSION
__all__ = ["open", "between", "policy", "Policy", "Database", "SCHEMA_VERSION", "Error", "MissingError",
           "FormatError", "VersionError", "DamagedError", "ColumnError", "UnsupportedError", "LibraryError",
           "KinetixVectorEnv", "KinetixEnv"]


def __getattr__(name: str) -> Any:
    """The environments are loaded when they are first asked for: they need gymnasium, results do not."""
    if name in ("KinetixVectorEnv", "KinetixEnv"):
        try:
            from . import worlds
        except ModuleNotFoundError as error:
            raise ImportError(f"sweepdb.{name} needs {error.name}: pip install 'gymnasium>=1.1'") from None
        return getattr(worlds, name)
    raise AttributeError(f"module 'sweepdb' has no attribute {name!r}")

"""Results, policies and worlds of sweep, from Python (docs/python.md)."""
from .database import SCHEMA_VERSION, Database, open  # noqa: A004
from .errors import (ColumnError, DamagedError, Error, FormatError, LibraryError, MissingError, UnsupportedError,
                     VersionError)
from .where import between

__version__ = "0.1.0"
__all__ = ["open", "between", "Database", "SCHEMA_VERSION", "Error", "MissingError", "FormatError", "VersionError",
           "DamagedError", "ColumnError", "UnsupportedError", "LibraryError"]

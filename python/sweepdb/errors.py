"""Exceptions, whose messages name the file and a remedy."""


class Error(Exception):
    """Base class of all errors of this package."""


class MissingError(Error, FileNotFoundError):
    """The file does not exist."""


class FormatError(Error):
    """The file is not a results.db, or not a checkpoint."""


class VersionError(Error):
    """The file was written by an older or a newer program."""


class DamagedError(Error):
    """The file is truncated, or its checksums are wrong."""


class ColumnError(Error, ValueError):
    """No column or setting has this name."""


class UnsupportedError(Error, NotImplementedError):
    """This package does not support this policy."""


class LibraryError(Error):
    """libsim is not installed, or reported an error."""

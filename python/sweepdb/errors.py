"""What can go wrong, each with a message that names the file and the way out."""


class Error(Exception):
    """All errors of this package."""


class MissingError(Error, FileNotFoundError):
    """There is no such file."""


class FormatError(Error):
    """The file is something else: no results.db, no checkpoint."""


class VersionError(Error):
    """The file was written by an older or a newer program."""


class DamagedError(Error):
    """The file cannot be read to its end, or its checksums are wrong."""


class ColumnError(Error, ValueError):
    """No column or setting has this name."""


class UnsupportedError(Error, NotImplementedError):
    """This package cannot do that with this policy."""


class LibraryError(Error):
    """libsim is not there, or refused."""

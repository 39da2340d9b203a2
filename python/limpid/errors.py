"""The library's errors, each of which is one of Python's, too.

Every message is one line: what was expected, what was given, and where. ``except ValueError`` catches what
Python's users expect it to, ``except limpid.Error`` whatever the library says.
"""

import errno
import sys
import warnings

__all__ = [
    "Error",
    "InvalidArgumentError",
    "ShapeError",
    "DtypeError",
    "ParseError",
    "FormatError",
    "FileError",
    "MissingFileError",
    "FilePermissionError",
    "FileIsFolderError",
    "NotFoundError",
    "UnsupportedError",
    "NoGradientError",
    "NoMemoryError",
    "InternalError",
    "CopyWarning",
]


class Error(Exception):
    """What the library throws."""

    code = "internal"


class InvalidArgumentError(Error, ValueError):
    """A value outside what a function accepts."""

    code = "invalid argument"


class ShapeError(Error, ValueError):
    """Shapes that do not match."""

    code = "shape"


class DtypeError(Error, TypeError):
    """An element type that an operation does not take."""

    code = "dtype"


class ParseError(Error, ValueError):
    """Text that is not a Function, a number, a configuration."""

    code = "parse"


class FormatError(Error, ValueError):
    """A file whose bytes break its format."""

    code = "format"


class FileError(Error, OSError):
    """The operating system refused to read or write; `errno` has its reason, where it gave one."""

    code = "io"

    def __str__(self) -> str:
        return str(self.args[-1]) if self.args else ""


class MissingFileError(FileError, FileNotFoundError):
    """There is no such file or folder."""


class FilePermissionError(FileError, PermissionError):
    """This user may not read or write it."""


class FileIsFolderError(FileError, IsADirectoryError):
    """It is a folder where a file is expected."""


class NotFoundError(Error, KeyError):
    """A name that does not exist."""

    code = "not found"

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class UnsupportedError(Error, NotImplementedError):
    """Well-formed, but beyond what the library does."""

    code = "unsupported"


class NoGradientError(Error, ValueError):
    """An op that has no derivative is on the path of a gradient."""

    code = "no gradient"


class NoMemoryError(Error, MemoryError):
    """The system has too little free memory."""

    code = "no memory"


class InternalError(Error, RuntimeError):
    """A broken promise of the library's own."""

    code = "internal"


class CopyWarning(UserWarning):
    """An array was copied on its way in: ``lp.no_copy(warn=True)`` asks for it."""


def _warn_of_copy(message: str) -> None:
    """Warns at the line that called the package, however deep in it the array was met."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals["__name__"].partition(".")[0] == "limpid":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, CopyWarning, stacklevel=level)


# For the bindings: the class of each code, and what stands for the operating system's reason.
_by_code = {kind.code: kind for kind in Error.__subclasses__()}
_by_reason = {
    errno.ENOENT: MissingFileError,
    errno.EACCES: FilePermissionError,
    errno.EPERM: FilePermissionError,
    errno.EISDIR: FileIsFolderError,
}


def _of_reason(reason: int, message: str) -> FileError:
    return _by_reason.get(reason, FileError)(reason, message)

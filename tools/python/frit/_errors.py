"""Exceptions of the package."""
from __future__ import annotations

import errno


def printable(text: str, kept: str = "") -> str:
    """Escapes what steers a terminal in names of models and files, but for the
    characters `kept`."""
    return "".join(c if c.isprintable() or c in kept
                   else c.encode("unicode_escape", "replace").decode()
                   for c in text)


class Error(RuntimeError):
    """The runtime or the compiler reported a failure, in its own words.

    `status` is what kind of failure it is: "out of memory", "no device" …
    """

    def __init__(self, message: str, status: str = ""):
        super().__init__(printable(message, kept="\n"))
        self.status = status


class ArgumentError(Error, ValueError):
    """The call is wrong: an unknown name, a wrong shape, type or device."""


class MissingFileError(Error, FileNotFoundError):
    """The artifact to load does not exist."""

    def __init__(self, message: str, filename: str | None = None):
        Error.__init__(self, message, "not found")
        self.errno, self.filename = errno.ENOENT, filename

    def __str__(self) -> str:  # not that of OSError
        return str(self.args[0])


class CompileError(Error):
    """fritc rejected the model or its options.

    `exit_status` is fritc's: 1 where the model is at fault, 2 where the options
    are, 3 for a bug in frit.
    """

    # The default is for pickle, which passes only the message.
    def __init__(self, message: str, exit_status: int = 1):
        super().__init__(message, "compile error")
        self.exit_status = exit_status


class MissingModelError(CompileError, MissingFileError):
    """The model to compile does not exist."""

    def __init__(self, message: str, filename: str | None = None):
        CompileError.__init__(self, message)
        self.errno, self.filename = errno.ENOENT, filename


class CompileWarning(UserWarning):
    """fritc compiled the model and had something to say."""


class RuntimeRemark(UserWarning):
    """A remark of the runtime: a library is missing, a slower way is taken."""

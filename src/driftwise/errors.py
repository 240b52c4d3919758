"""Everything driftwise raises on purpose.

DriftwiseError
├── InvalidInput       (also a ValueError)   a value breaks a rule; the message says rule, value and fix
├── NotFoundError      (also a LookupError)  no such study, suggestion, policy or environment
├── ConflictError                            a second, different reward for one suggestion; another space or policy
├── StoreError                               the file is no study, damaged, newer, read-only, or the disk is full
└── MissingExtra       (also an ImportError) an optional dependency is not installed
"""


class DriftwiseError(Exception):
    """The root: `except DriftwiseError` catches all of them and nothing else."""


class InvalidInput(DriftwiseError, ValueError):
    """A value breaks a rule."""


class NotFoundError(DriftwiseError, LookupError):
    """There is nothing of that name."""


class ConflictError(DriftwiseError):
    """It contradicts what is already stored; nothing was changed."""


class StoreError(DriftwiseError):
    """The store cannot be read or written; it is left as it was."""


class MissingExtra(DriftwiseError, ImportError):
    """An optional dependency is needed and not installed."""


def missing_extra(extra: str, package: str) -> MissingExtra:
    """The error for a missing extra, with the command that installs it."""
    return MissingExtra(f"{package} is needed for this; install it with: pip install 'driftwise[{extra}]'")

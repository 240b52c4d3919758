"""Everything driftwise raises on purpose.

DriftwiseError
├── InvalidInput       (also a ValueError)   a value breaks a rule; the message states the rule, the value and the fix
│   └── NothingAllowed                       an ask is restricted so much that no setting was found that may be chosen
├── NotFoundError      (also a LookupError)  no such study, suggestion, policy or environment
├── ConflictError                            a second, different reward for one suggestion; another space or policy
├── StoreError                               the file is not a study, damaged, newer or read-only, or the disk is full
├── AccessError                              a service does not know the token, or the token does not allow this
└── MissingExtra       (also an ImportError) an optional dependency is not installed
"""


class DriftwiseError(Exception):
    """The base class: `except DriftwiseError` catches all of them and nothing else."""


class InvalidInput(DriftwiseError, ValueError):
    """A value breaks a rule. The message has the rule, the value and the fix.

    >>> from driftwise import Float
    >>> try:
    ...     Float(5, 5)
    ... except InvalidInput as error:
    ...     print(error)
    low must be below high, got low=5.0 and high=5.0
    """


class NothingAllowed(InvalidInput):
    """No setting was found that may be chosen."""


class NotFoundError(DriftwiseError, LookupError):
    """Nothing of that name exists."""


class ConflictError(DriftwiseError):
    """The input contradicts what is already stored. Nothing was changed."""


class StoreError(DriftwiseError):
    """The store cannot be read or written. It is left as it was."""


class AccessError(DriftwiseError):
    """A service refuses the token, or what it was used for."""


class MissingExtra(DriftwiseError, ImportError):
    """A required optional dependency is not installed."""


def missing_extra(extra: str, package: str) -> MissingExtra:
    """The error for a missing extra, with the command that installs it."""
    return MissingExtra(f"{package} is needed for this; install it with: pip install 'driftwise[{extra}]'")

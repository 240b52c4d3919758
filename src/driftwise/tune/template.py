"""The command with placeholders, and what it becomes for a setting."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from driftwise.errors import InvalidInput
from driftwise.records import Params
from driftwise.text import as_json

TOKEN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")
PREFIX = "DRIFTWISE_"
SHELL = "/bin/sh"


@dataclass(frozen=True)
class Template:
    """A command whose arguments contain {name} where a parameter goes; {{ and }} stand for braces.

    >>> Template(("./run", "--size={n}", "{{}}")).filled({"n": 8})
    ['./run', '--size=8', '{}']

    With `shell` the arguments are joined to one line for /bin/sh, and values are quoted.

    >>> Template(("./run {mode} | tail -1",), shell=True).filled({"mode": "very fast"})
    ['/bin/sh', '-c', "./run 'very fast' | tail -1"]
    """

    arguments: tuple[str, ...]
    shell: bool = False

    def __post_init__(self) -> None:
        if not self.arguments or not self.arguments[0]:
            raise InvalidInput("the command is missing; write it after --, for example: -- ./measure.sh {x}")

    @property
    def placeholders(self) -> list[str]:
        found = (match[1] for argument in self.arguments for match in TOKEN.finditer(argument))
        return [name for name in found if name is not None]

    def check(self, names: Sequence[str], *, all_of_them: bool = True) -> None:
        """Refuses placeholders that are no parameter, parameters without a placeholder, and what cannot be started."""
        known = ", ".join(names)
        for name in self.placeholders:
            if name not in names:
                raise InvalidInput(
                    f"{{{name}}} must be a parameter of the study, which has {known}; write {{{{ and }}}} for braces"
                )
        missing = [name for name in names if name not in self.placeholders]
        if missing and all_of_them:
            raise InvalidInput(
                f"the command must take every parameter, and {{{missing[0]}}} is missing; add it, or give --env if the "
                f"command reads {PREFIX}{missing[0]} from its environment"
            )
        if not self.shell and not TOKEN.search(self.arguments[0]) and shutil.which(self.arguments[0]) is None:
            raise InvalidInput(f"the command {self.arguments[0]!r} must be a program that can be run; {self._fix()}")

    def _fix(self) -> str:
        if os.path.isfile(self.arguments[0]):
            return f"make it one with chmod +x, and write ./{self.arguments[0]} if it is in this folder"
        return "no such program was found; check its path, or give --shell for a line of the shell"

    def filled(self, params: Params) -> list[str]:
        """The arguments for a setting."""
        if not self.shell:
            return [_replaced(each, params, str) for each in self.arguments]
        return [SHELL, "-c", " ".join(_replaced(each, params, shlex.quote) for each in self.arguments)]

    def line(self, params: Params) -> str:
        """The same as a person types it."""
        filled = self.filled(params)
        return filled[2] if self.shell else shlex.join(filled)


def _replaced(argument: str, params: Params, quote: Callable[[str], str]) -> str:
    return TOKEN.sub(lambda match: match[0][0] if match[1] is None else quote(written(params[match[1]])), argument)


def written(value: Any) -> str:
    """A value as an argument: text as it is, numbers with all their digits.

    >>> [written(value) for value in (0.1, 3, "a b", True)]
    ['0.1', '3', 'a b', 'true']
    """
    return value if isinstance(value, str) else as_json(value, indent=None)


def variables(params: Params) -> dict[str, str]:
    """The setting as environment variables: each parameter by itself, and all of them as JSON."""
    each = {f"{PREFIX}{name}": written(value) for name, value in params.items() if "=" not in name}
    return each | {f"{PREFIX}PARAMS": as_json(dict(params), indent=None)}

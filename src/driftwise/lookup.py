"""What has a name: the built-in ones, those that installed packages offer as entry points, and any "module:Name".

`Catalogue` is the only way from a name to a policy or an environment, in a study, in the lab and in every worker.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from driftwise import checks
from driftwise.errors import DriftwiseError, InvalidInput, NotFoundError
from driftwise.text import did_you_mean

IMPORTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
OFFERED = re.compile(r"[\w.-]{1,100}")  # neither ":" nor "," nor "=", which the command line needs


@dataclass(frozen=True)
class Offer:
    """An entry point, and the package that offers it."""

    point: EntryPoint

    @property
    def package(self) -> str:
        """For example "mypackage 1.2"."""
        return f"{self.point.dist.name} {self.point.dist.version}" if self.point.dist else "an unknown package"

    @property
    def target(self) -> str:
        """The object as module:Name."""
        return f"{self.point.module}:{self.point.attr or ''}"

    def __str__(self) -> str:
        return f"the entry point {self.point.name!r:.80} of {self.package}"


@dataclass(frozen=True)
class Catalogue:
    """Things of one kind by name. `check(name, thing)` refuses with an `InvalidInput` what is not of this kind."""

    kind: str  # "policy"
    group: str  # of entry points
    built_in: Mapping[str, Any]
    check: Callable[[str, Any], Any]
    refused: Mapping[str, str] = field(default_factory=dict)  # names that mean something else, and what

    def find(self, name: Any) -> Any:
        """What is meant by a name."""
        if isinstance(name, str) and name in self.built_in:
            return self.built_in[name]  # no entry point is looked at
        if is_imported(name):
            return self.check(name, imported(name))
        offers = self._offers().get(name, []) if isinstance(name, str) else []
        if not offers:
            if isinstance(name, str) and name in self.refused:
                raise InvalidInput(self.refused[name])
            raise NotFoundError(
                f"no {self.kind} is called {checks.shown(name)}; "
                f"{did_you_mean(name, self.names())}there are {', '.join(self.names())}; "
                f"one of your own is written module:Name"
            )
        return self._loaded(name, offers)

    def names(self) -> list[str]:
        """All names, sorted: those that are built in, and those of entry points, which may turn out to be broken."""
        return sorted({*self.built_in, *self.offered()})

    def offered(self) -> dict[str, Offer]:
        """The entry points whose names can be used."""
        return {name: offers[0] for name, offers in self._offers().items() if not self._problem(name, offers)}

    def problems(self) -> list[str]:
        """What is wrong with the entry points that are installed, one line each. All of them are loaded."""
        found = []
        for name, offers in self._offers().items():
            try:
                if name in self.built_in:
                    raise InvalidInput(self._problem(name, offers))
                self._loaded(name, offers)
            except DriftwiseError as error:
                found.append(str(error))
        return found

    def _offers(self) -> dict[str, list[Offer]]:
        return _offers(self.group, tuple(sys.path))

    def _loaded(self, name: str, offers: list[Offer]) -> Any:
        problem = self._problem(name, offers)
        if problem:
            raise InvalidInput(problem)
        try:
            return self.check(name, imported(offers[0].target))
        except DriftwiseError as error:
            raise type(error)(f"{offers[0]} cannot be used: {error}") from error

    def _problem(self, name: str, offers: list[Offer]) -> str:
        """Why the name of an entry point is refused, or an empty string."""
        if name in self.built_in:
            return f"{offers[0]} has the name of a built-in {self.kind} and is not used; it needs another name"
        if not OFFERED.fullmatch(name):
            return f"{offers[0]} needs a name of letters, digits, '-', '_' and '.' only"
        if len(offers) > 1:
            packages = " and ".join(offer.package for offer in offers)
            return f"{packages} both offer a {self.kind} called {name!r}; write it as {offers[0].target}"
        return ""


def is_imported(name: Any) -> bool:
    """Whether a name is of the form module:Name.

    >>> is_imported("mypackage.greedy:EpsilonGreedy"), is_imported("sw-gp-ucb"), is_imported("sw-gp-ucb:window")
    (True, False, False)
    """
    return isinstance(name, str) and IMPORTED.fullmatch(name) is not None


def imported(name: str) -> Any:
    """The object that "module:Name" names. Its module is imported.

    >>> imported("math:pi")
    3.141592653589793
    """
    if not is_imported(name):
        raise InvalidInput(f"an object of a module is written module:Name, got {checks.shown(name)}")
    module, _, path = name.partition(":")
    found: Any = _module(module, name)
    for part in path.split("."):
        if not hasattr(found, part):
            raise NotFoundError(f"{checks.shown(name)}: the module {module} has no {path!r:.80}; is its name right?")
        found = getattr(found, part)
    return found


def address(cls: Any) -> str | None:
    """The "module:Name" under which a class can be imported, or None: it was made inside a function, for example."""
    name = f"{cls.__module__}:{cls.__qualname__}"
    try:
        return name if is_imported(name) and imported(name) is cls else None
    except DriftwiseError:
        return None


def _module(module: str, name: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise InvalidInput(f"{checks.shown(name)}: {module} needs the module {error.name}; install it") from error
        raise NotFoundError(
            f"{checks.shown(name)}: no module is called {error.name!r:.80}; install the package that has it, "
            "or put its folder on PYTHONPATH"
        ) from None
    except Exception as error:  # whatever a user's module does when it is imported
        said = " ".join(str(error).split())
        raise InvalidInput(
            f"{checks.shown(name)}: importing {module} failed with {type(error).__name__}: {said:.200}"
        ) from error


@lru_cache(maxsize=8)
def _offers(group: str, path: tuple[str, ...]) -> dict[str, list[Offer]]:
    """The entry points of a group, by name; `path` is where packages are looked for."""
    found: dict[str, list[Offer]] = {}
    for point in sorted(entry_points(group=group), key=lambda point: (point.name, point.value)):
        known = found.setdefault(point.name, [])
        if point.value not in [offer.point.value for offer in known]:  # a package may be found twice on the path
            known.append(Offer(point))
    return found

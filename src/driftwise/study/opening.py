"""A study as something that is made, opened again and described."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.feasible import Limit
from driftwise.live import Live
from driftwise.log import Counts, Log, Store, open_store, without_password
from driftwise.policies import AnyPolicy
from driftwise.records import Params
from driftwise.replay import Fold
from driftwise.spaces import Space
from driftwise.study import remote
from driftwise.study.description import Description, agreed_with, described, description_of
from driftwise.study.watching import Watching

Path = str | os.PathLike[str]


@dataclass(frozen=True)
class Summary:
    """The definition of a study, how many suggestions and rewards it has, and how many are `pending()`."""

    name: str
    path: str | None
    description: Description
    counts: Counts
    awaited: int


class Opened:
    """A study with its log, its description and what is cached of it. `AskTell` adds asking and telling."""

    def __new__(cls, *_: Any, path: Any = None, **__: Any) -> Self:
        """A study behind a service, if the path is an address."""
        return object.__new__(cls._at(path))

    @classmethod
    def _at(cls, path: Any) -> type[Self]:
        """The class of a study at this path."""
        return remote.study_class(cls) if remote.is_address(path) else cls

    def __init__(
        self,
        name: str,
        space: Any = None,
        policy: str | tuple[str, dict[str, Any]] | AnyPolicy | None = None,
        *,
        path: Path | None = None,
        seed: int | None = None,
        direction: str | None = None,
        patience: int | None = None,
        where: str | Sequence[str] | None = None,
        limits: Mapping[str, Limit] | None = None,
        safe: bool | None = None,
        start: Params | None = None,
        delta: float | None = None,
        context: Any = None,
        live: Live | None = None,
        token: str | None = None,
        timeout: float | None = None,
        **options: Any,
    ) -> None:
        """Create a study, or open it if it already exists with the same settings. `Study` explains the arguments."""
        checks.name("a study's name", name)
        settings: dict[str, Any] = {
            "seed": seed,
            "direction": direction,
            "patience": patience,
            "where": where,
            "limits": limits,
        }
        settings |= {"safe": safe, "start": start, "delta": delta, "context": context, "live": live}
        given = {part: value for part, value in settings.items() if value is not None}
        self._make(name, described(space, policy, options, given), path, token=token, timeout=timeout)

    @classmethod
    def of(
        cls,
        name: str,
        description: Description,
        *,
        path: Path | None = None,
        token: str | None = None,
        timeout: float | None = None,
    ) -> Self:
        """Create a study with this description, or open it if it exists with the same.

        >>> Study.of("more prices", study.description)
        Study('more prices', policy='auto', path=None)
        """
        study = cls.__new__(cls, path=path)
        study._make(checks.name("a study's name", name), description, path, token=token, timeout=timeout)
        return study

    def _make(self, name: str, given: Description, path: Path | None, **service: Any) -> None:
        remote.no_service(**service)
        text = given.to_json()  # refused before a file is made
        store = open_store(path)
        log = store.create(name, text)
        agreed = given if log.description == text else agreed_with(given, description_of(log, path), name)
        self._set_up(store, log, agreed, path)

    @classmethod
    def open(cls, name: str, *, path: Path, token: str | None = None, timeout: float | None = None) -> Self:
        """Open a study that already exists.

        >>> made = Study("prices", {"price": Float(5, 20)}, path="prices.db")
        >>> Study.open("prices", path="prices.db")
        Study('prices', policy='auto', path='prices.db')
        """
        if cls._at(path) is not cls:
            return cls._at(path).open(name, path=path, token=token, timeout=timeout)
        remote.no_service(token=token, timeout=timeout)
        checks.name("a study's name", name)
        if path is None:
            raise InvalidInput("path must be a study's file, got None; a study in memory cannot be opened again")
        store = open_store(path, create=False)
        log = store.open(name)
        study = cls.__new__(cls)
        study._set_up(store, log, description_of(log, path), path)
        return study

    @classmethod
    def names(cls, path: Path, token: str | None = None, timeout: float | None = None) -> list[str]:
        """The names of the studies in a file.

        >>> made = Study("prices", {"price": Float(5, 20)}, path="prices.db")
        >>> Study.names("prices.db")
        ['prices']
        """
        if cls._at(path) is not cls:
            return cls._at(path).names(path, token, timeout)
        remote.no_service(token=token, timeout=timeout)
        return open_store(path, create=False).names()

    def _set_up(self, store: Store, log: Log, description: Description, path: Path | None) -> None:
        self.name = log.name
        self.path = None if path is None else os.fspath(path)
        self.description = description
        self._store = store
        self._log = log
        self._fold = Fold(description.feasible, description.sign)
        self._watching = Watching(description.policy, description.sign)

    def describe(self) -> Summary:
        """The definition of the study, and its counts.

        >>> study.describe().counts.rewards
        6
        """
        patience = self.description.patience
        counts, pending = self._log.read(lambda view: (view.counts, view.pending(patience)))
        return Summary(self.name, self._shown, self.description, counts, len(pending))

    def close(self) -> None:
        """Close the file. It is never necessary: everything is on the disk, and the next call opens it again.

        >>> study.close()
        """
        self._store.close()

    @property
    def policy(self) -> AnyPolicy:
        """The policy that chooses.

        >>> study.policy.name
        'auto'
        """
        return self.description.policy

    @property
    def number(self) -> int:
        """The number of the study in its file, which stays when it is renamed, and which no other study ever gets.

        >>> study.number
        1
        """
        return self._log.study

    @property
    def space(self) -> Space:
        """The parameters that are chosen.

        >>> study.space.names
        ('price',)
        """
        return self.description.space

    def __reduce__(self) -> Any:
        """A study in a file is opened again where it is copied or sent to. A study in memory cannot be copied."""
        if self.path is None:
            raise InvalidInput("a study in memory cannot be copied or pickled; give it a file with path=...")
        return _opened, (type(self), self.name, self.path)

    def __repr__(self) -> str:
        return f"Study({self.name!r}, policy={self.policy.name!r}, path={self._shown!r})"

    @property
    def _shown(self) -> str | None:
        """The path as it may be printed."""
        return None if self.path is None else without_password(self.path)


def _opened(cls: type[Opened], name: str, path: str) -> Opened:
    return cls.open(name, path=path)

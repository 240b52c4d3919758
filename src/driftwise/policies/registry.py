"""The policies by name. The file of a policy is imported when the policy is first asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import Any, NamedTuple

ORACLE = "oracle"  # a reference of the lab, and no policy


class Home(NamedTuple):
    """Where the class of a policy is defined."""

    module: str
    cls: str

    def load(self) -> Any:
        return getattr(import_module(self.module), self.cls)


class Registry(MutableMapping[str, Any]):
    """Classes of policies by name. To add one of your own, write `REGISTRY["mine"] = Mine`.

    >>> homes = Registry({"sw-gp-ucb": Home("driftwise.policies.window", "Window")})
    >>> list(homes), homes["sw-gp-ucb"].__name__
    (['sw-gp-ucb'], 'Window')
    """

    def __init__(self, homes: Mapping[str, Home]) -> None:
        self._homes = dict(homes)
        self._classes: dict[str, Any] = {}  # those that were imported, and a user's own

    def __getitem__(self, name: str) -> Any:
        if name not in self._classes:
            self._classes[name] = self._homes[name].load()
        return self._classes[name]

    def __setitem__(self, name: str, cls: Any) -> None:
        self._classes[name] = cls

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        self._classes.pop(name, None)
        self._homes.pop(name, None)

    def __contains__(self, name: object) -> bool:
        return name in self._classes or name in self._homes

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes | self._classes)

    def __len__(self) -> int:
        return len(self._homes | self._classes)

    def of_class(self, kind: str) -> Any | None:
        """The policy whose class has this name, or None. No other file is imported."""
        named = {name: home.cls for name, home in self._homes.items()}
        named |= {name: getattr(cls, "__name__", "") for name, cls in self._classes.items()}
        return next((self[name] for name, own in named.items() if own == kind), None)

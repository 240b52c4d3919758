"""A fleet behind a service: the same calls over HTTP, in requests of a few thousand keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftwise.errors import InvalidInput
from driftwise.fleet import Outcomes
from driftwise.records import Array, Params
from driftwise.service import wire
from driftwise.service.connection import Connection

Key = str | int


@dataclass(frozen=True, eq=False)
class RemoteBatch:
    """Suggestions for many keys, in the order in which the keys were given.

    Args:
        keys: the keys.
        ids: whole numbers that identify the suggestions in the fleet.
        params: the settings to try, a dict a key.
    """

    keys: Sequence[Key]
    ids: NDArray[np.int64]
    params: list[Params]


@dataclass(frozen=True, eq=False)
class RemoteAdvice:
    """What to run now for each of some keys, the reward that is expected and its standard deviation."""

    keys: Sequence[Key]
    params: list[Params]
    mean: Array
    std: Array


class RemoteFleet:
    """A fleet that a service has open. The token is `token`, or that of the environment variable DRIFTWISE_TOKEN.

    A request may take `timeout` seconds in all, 10 by default.

    A tell whose answer was lost is repeated, because each reward counts once. An ask is not: it may have been made, and
    would then be made twice. It raises a `StoreError`, and if it is repeated the lost suggestions are given up in time.
    """

    def __init__(self, name: str, path: str, token: str | None = None, timeout: float | None = None) -> None:
        self.name, self._connection = name, Connection.to(path, token, timeout)
        self.description: dict[str, Any] = self._call("GET", "")

    def __len__(self) -> int:
        return int(self._call("GET", "")["keys"])

    def ask(self, keys: Sequence[Key]) -> RemoteBatch:
        """A suggestion for every key, in their order."""
        found = [self._call("POST", "/ask", {"keys": part}, repeatable=False) for part in _parts(keys)]
        ids = np.array([each for answer in found for each in answer["ids"]], np.int64)
        return RemoteBatch(keys, ids, [each for answer in found for each in answer["params"]])

    def tell(self, suggestions: RemoteBatch | Sequence[int], rewards: Sequence[float]) -> Outcomes:
        """Store the rewards of a batch, or of some ids, in their order; NaN where there is none yet."""
        ids = suggestions.ids if isinstance(suggestions, RemoteBatch) else suggestions
        if len(ids) != len(rewards):
            raise InvalidInput(f"there must be a reward for each of the {len(ids)} suggestions, got {len(rewards)}")
        values = [None if np.isnan(reward) else float(reward) for reward in rewards]
        parts = zip(_parts([int(each) for each in ids]), _parts(values), strict=True)
        answers = [self._call("POST", "/tell", {"ids": some, "rewards": y}) for some, y in parts]
        return sum((Outcomes(**answer) for answer in answers), Outcomes())

    def recommend(self, keys: Sequence[Key]) -> RemoteAdvice:
        """The best setting of every key that is known."""
        found = [self._call("POST", "/recommend", {"keys": part}) for part in _parts(keys)]
        params, mean, std = ([each for answer in found for each in answer[what]] for what in ("params", "mean", "std"))
        return RemoteAdvice(keys, params, np.array(mean), np.array(std))

    def _call(self, method: str, what: str, body: Any = None, *, repeatable: bool = True) -> Any:
        path = f"/fleets/{wire.segment(self.name)}{what}"
        return self._connection.call(method, path, body, repeatable=repeatable)


def _parts(items: Sequence[Any]) -> Iterator[list[Any]]:
    """So many at a time as a request may have."""
    for start in range(0, len(items), wire.FLEET_KEYS):
        yield list(items[start : start + wire.FLEET_KEYS])

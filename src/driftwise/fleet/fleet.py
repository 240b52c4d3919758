"""`Fleet`: one study a key, for as many keys as there are."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.fleet.build import Definition
from driftwise.fleet.places import Here, ShardPlace, shard_of
from driftwise.fleet.shard import Key, Outcomes
from driftwise.fleet.streams import Places
from driftwise.policies import AnyPolicy
from driftwise.records import Array, Params


@dataclass(frozen=True, eq=False)
class Batch:
    """Suggestions for many keys, in the order in which the keys were given.

    Args:
        keys: the keys.
        ids: whole numbers that identify the suggestions in the fleet, also after a restart.
        points: the settings to try, a row a key, as policies see them: (keys, coordinates).
        where: which candidate each of them is.
    """

    keys: Sequence[Key]
    ids: NDArray[np.int64]
    points: Array
    where: Places
    space: Any = field(repr=False)

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def params(self) -> list[Params]:
        """The settings in your own units, a dict a key."""
        return _in_your_units(self.space, self.points, self.where)


@dataclass(frozen=True, eq=False)
class Advice:
    """What to run now for each of some keys: where the mean less its deviation is largest.

    Args:
        keys: the keys.
        points: the settings, a row a key, as policies see them: (keys, coordinates).
        mean: the reward that is expected there.
        std: the standard deviation of that.
        where: which candidate each of them is.
    """

    keys: Sequence[Key]
    points: Array
    mean: Array
    std: Array
    where: Places
    space: Any = field(repr=False)

    @cached_property
    def params(self) -> list[Params]:
        """The settings in your own units, a dict a key."""
        return _in_your_units(self.space, self.points, self.where)


def _in_your_units(space: Any, points: Array, where: Places) -> list[Params]:
    """Each candidate is decoded once, however many keys have it."""
    _, first, which = np.unique(where, return_index=True, return_inverse=True)
    decoded = [space.from_unit(tuple(x)) for x in points[first].tolist()]
    return [dict(decoded[i]) for i in which.tolist()]


@dataclass(frozen=True, eq=False)
class Movement:
    """How the worlds of some keys move.

    Args:
        keys: the keys.
        asked: how many suggestions they were made.
        told: how many rewards they have.
        spread: the running mean of squared surprises; 1 if rewards are as the belief expects them.
        alarms: how often the rewards were so surprising that the world must have changed.
        last_alarm: the number of the suggestion whose reward raised the last alarm; 0 if there was none.
    """

    keys: Sequence[Key]
    asked: NDArray[np.int32]
    told: NDArray[np.int32]
    spread: Array
    alarms: NDArray[np.int32]
    last_alarm: NDArray[np.int32]


class Fleet:
    """Many independent streams, one API: a price for each product, a setting for each radio cell.

    Each key has its own belief over the same settings, and gets the suggestions that a `Study` of its own would make.
    Keys are strings or whole numbers and appear when they are first asked. Asks and tells are batches of arrays.

    Args:
        name: the fleet's name.
        space: what is chosen, as for a `Study`. A box with more than 2,500 settings becomes points that all keys share.
        policy: the policy of every key, for example "sw-gp-ucb".
        path: a folder or a PostgreSQL address that makes the fleet durable; None is in memory.
        engine: "compiled" (Numba), "gpu" (a CUDA device) or "numpy" (all policies); None takes the fastest of the
            processor's that can do it.
        direction: "maximize" or "minimize".
        patience: how many newer suggestions a key may get before one without a reward is given up.
        seed: the seed of policies that draw random numbers.
        shards: into how many parts the keys are divided, each with a journal of its own. It cannot be changed later.
        processes: how many processes the shards are run in; 0 is this one.
        actors: how many actors of a Ray cluster the shards are run in; 0 is none.
        together: whether a new key begins with what the others of its shard have learned; for the policy auto-lean.
        options: the options of the policy, for example window=64.

    >>> from driftwise import Candidates
    >>> fleet = Fleet("prices", Candidates([[0.0], [0.5], [1.0]]), "sw-gp-ucb", window=8)
    >>> batch = fleet.ask(["apples", "pears"])
    >>> batch.points.tolist()
    [[0.0], [0.0]]
    >>> fleet.tell(batch, [1.5, 0.2])
    Outcomes(new=2, known=0, missing=0, expired=0)
    >>> fleet.tell(batch, [1.5, 0.2]).known
    2
    """

    def __init__(
        self,
        name: str,
        space: Any = None,
        policy: str | tuple[str, dict[str, Any]] | AnyPolicy | None = "sw-gp-ucb",
        *,
        path: str | os.PathLike[str] | None = None,
        engine: str | None = None,
        direction: str = "maximize",
        patience: int = 32,
        seed: int = 0,
        shards: int = 1,
        processes: int = 0,
        actors: int = 0,
        together: bool = False,
        **options: Any,
    ) -> None:
        settings = {"direction": direction, "patience": checks.count("patience", patience), "seed": seed}
        definition = Definition.of(
            name, space, policy, options, settings, shards=shards, engine=engine, together=together
        )
        if path is not None:
            definition = definition.agreed(os.fspath(path), engine)
        self._begin(definition, path, processes, actors)

    @classmethod
    def open(cls, name: str, *, path: str | os.PathLike[str], processes: int = 0, actors: int = 0) -> Fleet:
        """The fleet of this name at `path`, as it was made: its definition is stored in its journal."""
        made = cls.__new__(cls)
        made._begin(Definition.stored(name, os.fspath(path)), path, processes, actors)
        return made

    def _begin(self, definition: Definition, path: str | os.PathLike[str] | None, processes: int, actors: int) -> None:
        self.definition, self.path = definition, None if path is None else os.fspath(path)
        hosts = (checks.count("processes", processes, least=0), checks.count("actors", actors, least=0))
        self._places = _opened(definition, self.path, *hosts)
        self._lock = RLock()

    @property
    def name(self) -> str:
        return self.definition.name

    # --- ask and tell -----------------------------------------------------------------------------------------------

    def ask(self, keys: Sequence[Key] | NDArray[Any]) -> Batch:
        """A suggestion for every key, in their order. A key that is there twice gets two, which spread out."""
        listed = _listed(keys)
        ids, where = np.empty(len(listed), np.int64), np.empty(len(listed), np.int32)
        shards = len(self._places)
        for shard, part, (rows, numbers, chosen) in self._by_key("ask", listed):
            ids[part], where[part] = (rows * shards + shard) << 32 | numbers, chosen
        return Batch(listed, ids, self._points[where], where, self.definition.space)

    def tell(self, suggestions: Batch | NDArray[np.int64], rewards: Any) -> Outcomes:
        """Store the rewards of a batch, or of some ids, in their order; NaN where there is none yet.

        Each suggestion takes one reward. The same again changes nothing, and another one raises a `ConflictError`.
        The rewards are on the disk when the call returns. What is wrong is refused by each shard as a whole.
        """
        ids, y = suggestions.ids if isinstance(suggestions, Batch) else _as_ids(suggestions), _as_rewards(rewards)
        if y.shape != ids.shape or ids.ndim != 1:
            raise InvalidInput(f"there must be a reward for each of the {ids.size} suggestions, got shape {y.shape}")
        handles, numbers = ids >> 32, (ids & 0xFFFFFFFF).astype(np.int32)
        shard, rows = handles % len(self._places), handles // len(self._places)
        with self._lock:
            parts = [(at, part) for at in range(len(self._places)) if len(part := _part(shard, at, len(self._places)))]
            begun = [self._places[at].submit("tell", rows[part], numbers[part], y[part]) for at, part in parts]
            return sum((answer() for answer in begun), Outcomes())

    # --- what it says -----------------------------------------------------------------------------------------------

    def recommend(self, keys: Sequence[Key] | NDArray[Any]) -> Advice:
        """The best setting of every key that is known: where the mean less its standard deviation is largest."""
        listed = _listed(keys)
        where, mean, std = np.empty(len(listed), np.int32), np.empty(len(listed)), np.empty(len(listed))
        for _, part, answer in self._by_key("advise", listed):
            where[part], mean[part], std[part] = answer
        return Advice(listed, self._points[where], mean, std, where, self.definition.space)

    def drift(self, keys: Sequence[Key] | NDArray[Any] | None = None) -> Movement:
        """How the worlds of these keys move; None is all of them."""
        listed = self.keys() if keys is None else _listed(keys)
        found: dict[str, NDArray[Any]] = {}
        none = [(0, slice(0), self._places[0].submit("figures", [])())]
        for _, part, figures in self._by_key("figures", listed) if listed else none:
            for name, array in figures.items():
                found.setdefault(name, np.empty(len(listed), array.dtype))[part] = array
        return Movement(listed, **{each.name: found[each.name] for each in fields(Movement) if each.name != "keys"})

    def keys(self) -> list[Key]:
        """All keys, shard by shard, in the order in which they appeared."""
        return [key for each in self._each("all_keys") for key in each]

    def __len__(self) -> int:
        return sum(self._each("__len__"))

    def __repr__(self) -> str:
        return f"Fleet({self.name!r}, policy={self.definition.policy.name!r}, {len(self):,} keys)"

    @property
    def engine(self) -> str:
        """The name of the engine."""
        return self.definition.engine

    def snapshot(self) -> None:
        """Write a snapshot now, so that the next start reads little; it is otherwise done from time to time."""
        self._each("snapshot")

    def close(self) -> None:
        """Give up the journals, so that another process may open the fleet. What was told is on the disk anyway."""
        with self._lock:
            for place in self._places:
                place.close()

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- shards -----------------------------------------------------------------------------------------------------

    def move(self, shard: int, actor: int) -> None:
        """Run a shard in another actor from now on, which reads its journal."""
        with self._lock:
            self._cluster().move(shard, actor)

    def resize(self, actors: int) -> list[int]:
        """Run the shards in so many actors from now on. Only those that must move do: the list of them."""
        with self._lock:
            return self._cluster().resize(actors)

    def _cluster(self) -> Any:
        if not hasattr(self._places[0], "cluster"):
            raise InvalidInput("only the shards of a fleet on Ray can move; open it with actors=...")
        return self._places[0].cluster

    def _by_key(self, method: str, keys: list[Key]) -> list[tuple[int, Any, Any]]:
        """Call a method of each shard that has some of the keys: the shard, where in `keys` its own are, the answer."""
        with self._lock:
            shards, of = len(self._places), shard_of(keys, len(self._places))
            parts = [(at, part) for at in range(shards) if len(part := _part(of, at, shards))]
            begun = [self._places[at].submit(method, [keys[i] for i in part.tolist()]) for at, part in parts]
            return [(at, part, answer()) for (at, part), answer in zip(parts, begun, strict=True)]

    def _each(self, method: str) -> list[Any]:
        """Call a method of every shard."""
        with self._lock:
            begun = [place.submit(method) for place in self._places]
            return [answer() for answer in begun]

    @property
    def _points(self) -> Array:
        return self.definition.points


def _opened(definition: Definition, path: str | None, processes: int, actors: int) -> list[ShardPlace]:
    """The shards of a fleet, in this process, in others or on a cluster."""
    if processes and actors:
        raise InvalidInput(f"shards run in processes or in actors, got {processes} and {actors}; give one of them")
    if actors:
        from driftwise.fleet.ray_places import actor_places

        return actor_places(definition, path, actors)
    if not processes:
        return [Here(definition.shard(path, at)) for at in range(definition.shards)]
    from driftwise.fleet.processes import places

    return places(definition, path, processes)


def _part(shard: NDArray[np.int64], at: int, shards: int) -> NDArray[np.intp]:
    """Where in a batch the keys of one shard are."""
    return np.arange(len(shard)) if shards == 1 else np.flatnonzero(shard == at)


def _as_ids(given: Any) -> NDArray[np.int64]:
    ids = np.asarray(given)
    if ids.size and ids.dtype.kind not in "iu":
        raise InvalidInput(f"ids must be whole numbers, got {checks.shown(ids.flat[0].item())}; give those of a batch")
    return ids.astype(np.int64)


def _as_rewards(given: Any) -> Array:
    try:
        return np.asarray(given, float)
    except (TypeError, ValueError):
        raise InvalidInput(f"rewards must be numbers, NaN where there is none yet, got {checks.shown(given)}") from None


def _listed(keys: Any) -> list[Key]:
    if isinstance(keys, str | bytes) or not hasattr(keys, "__iter__"):
        raise InvalidInput(f"keys must be a list, got {checks.shown(keys)}; give [{checks.shown(keys)}]")
    return keys.tolist() if isinstance(keys, np.ndarray) else list(keys)

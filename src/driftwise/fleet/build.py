"""What defines a fleet, and how its shards are made."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from typing import Any

from driftwise import checks
from driftwise.errors import ConflictError, InvalidInput, NotFoundError
from driftwise.fleet import together as learning
from driftwise.fleet.engine import FleetEngine
from driftwise.fleet.folding import STATES, FoldingEngine
from driftwise.fleet.frames import JournalEntry
from driftwise.fleet.journal import Journal, is_journal, open_journal
from driftwise.fleet.shard import Shard, unpacked
from driftwise.fleet.streams import Streams
from driftwise.fleet.windowed import Terms, terms_of
from driftwise.log import without_password
from driftwise.policies import AnyPolicy
from driftwise.policies.auto_lean import AutoLean
from driftwise.policies.base import finite
from driftwise.policies.restart import Restart
from driftwise.policies.window import Window
from driftwise.records import Array
from driftwise.spaces import Box, Mesh, Space, as_space
from driftwise.spaces.mesh import FINER
from driftwise.study.description import Description, agreed_with, described

ENGINES = ("numpy", "compiled", "gpu")
WINDOWS = {"compiled": 1, "gpu": 8}  # after how many windows an engine computes everything afresh


@dataclass(frozen=True)
class Definition:
    """A fleet's name, what defines the study of each of its keys, and how these are computed."""

    name: str
    study: Description
    engine: str
    shards: int
    together: bool = False

    @classmethod
    def of(
        cls,
        name: str,
        space: Any,
        policy: Any,
        options: Any,
        settings: Any,
        *,
        shards: int,
        engine: str | None,
        together: bool,
    ) -> Definition:
        """From what the user gave. No engine means the fastest of the processor's that can do it."""
        if engine is not None and engine not in ENGINES:
            raise InvalidInput(f"engine must be one of {', '.join(ENGINES)}, got {checks.shown(engine)}")
        study = described(_shared(space, 0), policy, options, settings)
        if engine != "gpu" and isinstance(study.policy, Window | Restart):
            study = described(_shared(space, FINER), policy, options, settings)
        finite(study.policy.name, study.policy.space)
        if checks.flag("together", together):
            learning.check(study.policy)
        name, shards = checks.name("a fleet's name", name), checks.count("shards", shards)
        made = cls(name, study, engine or "compiled", shards, together)
        try:
            made.terms  # noqa: B018  # what an engine cannot do is refused now
        except InvalidInput:
            if engine is not None:
                raise
            return replace(made, engine="numpy")
        return made

    @cached_property
    def terms(self) -> Terms | None:
        """What the engines for windows need; None for those of other policies."""
        if self.engine == "numpy":
            return None
        package, extra = ("numba", "fast") if self.engine == "compiled" else ("triton", "gpu")
        if find_spec(package) is None:
            raise InvalidInput(f"engine={self.engine!r} needs {package}; pip install 'driftwise[{extra}]'")
        if self.engine == "gpu" and isinstance(self.policy, AutoLean):
            if self.together:
                raise InvalidInput("together=True needs engine='numpy', got 'gpu', which gives all keys one prior")
            return None
        return terms_of(self.policy, windows=WINDOWS[self.engine])

    @property
    def policy(self) -> AnyPolicy:
        return self.study.policy

    @property
    def space(self) -> Space:
        return self.study.space

    @property
    def points(self) -> Array:
        """The candidates: (n, d)."""
        points = self.policy.space.points
        assert points is not None
        return points

    @property
    def where(self) -> str:
        """What is chosen from, in words."""
        if not isinstance(self.space, Mesh):
            return f"{len(self.points)} candidates"
        around = f" and {self.space.finer} around each" if self.space.finer else ""
        return f"{len(self.points) // self.space.block} points of the box{around}"

    @property
    def text(self) -> str:
        """What must be the same when the fleet is opened again."""
        how = {"engine": self.engine, "shards": self.shards, "together": self.together}
        return json.dumps({"study": self.study.to_json()} | how)

    @classmethod
    def stored(cls, name: str, path: str) -> Definition:
        """The one of a fleet that exists, from the journal of its first shard."""
        first = f"{name}-0"
        if not is_journal(path, first):
            raise _nowhere(name, path)
        journal = open_journal(path, first)
        try:
            state = journal.latest()
            held = state if state is not None else next((each.arrays for each in journal.entries()), None)
        finally:
            journal.close()
        if held is None:
            raise _nowhere(name, path)
        data = json.loads(unpacked(held["definition"]))
        return cls(name, Description.from_json(data.pop("study")), **data)

    def agreed(self, path: str, engine: str | None) -> Definition:
        """That of the fleet at `path`, if there is one: it goes on as it was made, unless what is given now differs."""
        try:
            stored = Definition.stored(self.name, path)
        except NotFoundError:
            return self
        agreed_with(self.study, stored.study, self.name, "fleet")
        for what in ("shards", "together") if engine is None else ("shards", "together", "engine"):
            before, now = getattr(stored, what), getattr(self, what)
            if before != now:
                raise ConflictError(
                    f"fleet {self.name!r} already exists with {what}={before!r}, now {now!r}; leave this out, or "
                    "take another name"
                )
        return stored

    def shard(self, path: str | None, at: int) -> Shard:
        """Shard number `at`, which goes on where its journal ends."""
        memory = self.policy.memory if self.terms is None else self.terms.memory
        streams = Streams(memory, self.study.patience)
        journal = Nowhere() if path is None else open_journal(path, f"{self.name}-{at}")
        engine = self._engine(streams)
        teacher = engine if self.together and isinstance(engine, FoldingEngine) else None
        return Shard(self.text, streams, engine, journal, self.study.sign, teacher)

    def _engine(self, streams: Streams) -> FleetEngine:
        if self.engine == "gpu" and isinstance(self.policy, AutoLean):
            from driftwise.fleet.lean_engine import lean_engine

            return lean_engine(self.policy, streams)
        if self.terms is None:
            states = learning.states(self.policy, STATES)
            return FoldingEngine(self.policy, self.points, streams, self.study.seed, states=states)
        if self.engine == "gpu":
            from driftwise.fleet.gpu import gpu_engine

            return gpu_engine(self.terms, streams)
        from driftwise.fleet.compiled import compiled_engine

        return compiled_engine(self.terms, streams)


def _shared(space: Any, finer: int) -> Any:
    """A box that cannot be listed as points that all keys share; what is no such box as it is."""
    made = None if space is None else as_space(space)
    return Mesh(made, finer=finer) if isinstance(made, Box) and made.points is None else space


def _nowhere(name: str, path: str) -> NotFoundError:
    return NotFoundError(f"{without_password(path)} has no fleet {checks.shown(name)}; make it first")


class Nowhere(Journal):
    """The journal of a fleet in memory: nothing is written."""

    def append(self, *entries: JournalEntry) -> None:
        pass

    def entries(self) -> Any:
        return iter(())

    def snapshot(self, arrays: Any) -> None:
        pass

    def latest(self) -> None:
        return None

    def close(self) -> None:
        pass

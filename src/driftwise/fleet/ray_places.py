"""Shards on a Ray cluster: some actors, each with the shards that rendezvous hashing gives it.

The weight of an actor for a shard is a hash of both, and the heaviest has the shard. An actor more or less therefore
moves only the shards that it gets or had. A shard that is moved is closed first, and read from its journal elsewhere:
the path must lead to the same disk, or the same PostgreSQL, on all machines.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from driftwise import checks
from driftwise.errors import InvalidInput, StoreError
from driftwise.fleet.build import Definition
from driftwise.fleet.places import Answer, ShardPlace
from driftwise.fleet.processes import called, made
from driftwise.fleet.shard import Shard


def heaviest(shard: int, actors: int) -> int:
    """Which of the actors 0, 1, … has this shard.

    >>> [heaviest(shard, 4) for shard in range(6)]
    [0, 0, 3, 3, 0, 0]
    """
    return max(range(actors), key=lambda actor: blake2b(b"%d/%d" % (shard, actor)).digest())


class ShardHost:
    """The actor: some shards, opened when they are first called."""

    def __init__(self, definition: Definition, path: str | None) -> None:
        self.definition, self.path = definition, path
        self.shards = dict[int, Shard]()

    def call(self, shard: int, method: str, args: tuple[Any, ...]) -> Any:
        """The answer of a shard, or its error, which is returned as it is."""
        if shard not in self.shards:
            opened = made(self.definition, self.path, shard)
            if isinstance(opened, BaseException):
                return opened
            self.shards[shard] = opened
        return called(self.shards[shard], method, args)

    def release(self, shard: int) -> None:
        """Close the journal of a shard, if it is open."""
        if shard in self.shards:
            self.shards.pop(shard).journal.close()


class RayCluster:
    """The actors of a fleet, and which shards each of them has."""

    def __init__(self, definition: Definition, path: str | None, actors: int) -> None:
        from driftwise.lab.cluster import connected

        self.definition, self.path = definition, path
        self.ray, self._ours = connected(None, None)
        self._remote = self.ray.remote(num_cpus=0, max_restarts=0)(ShardHost)
        self.at = [heaviest(shard, actors) for shard in range(definition.shards)]
        self._actors = dict[int, Any]()

    def submit(self, shard: int, method: str, args: tuple[Any, ...]) -> Answer:
        at = self.at[shard]
        reference = self._actor(at).call.remote(shard, method, args)
        return lambda: self._answer(at, reference)

    def _actor(self, at: int) -> Any:
        if at not in self._actors:
            self._actors[at] = self._remote.remote(self.definition, self.path)
        return self._actors[at]

    def _answer(self, at: int, reference: Any) -> Any:
        try:
            answer = self.ray.get(reference)
        except self.ray.exceptions.RayActorError as error:
            self._actors.pop(at, None)  # the next call makes another
            lost = ", ".join(str(shard) for shard, actor in enumerate(self.at) if actor == at)
            kept = "in memory, and lost with it" if self.path is None else "read again from their journals"
            raise StoreError(
                f"the actor of shards {lost} ended; its keys are {kept}. Repeat the call: rewards that were stored are "
                "known"
            ) from error
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def move(self, shard: int, actor: int) -> None:
        """Close a shard where it is; its next call opens it at this actor."""
        if self.path is None:
            raise InvalidInput("a shard moves by its journal, and a fleet in memory has none; give a path")
        checks.count("shard", shard, least=0, most=self.definition.shards - 1)
        before, self.at[shard] = self.at[shard], checks.count("actor", actor, least=0)
        if before in self._actors and before != actor:
            self._answer(before, self._actors[before].release.remote(shard))

    def resize(self, actors: int) -> list[int]:
        """So many actors from now on: the shards that were moved for it."""
        checks.count("actors", actors)
        wanted = {shard: heaviest(shard, actors) for shard in range(self.definition.shards)}
        moved = [shard for shard, actor in wanted.items() if actor != self.at[shard]]
        for shard in moved:
            self.move(shard, wanted[shard])
        for actor in [each for each in self._actors if each >= actors]:
            self.ray.kill(self._actors.pop(actor))
        return moved

    def close(self, shard: int) -> None:
        """Close a shard's journal. With the last one the actors end, and with them the Ray that is ours."""
        at = self._actors.get(self.at[shard])
        if at is not None:
            self._answer(self.at[shard], at.release.remote(shard))
        if shard == self.definition.shards - 1:
            for actor in self._actors.values():
                self.ray.kill(actor)
            self._actors.clear()
            if self._ours and self.ray.is_initialized():
                self.ray.shutdown()


class InActor:
    """One shard of a cluster."""

    def __init__(self, cluster: RayCluster, shard: int) -> None:
        self.cluster, self.shard = cluster, shard

    def submit(self, method: str, *args: Any) -> Answer:
        return self.cluster.submit(self.shard, method, args)

    def close(self) -> None:
        self.cluster.close(self.shard)


def actor_places(definition: Definition, path: str | None, actors: int) -> list[ShardPlace]:
    """The shards of a fleet on so many actors of a Ray cluster; a Ray of this machine if we are on none."""
    cluster = RayCluster(definition, path, actors)
    return [InActor(cluster, shard) for shard in range(definition.shards)]

"""Shards in processes of their own, a pipe to each."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from driftwise.concurrency.threads import one_thread
from driftwise.errors import StoreError
from driftwise.fleet.build import Definition
from driftwise.fleet.places import Answer, ShardPlace
from driftwise.fleet.shard import Shard

LEAVE = 10.0  # seconds that a process has to end by itself


def places(definition: Definition, path: str | None, processes: int) -> list[ShardPlace]:
    """The shards of a fleet, dealt out to so many processes."""
    hosts = [Host(definition, path, tuple(range(first, definition.shards, processes))) for first in range(processes)]
    return [InProcess(hosts[at % processes], at) for at in range(definition.shards)]


class Host:
    """A process with some of the shards. If it dies, the next call makes another, which reads their journals."""

    def __init__(self, definition: Definition, path: str | None, shards: tuple[int, ...]) -> None:
        self._given = (definition, path, shards)
        self._sent, self._answers = 0, dict[int, Any]()
        self._begin()

    def _begin(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, *self._given), daemon=True)
        self.process.start()
        theirs.close()

    def submit(self, shard: int, method: str, args: tuple[Any, ...]) -> Answer:
        if self._pipe.closed:
            self._begin()
        self._sent += 1
        number = self._sent
        self._try(lambda: self._pipe.send((number, shard, method, args)))
        return lambda: self._answer(number)

    def _answer(self, number: int) -> Any:
        while number not in self._answers:
            received, answer = self._try(self._pipe.recv)
            self._answers[received] = answer
        answer = self._answers.pop(number)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _try(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except (EOFError, OSError) as error:
            self.close()
            kept = "in memory, and lost with it" if self._given[1] is None else "read again from their journals"
            raise StoreError(
                f"the process of shards {', '.join(map(str, self._given[2]))} ended; its keys are {kept}. Repeat the "
                "call: rewards that were stored are known"
            ) from error

    def close(self) -> None:
        self._pipe.close()
        self.process.join(LEAVE)
        self.process.kill()
        self._answers.clear()


class InProcess:
    """One shard of a host."""

    def __init__(self, host: Host, shard: int) -> None:
        self.host, self.shard = host, shard

    def submit(self, method: str, *args: Any) -> Answer:
        return self.host.submit(self.shard, method, args)

    def close(self) -> None:
        self.host.close()


def _serve(pipe: Connection, definition: Definition, path: str | None, at: tuple[int, ...]) -> None:
    """The process: it answers until the pipe is closed."""
    shards = dict[int, Shard | BaseException]()
    for shard in at:
        shards[shard] = made(definition, path, shard)
    while True:
        try:
            number, shard, method, args = pipe.recv()
        except EOFError:
            break
        pipe.send((number, called(shards[shard], method, args)))
    for each in shards.values():
        if isinstance(each, Shard):
            each.journal.close()


def made(definition: Definition, path: str | None, shard: int) -> Shard | BaseException:
    """A shard, or why there is none."""
    try:
        return definition.shard(path, shard)
    except Exception as error:
        return error


@one_thread
def called(shard: Shard | BaseException, method: str, args: tuple[Any, ...]) -> Any:
    """The answer of a shard, or its error."""
    if isinstance(shard, BaseException):
        return shard
    try:
        return getattr(shard, method)(*args)
    except Exception as error:
        return error

"""What changed in a store, as small events.

Changes by this process are noticed at once. Those by others are notified by PostgreSQL; where they are not, as in a
file, the counts are looked at again and again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial

from driftwise.errors import DriftwiseError
from driftwise.log import Counts
from driftwise.log.postgres_address import Address
from driftwise.service.database import Database
from driftwise.service.forever import cancelled
from driftwise.service.listening import Listener, prepare
from driftwise.service.settings import ServiceSettings

PAUSE = 0.05  # seconds between two looks at what this process changed: a busy study makes twenty events a second
SURE = 30.0  # seconds after which a store that notifies is looked at all the same
BACKLOG = 1000  # names that a reader may be behind, before it is told to look at everything again

logger = logging.getLogger("driftwise.service")


@dataclass(frozen=True, slots=True)
class StudyEvent:
    """A study has changed: these are its counts now. They are None if it is gone, and `study` is "" if too many did."""

    study: str
    counts: Counts | None


@dataclass(eq=False)
class Follower:
    """One who follows. Only the last event of each study is kept until it is read, so that memory is bounded."""

    name: str | None
    waiting: dict[str, StudyEvent] = field(default_factory=dict)
    woken: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, event: StudyEvent) -> None:
        if self.name is not None and self.name != event.study:
            return
        if len(self.waiting) >= BACKLOG and event.study not in self.waiting:
            self.waiting = {"": StudyEvent("", None)}
        else:
            self.waiting[event.study] = event
        self.woken.set()

    async def take(self) -> list[StudyEvent]:
        await self.woken.wait()
        self.woken.clear()
        found, self.waiting = list(self.waiting.values()), {}
        return found


class Events:
    """The events of a store. Nothing is read while nobody follows."""

    def __init__(self, settings: ServiceSettings, database: Database) -> None:
        self._settings, self._database = settings, database
        self._followers: set[Follower] = set()
        self._known: dict[str, Counts] | None = None  # what followers were told; None: nothing yet
        self._nudged, self._stopped = asyncio.Event(), False
        self._task: asyncio.Task[None] | None = None
        self._address: Address | None = None  # of a store that notifies
        self._listener: Listener | None = None  # while anybody follows

    async def start(self) -> None:
        if self._settings.is_postgres:
            self._address = await asyncio.to_thread(prepare, self._database, self._settings.store)
        self._task = asyncio.create_task(self._watch())

    def finish(self) -> None:
        """End all streams: the service is about to stop."""
        self._stopped = True
        for follower in self._followers:
            follower.woken.set()

    async def stop(self) -> None:
        self.finish()
        self._followers.clear()
        self._listen()
        if self._task is not None:
            await cancelled(self._task)

    def nudge(self, name: str) -> None:
        if self._followers:
            self._nudged.set()

    async def follow(self, name: str | None) -> AsyncIterator[StudyEvent]:
        """The changes from now on. Of one study the first event is how it stands, so that nothing can be missed."""
        follower = Follower(name)
        self._followers.add(follower)
        self._listen()
        try:
            now = await asyncio.to_thread(self._database.counts, None if name is None else {name})
            self._known = now | (self._known or {})
            if name in now:
                yield StudyEvent(name, now[name])
            while not self._stopped:
                for event in await follower.take():
                    yield event
        finally:
            self._followers.discard(follower)
            if not self._followers:
                self._known = None
                self._listen()

    def _listen(self) -> None:
        """Listen while anybody follows."""
        if self._followers and self._listener is None and self._address is not None:
            self._listener = Listener(self._address, partial(_wake, asyncio.get_running_loop(), self._nudged))
        elif not self._followers and self._listener is not None:
            self._listener.stop()
            self._listener = None

    @property
    def _pause(self) -> float:
        """Seconds until the counts are looked at, if nobody says that they changed."""
        is_told = self._listener is not None and self._listener.is_listening
        return SURE if is_told else self._settings.poll_seconds

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(PAUSE)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._nudged.wait(), self._pause)
            self._nudged.clear()
            if self._followers:
                try:
                    self._compare(await asyncio.to_thread(self._database.counts, self._wanted()))
                except DriftwiseError as error:  # a disk that is full, a server that is away: it comes back
                    logger.warning("events: %s", error)

    def _wanted(self) -> set[str] | None:
        """The studies that somebody follows; None stands for all."""
        names = {follower.name for follower in self._followers}
        return None if None in names else {name for name in names if name is not None}

    def _compare(self, now: dict[str, Counts]) -> None:
        known = self._known
        if known is not None:
            for name, counts in now.items():
                if known.get(name) != counts:
                    self._tell(StudyEvent(name, counts))
            for name in known.keys() - now.keys():
                self._tell(StudyEvent(name, None))
        self._known = now

    def _tell(self, event: StudyEvent) -> None:
        for follower in self._followers:
            follower.put(event)


def _wake(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    with contextlib.suppress(RuntimeError):  # the service has stopped
        loop.call_soon_threadsafe(event.set)

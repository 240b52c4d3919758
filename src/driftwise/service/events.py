"""What changed in a store, as small events.

Changes by this process are noticed at once. For those by others the counts are looked at twice a second while anybody
follows, in a file and on a server alike.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from driftwise.errors import DriftwiseError
from driftwise.log import Counts
from driftwise.service.database import Database
from driftwise.service.forever import cancelled
from driftwise.service.settings import ServiceSettings

PAUSE = 0.05  # seconds between two looks at what this process changed: a busy study makes twenty events a second
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

    async def take(self, pause: float | None = None) -> list[StudyEvent]:
        """The events that wait, or none after a pause."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.woken.wait(), pause)
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

    def start(self) -> None:
        self._task = asyncio.create_task(self._watch())

    def finish(self) -> None:
        """End all streams: the service is about to stop."""
        self._stopped = True
        for follower in self._followers:
            follower.woken.set()

    async def stop(self) -> None:
        self.finish()
        self._followers.clear()
        if self._task is not None:
            await cancelled(self._task)

    def nudge(self) -> None:
        if self._followers:
            self._nudged.set()

    async def follow(self, name: str | None, pause: float | None) -> AsyncIterator[StudyEvent | None]:
        """The changes from now on, and None after each `pause` in seconds without one.

        Of one study the first event is how it stands, so that nothing can be missed.
        """
        follower = Follower(name)
        self._followers.add(follower)
        try:
            now = await asyncio.to_thread(self._database.counts, None if name is None else {name})
            self._known = now | (self._known or {})
            if name in now:
                yield StudyEvent(name, now[name])
            while not self._stopped:
                found = await follower.take(pause)
                for event in found:
                    yield event
                if not found:
                    yield None
        finally:
            self._followers.discard(follower)
            if not self._followers:
                self._known = None

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(PAUSE)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._nudged.wait(), self._settings.poll_seconds)
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

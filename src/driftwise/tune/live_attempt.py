"""A setting is tried on a system that runs, by the same step as in the service."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import httpx

from driftwise.errors import InvalidInput
from driftwise.records import Params, Suggestion
from driftwise.text import as_json
from driftwise.tune.live import System
from driftwise.tune.loop import Attempted, Say


@dataclass(frozen=True)
class LiveSystem:
    """The system."""

    system: System
    noun: str = "setting"

    def check(self, names: Sequence[str], *, all_of_them: bool) -> None:
        """Any parameters will do."""

    def measuring(self, names: Sequence[str]) -> LiveSystem:
        if names:
            raise InvalidInput(
                f"a system that runs has one reward and no measures; {names[0]!r:.80} must have no limit"
            )
        return self

    def start(self, suggestion: Suggestion, say: Say) -> LiveAttempt:
        return LiveAttempt(self.system, suggestion, say)

    def arguments(self, params: Params) -> None:
        """No command does what was tried."""

    def line(self, params: Params) -> str:
        return as_json(dict(params), indent=None)


@dataclass
class LiveAttempt:
    """A setting under way, in a thread of its own, whose end closes a pipe. It asks and tells for itself alone."""

    system: System
    suggestion: Suggestion
    say: Say
    found: Attempted | None = None
    error: BaseException | None = None
    problem: str = ""
    begun: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._read, self._written = os.pipe()
        self._loop = asyncio.new_event_loop()
        self._task = self._loop.create_task(self._try())
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._task)
        except BaseException as error:
            self.error = error
        finally:
            self._loop.close()
            os.close(self._written)

    async def _try(self) -> None:
        async with httpx.AsyncClient() as client:
            await self.system.step(client, self)

    # --- the desk of the step -----------------------------------------------------------------------------------

    async def ask(self) -> Suggestion:
        return self.suggestion

    async def held_up(self, problem: str) -> None:
        if problem != self.problem:
            self.say(f"{problem}; it is tried again")
        self.problem = problem

    async def applied(self, at: float) -> None:
        self.problem = ""

    async def tell(self, suggestion: Suggestion, reward: float | None, trouble: str) -> None:
        self.found = Attempted(reward, {}, trouble, time.monotonic() - self.begun)

    # --- for the tuner ------------------------------------------------------------------------------------------

    def fileno(self) -> int:
        return self._read

    def outcome(self) -> Attempted:
        """What came of it, or the error that ended it."""
        self._thread.join()
        os.close(self._read)
        if self.found is None:
            assert self.error is not None
            raise self.error
        return self.found

    def end(self) -> None:
        with suppress(RuntimeError):  # the loop has closed by itself
            self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join()
        os.close(self._read)

"""Something that is done again and again while the app runs."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from driftwise.errors import DriftwiseError

logger = logging.getLogger("driftwise.service")


class Forever:
    """Calls `work` with a pause after each time, which `soon` cuts short. An error is logged, and does not end it."""

    def __init__(self, name: str, work: Callable[[], Awaitable[None]], pause: float) -> None:
        self._name, self._work, self._pause = name, work, pause
        self._task: asyncio.Task[None] | None = None
        self._more = asyncio.Event()

    def soon(self) -> None:
        """There is more to do already."""
        self._more.set()

    async def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        if self._task is not None:
            await cancelled(self._task)

    async def _run(self) -> None:
        while True:
            self._more.clear()
            try:
                await self._work()
            except (DriftwiseError, TimeoutError) as error:  # a store that is away comes back
                logger.warning("%s: %s", self._name, error)
            except Exception:  # a bug of ours must not end what others wait for
                logger.exception(self._name)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._pause):
                    await self._more.wait()


async def cancelled(*tasks: asyncio.Task[None]) -> None:
    """End tasks, and wait until they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)

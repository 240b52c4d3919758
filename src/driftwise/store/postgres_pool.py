"""The connections of a process to one PostgreSQL: each thread that is in a call has one, and idle ones wait for others.

An exception may come between any two statements. What it leaves is a connection that is closed or idle, never a lock.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TypeVar

from driftwise.errors import DriftwiseError
from driftwise.store.postgres_address import Address
from driftwise.store.postgres_link import PostgresLink

IDLE = 32  # connections that are kept for later

Result = TypeVar("Result")


class LinkPool:
    """Links by process: a child that was forked never touches those of its parent."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._idle: dict[int, list[PostgresLink]] = {}
        self._own = threading.local()  # the link of a thread that is in a call

    def run(self, work: Callable[[PostgresLink], Result]) -> Result:
        """Return what `work` returns, with a link for this thread alone: the one it has, or an idle or a new one."""
        own: PostgresLink | None = getattr(self._own, "link", None)
        if own is not None and own.process == os.getpid():
            return work(own)
        link: PostgresLink | None = None
        try:
            link = self._taken()
            self._own.link = link
            result = work(link)
            self._own.link = None
            free, link = link, None
            self._keep(free)
        except BaseException as error:
            self._own.link = None
            if link is not None:
                if not isinstance(error, DriftwiseError):
                    link.shut()
                link.forget_locks()
                self._keep(link)
            raise
        return result

    def _taken(self) -> PostgresLink:
        """An idle link, the one that was used last, or a new one."""
        try:
            return self._idle_here.pop()
        except IndexError:
            return PostgresLink(self._address)

    def _keep(self, link: PostgresLink) -> None:
        if link.is_open and len(self._idle_here) < IDLE:
            self._idle_here.append(link)
        else:
            link.shut()

    @property
    def _idle_here(self) -> list[PostgresLink]:
        return self._idle.setdefault(os.getpid(), [])

    def close(self) -> None:
        """Close the idle connections."""
        idle = self._idle_here
        while idle:
            idle.pop().shut()

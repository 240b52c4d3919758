"""Stores and fork(2).

SQLite's locks do not survive a fork. A child that inherits an open connection believes that it holds locks which it
does not hold, even on a connection of its own, and the parent may delete the log that the child writes. Therefore every
connection to a file is closed before the process forks. Those to a server stay with the parent.
"""

from __future__ import annotations

import os
import threading
import weakref
from contextlib import AbstractContextManager, ExitStack
from typing import Protocol


class Forkable(Protocol):
    def paused(self) -> AbstractContextManager[None]:
        """The only state in which the process may fork."""
        ...

    def forget(self) -> None:
        """In the child: begin anew."""
        ...


opening = threading.RLock()  # held while a store is opened; a fork takes it before the locks of the stores
_watched: weakref.WeakSet[Forkable] = weakref.WeakSet()
_forking = ExitStack()


def watch(database: Forkable) -> None:
    """Pause this database at every fork from now on."""
    _watched.add(database)


def _before() -> None:
    _forking.enter_context(opening)
    for database in list(_watched):
        _forking.enter_context(database.paused())


def _in_child() -> None:
    _forking.close()
    for database in list(_watched):
        database.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_forking.close, after_in_child=_in_child)

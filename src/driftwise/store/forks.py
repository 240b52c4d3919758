"""Stores and fork(2).

SQLite's locks do not survive a fork. A child that inherits an open connection believes that it holds locks which it
does not hold, even on a connection of its own, and the parent may delete the log that the child writes. Therefore every
connection is closed before the process forks, and both sides open their own when they next need one.
"""

from __future__ import annotations

import os
import threading
import weakref
from contextlib import AbstractContextManager, ExitStack
from typing import Protocol


class Holdable(Protocol):
    def held(self) -> AbstractContextManager[None]: ...


opening = threading.RLock()  # held while a store is opened; a fork takes it before the locks of the stores
_watched: weakref.WeakSet[Holdable] = weakref.WeakSet()
_forking = ExitStack()
_registered = False


def watch(store: Holdable) -> None:
    """Close the connection of this store at every fork from now on."""
    global _registered
    _watched.add(store)
    if not _registered and hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_before, after_in_parent=_forking.close, after_in_child=_forking.close)
        _registered = True


def _before() -> None:
    _forking.enter_context(opening)
    for store in list(_watched):
        _forking.enter_context(store.held())

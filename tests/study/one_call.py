"""One call of a store, to be watched by strace: `one_call.py FILE CALL`. The process ends as if it were killed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from driftwise.log import FAILED, Choice, Chosen, Log, NewObservation, Outcome, Store, View, open_store


def several(view: View) -> Choice:
    return lambda: tuple(Chosen((x,), 1.0) for x in (0.1, 0.2, 0.3))


def rows(count: int) -> list[NewObservation]:
    return [
        NewObservation((i / count,) * 100, FAILED if i % 9 == 0 else Outcome(float(i)), key=f"{count} {i}")
        for i in range(count)
    ]


CALLS: dict[str, Callable[[Store, Log], Any]] = {
    "correct": lambda store, log: log.correct(2, Outcome(7.0, std=0.5), "me", "typed wrong"),
    "retract": lambda store, log: log.correct(1, None),
    "ask for three": lambda store, log: log.ask_many("batch", several, 32, 3),
    "tell": lambda store, log: log.tell(log.ask("k", several, 32).id, Outcome(1.0, repeats=3), key="told"),
    "load": lambda store, log: log.load(rows(400)),  # so many that the log is moved into the file
    "rename": lambda store, log: store.rename("a", "z"),
    "delete": lambda store, log: store.delete("a"),
    "copy": lambda store, log: store.copy("a", store, "z"),
}


def make(store: Store) -> None:
    log = store.create("a", "{}")
    log.load(rows(20))
    log.ask("k", lambda view: lambda: (Chosen((0.5,), 1.0),), 32)
    log.correct(3, None)


if __name__ == "__main__":
    store = open_store(sys.argv[1])
    CALLS[sys.argv[2]](store, store.open("a"))
    os._exit(0)

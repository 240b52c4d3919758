"""Decisions about a live system, and all that they follow from, in the order in which it was written."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from driftwise.log.base import Asked, Decided, Mark
from driftwise.log.entries import LogEntry, asked_in, decided_in, intact, mark_of, observed_in
from driftwise.log.schema import ASKED, DECIDED, OBSERVED
from driftwise.log.view import ALL, LAST_ASKED, View
from driftwise.records import Observation

_READ: dict[int, Callable[[LogEntry], Asked | Observation | Decided]] = {
    ASKED: asked_in,
    OBSERVED: observed_in,
    DECIDED: decided_in,
}


def decisions(view: View) -> list[tuple[Mark, Decided]]:
    """All decisions, oldest first, each with the mark after it."""
    return [(mark_of(entry), decided_in(entry)) for entry in view.after(DECIDED, 0, ALL)]


def last_asked(view: View) -> Asked | None:
    """The newest suggestion."""
    row = view.connection.execute(LAST_ASKED, {"s": view.study}).first()
    return None if row is None else asked_in(intact(LogEntry(*row)))


def told_since(view: View, mark: Mark) -> Iterator[Asked | Observation | Decided]:
    """What came after a mark: observations as they were told. Raises a `StoreError` as `View.since` does."""
    return (_READ[entry.kind](entry) for entry in view.written_since(mark) if entry.kind in _READ)

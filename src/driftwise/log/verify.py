"""Checks whether a store is intact: the database looks at its pages, and every entry of every study is read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from driftwise.errors import DriftwiseError
from driftwise.log import entries, open_store
from driftwise.log.base import BEGINNING, Correction, Counts, Outcome, outcome_of
from driftwise.log.entries import LogEntry, asked_in, corrected_in, observed_in
from driftwise.log.schema import ABANDONED, ASKED, CORRECTED, OBSERVED, studies
from driftwise.log.standing import STANDING, Standing, standing_in
from driftwise.log.stores import Store
from driftwise.log.view import View


@dataclass(frozen=True)
class Finding:
    """A problem with a study of a store, or (None) with the store itself."""

    study: str | None
    problem: str


def check(path: Path | str) -> list[Finding]:
    """All problems of a file, or of a store on a server; an empty list if it is intact."""
    try:
        store = open_store(path, create=False)
        return [*_pages(store), *(each for name in store.names() for each in _study(store, name))]
    except DriftwiseError as error:
        return [Finding(None, str(error))]


def _pages(store: Store) -> Iterator[Finding]:
    """What SQLite says about its own pages. A server has tools of its own."""

    def look(connection: sa.Connection) -> list[str]:
        if connection.dialect.name != "sqlite":
            return []
        return [str(row[0]) for row in connection.exec_driver_sql("PRAGMA integrity_check(20)")]

    for said in store.reading(look):
        if said != "ok":
            yield Finding(None, f"SQLite: {said}")


def _study(store: Store, name: str) -> Iterator[Finding]:
    def look(connection: sa.Connection) -> list[str]:
        row = connection.execute(sa.select(*STANDING).where(studies.c.name == name)).one()
        stored = standing_in(row)
        counted = _counted(stored, list(View(connection, stored).written_after(BEGINNING)))
        return [] if counted == stored.counts else [f"it counts {stored.counts}, and its entries say {counted}"]

    try:
        for problem in store.reading(look):
            yield Finding(name, problem)
    except DriftwiseError as error:
        yield Finding(name, str(error))


def _counted(stored: Standing, read: list[LogEntry]) -> Counts:
    """What the row of a study with these entries counts: each of them is made again."""
    now = Standing(stored.study, stored.name, Counts(), (), BEGINNING)
    asked, abandoned, holds = set[int](), set[int](), dict[int, Outcome | None]()
    for entry in read:
        number = entry.number
        if entry.kind == ASKED:
            asked.add(number)
            now, _ = now.asks(asked_in(entry), patience=0)
        elif entry.kind == OBSERVED:
            seen = observed_in(entry)
            holds[number] = outcome_of(seen)
            now, _ = now.stores(seen, None, asked=number in asked, abandoned=number in abandoned)
        elif entry.kind == ABANDONED:
            abandoned.add(number)
            now, _ = now.abandons(number)
        elif entry.kind == CORRECTED:
            ordinal, number, after, *said = corrected_in(entry)
            if number not in holds:
                raise entries.damaged(f"correction {ordinal} is of an observation that it does not have")
            now, _ = now.corrects(Correction(ordinal, number, holds[number], after, *said))
            holds[number] = after
    return now.counts

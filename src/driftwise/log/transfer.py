"""Studies from one store into another, for example from a file to a server, as often as it takes.

Each study is written in one transaction, then read back and compared. What was interrupted is simply called again: a
study that is already there is compared and left alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from driftwise.errors import ConflictError, StoreError
from driftwise.log import copies
from driftwise.log.copies import Whole
from driftwise.log.stores import Store
from driftwise.log.study_log import Log


@dataclass(frozen=True)
class Transferred:
    """A study that both stores hold now, with the same digest; `new` if it was not there before."""

    study: str
    new: bool
    suggestions: int
    observations: int
    corrections: int
    digest: str


def transfer(source: Store, target: Store, names: Iterable[str]) -> Iterator[Transferred]:
    """Copy these studies one after the other, under their names."""
    there = set(target.names())
    for name in names:
        log = source.open(name)
        found = log.read(copies.read)
        wanted = digest(log.description, found)
        if name not in there:
            target.adopt(name, log.description, found)
        if _digest_of(target.open(name)) != wanted:
            raise _differs(target, name, was_there=name in there)
        counts = found.standing.counts
        yield Transferred(name, name not in there, counts.asked, counts.told, counts.corrected, wanted)


def digest(description: str, whole: Whole) -> str:
    """SHA-256 of all that a log holds, whatever database holds it. Every float counts to its last bit."""
    found = hashlib.sha256()
    standing = whole.standing
    for part in (description, standing.counts, standing.awaiting, standing.mark, *whole.entries):
        found.update(ascii(part).encode() + b"\n")
    return found.hexdigest()


def _digest_of(log: Log) -> str:
    return digest(log.description, log.read(copies.read))


def _differs(target: Store, name: str, *, was_there: bool) -> Exception:
    if was_there:
        return ConflictError(
            f"{target.where} already has a study {name!r:.80} that differs; rename or delete one of them first"
        )
    return StoreError(
        f"{target.where}: study {name!r:.80} reads back with another digest; somebody may be writing to it"
    )

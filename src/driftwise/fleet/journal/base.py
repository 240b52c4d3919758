"""What a journal is: entries, and snapshots that stand for all the entries before them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class JournalEntry:
    """A kind, and arrays by name."""

    kind: str
    arrays: Arrays = field(default_factory=dict)  # of numbers, truth values, or texts and bytes of a fixed length


class Journal(Protocol):
    """A log with one writer. It is used by one thread at a time, and only by the process that opened it.

    A kill at any moment leaves what was acknowledged. The one call that had not returned is there as a whole, or not at
    all. Arrays that a journal returns are read-only.
    """

    def append(self, *entries: JournalEntry) -> None:
        """Store these entries, all or none. They are on the disk when this returns. After an error none is stored."""
        ...

    def entries(self) -> Iterator[JournalEntry]:
        """The entries after the newest snapshot, oldest first.

        Raises a `StoreError` where one is damaged. Make no snapshot while the iterator is in use.
        """
        ...

    def snapshot(self, arrays: Arrays) -> None:
        """Store arrays that stand for everything before. What they replace is deleted once they are on the disk."""
        ...

    def latest(self) -> Arrays | None:
        """The arrays of the newest snapshot, memory-mapped where that is possible; None if there is no snapshot."""
        ...

    def close(self) -> None:
        """Let others open the journal. Closing twice is harmless."""
        ...

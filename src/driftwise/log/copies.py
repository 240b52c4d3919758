"""A whole log: everything that it holds, read from one place and written to another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import sqlalchemy as sa

from driftwise.log import standing, telling
from driftwise.log.base import BEGINNING
from driftwise.log.entries import LogEntry
from driftwise.log.standing import Standing

if TYPE_CHECKING:
    from driftwise.log.view import View


@dataclass(frozen=True)
class Whole:
    """How a log stands, whatever its name and number, and all its entries."""

    standing: Standing
    entries: Sequence[LogEntry]


def read(view: View) -> Whole:
    """Everything in the log that the transaction sees. Raises a `StoreError` if anything is missing or damaged."""
    return Whole(
        replace(view.standing, study=0, name=""), [LogEntry(*entry) for entry in view.written_after(BEGINNING)]
    )


def write(connection: sa.Connection, study: int, whole: Whole) -> None:
    """Write these contents into a study that is empty and has the same description."""
    telling.insert(connection, [(study, entry) for entry in whole.entries])
    standing.update(connection, [replace(whole.standing, study=study)])

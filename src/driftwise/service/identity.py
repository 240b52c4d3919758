"""Studies by their number, which is never given twice: rows about a study follow it when it is renamed, and no other
study gets them when it is deleted and its name is used again.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from driftwise.errors import NotFoundError, StoreError
from driftwise.log import schema
from driftwise.study import Study


def about_studies(name: str, metadata: sa.MetaData, *columns: sa.Column[Any]) -> sa.Table:
    """A table whose rows are about a study. Its number is the first part of the primary key."""
    return sa.Table(name, metadata, sa.Column("study", schema.Integer, primary_key=True, autoincrement=False), *columns)


def number_in(connection: sa.Connection, name: str) -> int:
    """The number of the study that has this name now."""
    query = sa.select(schema.studies.c.study).where(schema.studies.c.name == name)
    found = connection.execute(query).scalar()
    if found is None:
        raise NotFoundError(f"there is no study {name!r:.80}; create it first, or give another name")
    return int(found)


def named(table: sa.Table) -> sa.Select[tuple[object, ...]]:
    """The rows of a table, each with the name that its study has now. Those of studies that are gone are left out."""
    studies = schema.studies
    return sa.select(studies.c.name, table).join_from(table, studies, table.c.study == studies.c.study)


def forget_gone(connection: sa.Connection, tables: sa.MetaData) -> None:
    """Delete the rows of studies that were deleted."""
    there = sa.select(schema.studies.c.study)
    for table in tables.sorted_tables:
        connection.execute(sa.delete(table).where(table.c.study.not_in(there)))


def check_same(study: Study, number: int) -> Study:
    """The study, unless its name has passed to another one since the number was read."""
    if study.number != number:
        raise StoreError(f"study {study.name!r:.80} is another one by now; try again")
    return study

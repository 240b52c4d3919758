"""The tables: the studies with their counts, one append-only table of the entries of all of them, and one of frames.

An entry is never changed and never deleted, unless its study is deleted as a whole. The database refuses a second one
with the same number or key.
"""

from __future__ import annotations

import sqlalchemy as sa

# What PostgreSQL calls an integer ends at 2³¹.
Integer = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

APPLICATION_ID = 0x64726677  # "drfw": marks a file as ours
VERSION = 1

metadata = sa.MetaData()

studies = sa.Table(
    "studies",
    metadata,
    sa.Column("study", Integer, primary_key=True),  # of a study that was deleted it is not given again
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("last", Integer, nullable=False),
    sa.Column("asked", Integer, nullable=False),
    sa.Column("told", Integer, nullable=False),
    sa.Column("unasked", Integer, nullable=False),
    sa.Column("abandoned", Integer, nullable=False),
    sa.Column("jittered", Integer, nullable=False),
    sa.Column("jitter", sa.Double, nullable=False),
    sa.Column("failed", Integer, nullable=False),
    sa.Column("retracted", Integer, nullable=False),
    sa.Column("corrected", Integer, nullable=False),
    sa.Column("awaiting", sa.Text, nullable=False),  # JSON: ordinal and number of the suggestions that are pending
    sa.Column("seq", Integer, nullable=False),  # of the last entry
    sa.Column("chain", Integer, nullable=False),  # of the last entry
    sa.Column("description", sa.Text, nullable=False),  # last, since it may be long and is seldom read
    sqlite_autoincrement=True,
)

ASKED, OBSERVED, ABANDONED, CORRECTED, DECIDED = range(5)  # kinds of entries

entries = sa.Table(
    "entries",
    metadata,
    sa.Column("study", Integer, sa.ForeignKey(studies.c.study), primary_key=True),
    sa.Column("seq", Integer, primary_key=True, autoincrement=False),  # from 1, in the order in which they were written
    sa.Column("kind", Integer, nullable=False),
    sa.Column(
        "number", Integer, nullable=False
    ),  # of the suggestion or observation; of a correction its ordinal, of a decision `seq`
    sa.Column("key", sa.Text),  # that a user gave
    sa.Column("body", sa.LargeBinary, nullable=False),  # as `entries` writes it
    sa.Column("chain", Integer, nullable=False),  # a checksum of this entry, and one chained over all up to it
    sqlite_with_rowid=False,
)
sa.Index("numbers", entries.c.study, entries.c.kind, entries.c.number, unique=True)
has_key = entries.c.key.is_not(None)
sa.Index(
    "keys",
    entries.c.study,
    entries.c.kind,
    entries.c.key,
    unique=True,
    sqlite_where=has_key,
    postgresql_where=has_key,
)

frames = sa.Table(  # of the journals of fleets, which know what is in them
    "frames",
    metadata,
    sa.Column("journal", sa.Text, primary_key=True),
    sa.Column("number", Integer, primary_key=True, autoincrement=False),  # from 1
    sa.Column("bytes", sa.LargeBinary, nullable=False),
)

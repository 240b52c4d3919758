"""What loops keep in the database of the store."""

from __future__ import annotations

import sqlalchemy as sa

metadata = sa.MetaData()

plans = sa.Table(
    "service_sources",
    metadata,
    sa.Column("study", sa.Text, primary_key=True),
    sa.Column("plan", sa.Text, nullable=False),
    sa.Column("step", sa.BigInteger, nullable=False),  # by which the study is asked: the same step, the same suggestion
    sa.Column("applied", sa.Double),  # when the setting of this step was applied; None: not yet
    sa.Column("problem", sa.Text, nullable=False),  # what holds the loop up, or ""
    sa.Column("owner", sa.Text, nullable=False),  # the process that runs it
    sa.Column("until", sa.Double, nullable=False),  # and how long others leave it alone
)

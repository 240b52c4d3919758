"""What loops keep in the database of the store."""

from __future__ import annotations

import sqlalchemy as sa

from driftwise.service.identity import about_studies

metadata = sa.MetaData()

plans = about_studies(
    "service_sources",
    metadata,
    sa.Column("plan", sa.Text, nullable=False),
    sa.Column("run", sa.Text, nullable=False),  # another one each time that a plan is set
    sa.Column("step", sa.BigInteger, nullable=False),  # with which the study is asked: the same step, the same setting
    sa.Column("applied", sa.Double),  # when the setting of this step was applied; None: not yet
    sa.Column("problem", sa.Text, nullable=False),  # what holds the loop up, or ""
    sa.Column("owner", sa.Text, nullable=False),  # the process that runs it
    sa.Column("until", sa.Double, nullable=False),  # and how long others leave it alone
)

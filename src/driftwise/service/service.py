"""The parts of a running service, and how a route finds them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import sqlalchemy as sa
from fastapi import Request
from prometheus_client import Histogram

from driftwise.service.audit import Audit
from driftwise.service.database import Database
from driftwise.service.limits import Rates, Seats
from driftwise.service.sessions import Sessions
from driftwise.service.settings import ServiceSettings
from driftwise.service.studies import Studies
from driftwise.service.tokens import Tokens

Result = TypeVar("Result")
BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds


@dataclass(frozen=True, eq=False)
class Service:
    """Everything that routes need. There is one for each app."""

    settings: ServiceSettings
    database: Database
    studies: Studies
    tokens: Tokens
    sessions: Sessions
    audit: Audit
    limits: Rates
    streams: Seats
    requests: Histogram

    @classmethod
    def of(cls, settings: ServiceSettings) -> Service:
        database = Database(settings)
        tokens = Tokens(database)
        sessions = Sessions(database, tokens, hours=settings.session_hours)
        audit = Audit(database, days=settings.audit_days)
        studies, seats = Studies(settings, database), Seats(settings.streams)
        # a route is the pattern of a path, never a name that a caller chose
        about, labels = "Time to answer a request.", ("method", "route", "status")
        requests = Histogram("driftwise_request_seconds", about, labels, registry=None, buckets=BOUNDS)
        return cls(settings, database, studies, tokens, sessions, audit, Rates(settings), seats, requests)

    async def read(self, work: Callable[[sa.Connection], Result]) -> Result:
        """What `work` returns, in a transaction of the service's own tables, in a thread."""
        return await self.studies.run(lambda: self.database.read(work))

    async def write(self, work: Callable[[sa.Connection], Result]) -> Result:
        """The same for what writes. It is on the disk when this returns."""
        return await self.studies.run(lambda: self.database.write(work))

    async def execute(self, query: sa.Executable) -> None:
        """Write by one statement."""
        await self.write(lambda connection: connection.execute(query))


def service_of(request: Request) -> Service:
    """The service that answers this request."""
    service: Service = request.app.state.service
    return service

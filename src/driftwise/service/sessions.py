"""Sessions of the dashboard: a token is exchanged for a cookie, so that no script of a page ever holds the token."""

from __future__ import annotations

import hmac
import secrets
import time
from dataclasses import dataclass

import sqlalchemy as sa

from driftwise.service.database import Database, metadata
from driftwise.service.tokens import AccessToken, Tokens, digest_of

table = sa.Table(
    "service_sessions",
    metadata,
    sa.Column("digest", sa.Text, primary_key=True),  # of the cookie's value
    sa.Column("token", sa.Text, nullable=False),
    sa.Column("secret", sa.Text, nullable=False),  # the digest of the token's secret: a session ends when it is rotated
    sa.Column("expires", sa.Double, nullable=False),
)


@dataclass(frozen=True)
class Session:
    """A session: the cookie's value, and the value that a page must send along with every change."""

    cookie: str
    csrf: str
    expires: float


class Sessions:
    """The sessions of a store. A session ends when its token does."""

    def __init__(self, database: Database, tokens: Tokens, *, hours: float) -> None:
        self._database, self._tokens, self._hours = database, tokens, hours

    def create(self, token: AccessToken) -> Session:
        cookie, now = secrets.token_urlsafe(32), time.time()
        expires = min(now + 3600 * self._hours, token.expires or float("inf"))
        row = {
            "digest": digest_of(cookie),
            "token": token.id,
            "secret": self._tokens.digest(token.id),
            "expires": expires,
        }

        def work(connection: sa.Connection) -> None:
            connection.execute(sa.delete(table).where(table.c.expires < now))
            connection.execute(sa.insert(table), row)

        self._database.write(work)
        return Session(cookie, csrf_of(cookie), expires)

    def find(self, cookie: str) -> AccessToken | None:
        """The token of a session that has not ended."""
        query = sa.select(table).where(table.c.digest == digest_of(cookie))
        found = self._database.read(lambda connection: connection.execute(query).first())
        return (
            self._tokens.by_id(found.token, found.secret) if found is not None and time.time() < found.expires else None
        )

    def end(self, cookie: str) -> None:
        query = sa.delete(table).where(table.c.digest == digest_of(cookie))
        self._database.write(lambda connection: connection.execute(query))


def csrf_of(cookie: str) -> str:
    """What proves that a page may read our answers: a page of another site has the cookie sent, but never sees this."""
    return hmac.new(cookie.encode(), b"driftwise csrf", "sha256").hexdigest()

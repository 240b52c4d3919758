"""Tokens: who may do what, with which studies, until when.

A token is `dw_ID_SECRET`. The ID is public and finds the row. Of the secret only the SHA-256 digest is stored. That is
enough here: a slow hash protects passwords, which can be guessed, whereas nobody guesses 256 random bits, however fast
the hash. Digests are compared in constant time.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import re
import secrets
import threading
import time
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from cachetools import TTLCache

from driftwise import checks
from driftwise.errors import InvalidInput, NotFoundError
from driftwise.service.database import Database, metadata

SCOPES = ("read", "tell", "ask", "admin")  # admin includes the others
FRESH = 2.0  # seconds for which a token that was looked up is not looked up again
DAY = 86400.0
ID = 12  # characters of the public part
KEPT = 10_000  # tokens that are known without a look, at most

table = sa.Table(
    "service_tokens",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("before", sa.Text),  # the digest before the last rotation, which holds until `before_until`
    sa.Column("before_until", sa.Double),
    sa.Column("scopes", sa.Text, nullable=False),
    sa.Column("project", sa.Text),
    sa.Column("study", sa.Text),
    sa.Column("made", sa.Double, nullable=False),
    sa.Column("expires", sa.Double),
    sa.Column("revoked", sa.Double),
)


@dataclass(frozen=True)
class AccessToken:
    """A token without its secret. `project` is how the names of its studies begin; `study` is the only one."""

    id: str
    name: str
    scopes: tuple[str, ...]
    project: str | None = None
    study: str | None = None
    made: float = 0.0
    expires: float | None = None
    revoked: float | None = None

    def may(self, scope: str) -> bool:
        return scope in self.scopes or "admin" in self.scopes

    def covers(self, study: str) -> bool:
        """Whether this study is among those that the token is for."""
        return (self.study is None or study == self.study) and study.startswith(self.project or "")

    @property
    def is_for_all(self) -> bool:
        return self.study is None and not self.project

    def holds(self, now: float) -> bool:
        return self.revoked is None and (self.expires is None or now < self.expires)


@dataclass(frozen=True)
class TokenRow:
    """A token as it is stored."""

    token: AccessToken
    digest: str
    before: str | None
    before_until: float | None

    def is_proved_by(self, digest: str, now: float) -> bool:
        """Whether this is the digest of the secret, or of the one before while that holds."""
        is_new = hmac.compare_digest(digest, self.digest)
        is_old = hmac.compare_digest(digest, self.before or "")
        return self.token.holds(now) and (is_new or (is_old and now < (self.before_until or 0.0)))


NOBODY = TokenRow(AccessToken("", "", (), revoked=0.0), "", None, None)


class Tokens:
    """The tokens of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: TTLCache[str, TokenRow | None] = TTLCache(KEPT, FRESH)
        self._any: tuple[float, bool] = (-math.inf, False)
        self._lock = threading.Lock()

    # --- to manage them -----------------------------------------------------------------------------------------

    def create(
        self,
        name: str,
        scopes: tuple[str, ...],
        *,
        project: str | None = None,
        study: str | None = None,
        days: float | None = None,
    ) -> tuple[AccessToken, str]:
        """A new token and its text, which is nowhere else: it cannot be shown again."""
        checks.name("a token's name", name)
        for scope in scopes:
            checks.one_of("scopes", scope, SCOPES)
        if not scopes:
            raise InvalidInput(f"scopes must be some of {', '.join(SCOPES)}, got none")
        for what, value in (("project", project), ("study", study)):
            if value is not None:
                checks.name(f"a token's {what}", value)
        if study is not None and project is not None:
            raise InvalidInput("a token is for a project or for a study, got both; leave one out")
        now = time.time()
        expires = None if days is None else now + DAY * checks.positive("days", days)
        ordered = tuple(scope for scope in SCOPES if scope in scopes)
        token = AccessToken(secrets.token_hex(ID // 2), name, ordered, project, study, now, expires)
        secret = secrets.token_urlsafe(32)
        row = {"digest": digest_of(secret), "scopes": ",".join(ordered)}
        plain = {part: getattr(token, part) for part in ("id", "name", "project", "study", "made", "expires")}
        self._database.write(lambda connection: connection.execute(sa.insert(table), plain | row))
        self._forget()
        return token, f"dw_{token.id}_{secret}"

    def list(self) -> list[AccessToken]:
        query = sa.select(table).order_by(table.c.made, table.c.id)
        return [_row(row).token for row in self._database.read(lambda connection: connection.execute(query).all())]

    def rotate(self, id: str, *, grace_hours: float = 0.0) -> str:
        """The new text of a token. The old one holds for `grace_hours` more."""
        hours = checks.nonnegative("grace_hours", grace_hours)
        secret = secrets.token_urlsafe(32)

        def work(connection: sa.Connection) -> None:
            old = self._standing(connection, id)
            values = {"digest": digest_of(secret), "before": old.digest, "before_until": time.time() + 3600 * hours}
            connection.execute(sa.update(table).where(table.c.id == id).values(values))

        self._database.write(work)
        self._forget()
        return f"dw_{id}_{secret}"

    def revoke(self, id: str) -> None:
        """From now on the token is refused. Its row stays, for the audit."""

        def work(connection: sa.Connection) -> None:
            self._standing(connection, id)
            connection.execute(sa.update(table).where(table.c.id == id).values(revoked=time.time()))

        self._database.write(work)
        self._forget()

    def _standing(self, connection: sa.Connection, id: str) -> TokenRow:
        found = connection.execute(sa.select(table).where(table.c.id == id)).first()
        if found is None or found.revoked is not None:
            raise NotFoundError(f"there is no token {id!r:.80} that holds; `driftwise token list` shows them")
        return _row(found)

    # --- to check them ------------------------------------------------------------------------------------------

    def find(self, text: str) -> AccessToken | None:
        """The token with this text, if it holds."""
        row = self._look_up(_id_of(text)) or NOBODY  # the same work whether there is such a token or not
        given = digest_of(text.removeprefix(f"dw_{_id_of(text)}_"))
        return row.token if row.is_proved_by(given, time.time()) else None

    def by_id(self, id: str, digest: str | None = None) -> AccessToken | None:
        """The token with this id, if it holds, and if its secret still has the digest that it had."""
        row, now = self._look_up(id) or NOBODY, time.time()
        holds = row.token.holds(now) if digest is None else row.is_proved_by(digest, now)
        return row.token if holds else None

    def digest(self, id: str) -> str:
        """The digest of a token's secret."""
        return (self._look_up(id) or NOBODY).digest

    def any(self) -> bool:
        """Whether there is a token that holds. If there is none, whoever reaches the service may do everything."""
        known = self.known_any()
        if known is None:
            now = time.time()
            known = any(token.holds(now) for token in self.list())
            self._any = (time.monotonic(), known)
        return known

    def known_any(self) -> bool | None:
        """The same, without reading the store; None if it would have to be read."""
        when, known = self._any
        return known if time.monotonic() - when <= FRESH else None

    def is_fresh(self, text: str) -> bool:
        """Whether `find` of this text and `any` would answer without reading the store."""
        with self._lock:
            is_known = not _id_of(text) or _id_of(text) in self._known
        return is_known and self.known_any() is not None

    def _look_up(self, id: str) -> TokenRow | None:
        with self._lock:
            if not id or id in self._known:
                return self._known.get(id)
        query = sa.select(table).where(table.c.id == id)
        found = self._database.read(lambda connection: connection.execute(query).first())
        row = None if found is None else _row(found)
        with self._lock:
            self._known[id] = row
        return row

    def _forget(self) -> None:
        with self._lock:
            self._known.clear()
            self._any = (-math.inf, False)


def _id_of(text: str) -> str:
    """The public part of a token's text; empty if it is none.

    >>> _id_of("dw_0123456789ab_secret_part"), _id_of("hello")
    ('0123456789ab', '')
    """
    found = re.match(f"dw_([0-9a-f]{{{ID}}})_", text)
    return found[1] if found else ""


def digest_of(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def _row(row: Any) -> TokenRow:
    scopes = tuple(row.scopes.split(","))
    token = AccessToken(row.id, row.name, scopes, row.project, row.study, row.made, row.expires, row.revoked)
    return TokenRow(token, row.digest, row.before, row.before_until)


EVERYTHING = AccessToken("", "anybody on this machine", SCOPES)  # where there are no tokens

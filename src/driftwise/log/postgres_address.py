"""Where a store on PostgreSQL is: `postgresql://user@host/database?schema=…&patience=…`, with libpq's own options."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import SplitResult, parse_qsl, quote, urlencode, urlsplit, urlunsplit

from driftwise.checks import shown
from driftwise.errors import InvalidInput

SCHEMES = ("postgresql", "postgres")
SCHEMA = "driftwise"  # of PostgreSQL: its tables are apart from all others of the database
PATIENCE = 60.0  # seconds that a call waits for a server that is away
HIDDEN = "***"


@dataclass(frozen=True)
class Address:
    """What a connection needs to know. `url` is for libpq, and `shown` for messages: it has no password."""

    url: str
    shown: str
    schema: str = SCHEMA
    patience: float = PATIENCE


def is_address(path: Any) -> bool:
    """Whether this is no file's path but the address of a server.

    >>> is_address("postgresql://me@host/tuning"), is_address("postgresql.db")
    (True, False)
    """
    return isinstance(path, str) and path.partition("://")[0] in SCHEMES and "://" in path


def without_password(path: str) -> str:
    """A path as it may be printed.

    >>> without_password("postgresql://me:secret@host/tuning"), without_password("a.db")
    ('postgresql://me:***@host/tuning', 'a.db')
    """
    if not is_address(path):
        return path
    return _unsplit(_hidden(_split(path)))


def parsed(path: str) -> Address:
    """The address in what the user gave.

    >>> parsed("postgresql://me@host/tuning?schema=team&connect_timeout=3")
    Address(url='postgresql://me@host/tuning?connect_timeout=3', shown='postgresql://me@host/tuning?schema=team&connect_timeout=3', schema='team', patience=60.0)
    """  # noqa: E501
    parts = _split(path)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    address = Address("", _unsplit(_hidden(parts)))
    if (schema := options.pop("schema", None)) is not None:
        address = replace(address, schema=_schema(schema))
    if (patience := options.pop("patience", None)) is not None:
        address = replace(address, patience=_seconds(patience))
    return replace(address, url=_unsplit(parts._replace(query=_query(options))))


def _split(path: str) -> SplitResult:
    try:
        parts = urlsplit(path)
    except ValueError as error:
        raise InvalidInput(f"path must be like postgresql://user@host/database, got {shown(path)}: {error}") from None
    if any(ord(letter) < 32 for letter in path):
        raise InvalidInput(f"path must be like postgresql://user@host/database, got {shown(path)}")
    return parts


def _hidden(parts: SplitResult) -> SplitResult:
    """Without the password, which may be given in two places."""
    user, at, host = parts.netloc.rpartition("@")
    name, colon, _ = user.partition(":")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    if "password" in options:
        options["password"] = HIDDEN
    netloc = f"{name}{colon}{HIDDEN if colon else ''}{at}{host}"
    return parts._replace(netloc=netloc, query=_query(options) if options else parts.query)


def _unsplit(parts: SplitResult) -> str:
    """Unlike urlunsplit it keeps the slashes where there is no host, as with a socket."""
    return f"{parts.scheme}://{parts.netloc}{urlunsplit(('', '', *parts[2:]))}"


def _query(options: dict[str, str]) -> str:
    return urlencode(options, quote_via=quote, safe="/*,:")  # libpq reads "+" as itself


def _schema(name: str) -> str:
    if not re.fullmatch("[a-z_][a-z0-9_]{0,62}", name):
        raise InvalidInput(
            f"schema must be 1 to 63 of the characters a-z, 0-9 and _, and begin with no digit, got {shown(name)}"
        )
    return name


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 86_400:
        raise InvalidInput(f"patience must be a number of seconds from 0 to 86400, got {shown(text)}")
    return seconds

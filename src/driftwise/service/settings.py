"""What is served, where, and within which limits."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.log.postgres_address import is_address, without_password
from driftwise.study import remote


@dataclass(frozen=True)
class ServiceSettings:
    """The settings of a service. Every limit has a default that a small team need not change."""

    store: str = "driftwise.db"  # a file, or postgresql://...
    host: str = "127.0.0.1"
    port: int = 8321
    certificate: str | None = None  # files for TLS; a proxy may do it instead
    certificate_key: str | None = None
    hosts: tuple[str, ...] = ()  # further names by which the service may be addressed; any if it needs tokens
    proxies: str = ""  # addresses whose X-Forwarded-* headers are believed, separated by commas
    allow_imports: tuple[str, ...] = ()  # packages from which studies may import policies of your own

    fleets: str | None = None  # a folder with fleets, or postgresql://..., that are served, too
    apply_folder: str | None = None  # into which settings may be written as files, if a study's source says so

    threads: int = 8  # calls that read and write the store at the same time
    workers: int = 0  # processes in which policies choose; 0: threads of this one
    studies: int = 256  # that are kept open, in each process
    body_bytes: int = 1_000_000  # of a request
    import_bytes: int = 1_000_000_000  # of a stream that is imported
    line_bytes: int = 100_000  # of a row of it
    requests_per_second: float = 500.0  # of one caller, on average
    burst: int = 1000  # requests that may come at once
    seconds: float = 60.0  # for which a call may take
    idle_seconds: float = 15.0  # for which a client may be silent in the middle of a request
    streams: int = 2000  # of events at the same time
    grace_seconds: float = 20.0  # to finish what was begun when the service is stopped
    poll_seconds: float = 0.5  # between two looks for what others wrote into the store
    session_hours: float = 12.0
    audit_days: int = 400  # for which entries of the audit are kept

    def __post_init__(self) -> None:
        remote.no_address(self.store, "a service")
        for name in ("store", "host"):
            checks.name(name, getattr(self, name))
        checks.count("port", self.port, least=0, most=65535)
        for name in ("threads", "studies", "body_bytes", "import_bytes", "line_bytes", "burst", "streams"):
            checks.count(name, getattr(self, name))
        checks.count("workers", self.workers, least=0, most=256)
        checks.count("audit_days", self.audit_days)
        for name in ("requests_per_second", "seconds", "idle_seconds", "poll_seconds", "session_hours"):
            checks.positive(name, getattr(self, name))
        checks.nonnegative("grace_seconds", self.grace_seconds)
        if self.fleets is not None and not is_address(self.fleets) and not Path(self.fleets).is_dir():
            raise InvalidInput(f"fleets must be a folder that exists or postgresql://..., got {self.fleets!r:.80}")
        if self.apply_folder is not None and not Path(self.apply_folder).is_dir():
            raise InvalidInput(f"apply_folder must be a folder that exists, got {self.apply_folder!r:.80}")
        if (self.certificate is None) != (self.certificate_key is None):
            raise InvalidInput("certificate and certificate_key must be given together; each is the path of a PEM file")

    @property
    def is_local(self) -> bool:
        """Whether only programs of this machine can reach the service."""
        return is_loopback(self.host)

    @property
    def is_postgres(self) -> bool:
        return is_address(self.store)

    @property
    def shown(self) -> str:
        """The store without a password."""
        return without_password(self.store)

    def scrubbed(self, text: str) -> str:
        """A text without the store's address, which may contain a password, and the paths of the machine."""
        stores = [self.store] if self.fleets is None else [self.store, self.fleets]
        secrets = {form for each in stores for form in (each, without_password(each), os.path.abspath(each))}
        for secret in sorted(secrets, key=len, reverse=True):
            text = text.replace(secret, "the store")
        return text


@lru_cache(maxsize=1000)
def is_loopback(host: str) -> bool:
    """Whether a host is this machine itself.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0"), is_loopback("example.org")
    (True, True, False, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

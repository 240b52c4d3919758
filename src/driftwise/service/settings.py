"""What is served, where, and within which limits."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.log.postgres_address import is_address, without_password
from driftwise.study import remote


def _setting(default: Any, help: str, option: str = "") -> Any:
    """A field, which `driftwise serve` takes as `--name`, or as another option, and from DRIFTWISE_NAME."""
    return field(default=default, metadata={"help": help, "option": option})


@dataclass(frozen=True)
class ServiceSettings:
    """The settings of a service. Every limit has a default that a small team need not change."""

    store: str = _setting("driftwise.db", "The file of the studies, or postgresql://USER@HOST/DATABASE.", "path")
    host: str = _setting("127.0.0.1", "The address to listen on. Beyond this machine, tokens are needed.")
    port: int = _setting(8321, "The port to listen on.")
    certificate: str | None = _setting(None, "A PEM file with the certificate, for HTTPS.")
    certificate_key: str | None = _setting(None, "A PEM file with its key.")
    hosts: tuple[str, ...] = _setting((), "A further name of this machine, while there is no token.", "allow-host")
    proxies: str = _setting("", "Comma-separated addresses of trusted proxies, which send X-Forwarded headers.")
    allow_imports: tuple[str, ...] = _setting((), "A package of which studies may import policies.", "allow-import")
    fleets: str | None = _setting(None, "A folder with fleets, or postgresql://USER@HOST/DATABASE, to be served, too.")
    apply_folder: str | None = _setting(None, "The folder into which the loops of studies may write their settings.")

    workers: int = _setting(0, "Processes in which policies choose; 0 chooses in threads.")
    threads: int = _setting(8, "Threads for reading and writing, and as many in which policies choose.")
    studies: int = _setting(256, "Studies that are kept open in each process.")
    seconds: float = _setting(60.0, "Seconds that a call may take, with what it waits for.")
    idle_seconds: float = _setting(15.0, "Seconds for which a client may be silent in the middle of a request.")
    body_seconds: float = _setting(60.0, "Seconds in which the body of a request must arrive, unless it is an import.")
    grace_seconds: float = _setting(20.0, "Seconds to finish what was begun when the service is stopped.")
    poll_seconds: float = _setting(0.5, "Seconds between two looks for what others wrote, while anybody follows.")
    requests_per_second: float = _setting(500.0, "What one caller may send on average.")
    burst: int = _setting(1000, "Requests that one caller may send at once.")
    streams: int = _setting(2000, "Streams of events at the same time.")
    body_bytes: int = _setting(1_000_000, "Bytes of a request.")
    import_bytes: int = _setting(1_000_000_000, "Bytes of a log that is imported.")
    line_bytes: int = _setting(100_000, "Bytes of a line of it.")
    session_hours: float = _setting(12.0, "Hours after which who signed in to the dashboard must sign in again.")
    audit_days: int = _setting(400, "Days for which entries of the audit are kept.")

    def __post_init__(self) -> None:
        remote.no_address(self.store, "a service")
        for name in ("store", "host"):
            checks.name(name, getattr(self, name))
        checks.count("port", self.port, least=0, most=65535)
        for name in ("threads", "studies", "body_bytes", "import_bytes", "line_bytes", "burst", "streams"):
            checks.count(name, getattr(self, name))
        checks.count("workers", self.workers, least=0, most=256)
        checks.count("audit_days", self.audit_days)
        for name in ("requests_per_second", "seconds", "idle_seconds", "body_seconds", "poll_seconds", "session_hours"):
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

"""How settings are applied to a system that runs, and where its reward comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from driftwise import checks
from driftwise.errors import InvalidInput

WEEK = 7 * 86400.0  # seconds
WAYS = ("webhook", "file", "flag")


@dataclass(frozen=True)
class LivePlan:
    """Apply a setting, wait `settle_seconds`, and average the PromQL `query` over `average_seconds`.

    A setting is applied by a POST to the webhook `target`, by writing the file `target` in the folder that the service
    was started with, or as flags. No data within the average is a failure of the setting, never a zero.
    """

    prometheus: str  # its address
    query: str
    apply: str = "flag"
    target: str = ""
    settle_seconds: float = 30.0
    average_seconds: float = 60.0

    def __post_init__(self) -> None:
        checks.settle(
            self,
            query=checks.text,
            apply=lambda name, value: checks.one_of(name, value, WAYS),
            settle_seconds=_at_most_a_week,
            average_seconds=_at_most_a_week,
        )
        _address("prometheus", self.prometheus)
        if self.apply == "webhook":
            _address("target", self.target)
        elif self.apply == "file" and not _is_plain(self.target):
            raise InvalidInput(f"target must be the plain name of a file, got {self.target!r:.80}; use web.json")
        if not self.query.strip():
            raise InvalidInput("query must be PromQL, got nothing; for example rate(requests_total[1m])")
        if self.average_seconds == 0:
            raise InvalidInput("average_seconds must be > 0, got 0; an average needs a while")

    @property
    def seconds(self) -> float:
        """What a step takes."""
        return self.settle_seconds + self.average_seconds


def _at_most_a_week(name: str, value: Any) -> float:
    if (found := checks.nonnegative(name, value)) > WEEK:
        raise InvalidInput(f"{name} must be at most 7 days ({WEEK:.0f} s), got {value!r}")
    return found


def _is_plain(name: str) -> bool:
    """Whether a name stays in its folder."""
    return bool(name) and not name.startswith(".") and not {"/", "\\", "\0"} & set(name)


def _address(name: str, value: Any) -> None:
    try:
        parts = urlsplit(value) if isinstance(value, str) and value.isprintable() and " " not in value else None
        usable = parts is not None and parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # brackets that do not match, or a port that is none
        usable = False
    if not usable:
        raise InvalidInput(f"{name} must be an address as http://127.0.0.1:9090, got {checks.shown(value)}")


def origin(address: str) -> str:
    """Where an address leads, without what may be secret: a password, a path or a query.

    >>> origin("https://me:secret@hooks.example:8443/T0/B1?key=2")
    'https://hooks.example:8443'
    """
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"

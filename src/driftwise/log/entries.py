"""Entries of a log as rows: their bodies as bytes, and the checksum that chains each to the one before it.

The body of a suggestion or an observation has a version, the number of coordinates, two numbers (the time, and the
jitter or the reward), the coordinates, and if there is more to say JSON. Numbers are float64, little-endian. The body
of a correction or a decision is JSON.

The upper half of `chain` is a checksum of the entry itself, so that a damaged one is noticed whenever it is read. The
lower half is chained over all entries up to it and begins with the study's description, so that a missing, moved or
exchanged one is noticed when a study is read from its start.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from driftwise.errors import StoreError
from driftwise.log.base import Asked, Correction, Decided, Mark, Outcome, observation_of
from driftwise.log.schema import CORRECTED
from driftwise.records import Observation, Point, Serving

ADVICE = "restore it from a copy, or see what is damaged with: driftwise study check"


VERSION = 1
_HEAD = struct.Struct("<BI")
_NUMBERS = cache(lambda dim: struct.Struct(f"<{2 + dim}d"))  # what follows the head
_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


class LogEntry(NamedTuple):
    """A row of the table `entries`, without its study."""

    seq: int
    kind: int
    number: int
    key: str | None
    body: bytes
    chain: int


def start(description: str) -> Mark:
    """The mark of a log without entries."""
    return Mark(0, zlib.crc32(description.encode("utf-8", "surrogatepass")))


def after(mark: Mark, kind: int, number: int, key: str | None, body: bytes) -> LogEntry:
    """The entry that comes after a mark."""
    own = _own(mark.seq + 1, kind, number, key, body)
    return LogEntry(mark.seq + 1, kind, number, key, body, _chained(mark.chain, own))


def mark_of(entry: LogEntry) -> Mark:
    """The mark after an entry."""
    return Mark(entry.seq, entry.chain)


def _own(seq: int, kind: int, number: int, key: str | None, body: bytes) -> int:
    # ASCII, so that a key is the same bytes in every database
    return zlib.crc32(body, zlib.crc32(f"{seq} {kind} {number} {key if key is None else ascii(key)}".encode()))


def _chained(before: int, own: int) -> int:
    link = zlib.crc32(own.to_bytes(4, "big"), before & 0xFFFFFFFF)
    return (own - 0x80000000 << 32) + link  # within 64 bits with a sign


def intact(entry: LogEntry) -> LogEntry:
    """The entry, unless it is damaged: then a `StoreError`."""
    if (entry[5] >> 32) + 2**31 != _own(*entry[:5]):
        raise damaged(f"entry {entry.seq} does not match its checksum")
    return entry


def check_chain(before: Mark, entries: Iterable[LogEntry]) -> Mark:
    """The mark after these entries. Raises a `StoreError` unless they are intact and continue the mark before them."""
    seq, link = before.seq, before.chain
    for found, kind, number, key, body, chain in entries:  # a study is opened as fast as this loop runs
        seq += 1
        if found != seq:
            raise damaged(f"entry {seq} is missing")
        own = _own(seq, kind, number, key, body)
        link = _chained(link, own)
        if chain != link:
            is_own = (chain >> 32) + 2**31 == own
            what = "does not continue the one before it" if is_own else "does not match its checksum"
            raise damaged(f"entry {seq} {what}")
    return Mark(seq, link)


def damaged(what: str) -> StoreError:
    """The error for a store whose contents contradict each other."""
    return StoreError(f"the study file is damaged: {what}; {ADVICE}")


# --- bodies -----------------------------------------------------------------------------------------------------------


def _packed(at: float, value: float, x: Point, more: Mapping[str, Any]) -> bytes:
    body = _HEAD.pack(VERSION, len(x)) + _NUMBERS(len(x)).pack(at, value, *x)
    return body + _ENCODER.encode(more).encode() if more else body


def _unpacked(body: bytes) -> tuple[float, float, Point, dict[str, Any] | None]:
    version, dim = _HEAD.unpack_from(body)
    if version != VERSION:
        raise damaged(f"an entry has version {version}, and this driftwise reads version {VERSION}")
    numbers = _NUMBERS(dim)
    at, value, *x = numbers.unpack_from(body, _HEAD.size)
    end = _HEAD.size + numbers.size
    return at, value, tuple(x), json.loads(body[end:]) if len(body) > end else None


def asked_body(asked: Asked, batch: int | None) -> bytes:
    """A suggestion; `batch` says of the first of several that were made together how many."""
    more: dict[str, Any] = {"id": asked.id} if batch is None else {"id": asked.id, "batch": batch}
    if asked.serving is not None:
        more["live"] = asked.serving
    return _packed(asked.at, asked.jitter, asked.x, more)


def asked_in(entry: LogEntry) -> Asked:
    """The suggestion of an entry."""
    at, jitter, x, more = _unpacked(entry.body)
    assert more is not None
    key, serving = more["id"] if entry.key is None else entry.key, more.get("live")
    return Asked(entry.number, more["id"], key, at, x, jitter, serving and Serving(*serving))


def batch_in(entry: LogEntry) -> int:
    """How many suggestions were made together with this one, the first of them."""
    return int((_unpacked(entry.body)[3] or {}).get("batch", 1))


def observed_body(seen: Observation) -> bytes:
    more = _details(seen)
    return _packed(seen.at, 0.0 if seen.failed else seen.y + 0.0, seen.x, more)  # −0 becomes 0


def observed_in(entry: LogEntry) -> Observation:
    """The observation of an entry, as it was told."""
    at, y, x, more = _unpacked(entry.body)
    return (
        Observation(entry.number, at, x, y) if more is None else observation_of(entry.number, at, x, _outcome(y, more))
    )


def corrected_body(made: Correction) -> bytes:
    after = made.after
    said = None if after is None else {"y": 0.0 if after.failed else after.y + 0.0, **_details(after)}
    body = {"of": made.number, "outcome": said, "who": made.who, "when": made.when, "why": made.why}
    return _ENCODER.encode(body).encode()


class Corrected(NamedTuple):
    """What an entry says that corrects an observation; an outcome of None retracts it."""

    ordinal: int
    number: int
    outcome: Outcome | None
    who: str
    when: str
    why: str


def corrected_in(entry: LogEntry) -> Corrected:
    body = json.loads(entry.body)
    said = body["outcome"]
    outcome = None if said is None else _outcome(said.pop("y"), said)
    return Corrected(entry.number, body["of"], outcome, body["who"], body["when"], body["why"])


def decided_body(made: Decided) -> bytes:
    return _ENCODER.encode({"after": made.number, "said": made.said}).encode()


def decided_in(entry: LogEntry) -> Decided:
    body = json.loads(entry.body)
    return Decided(body["after"], body["said"])


def corrected_numbers(entries: Iterable[LogEntry]) -> list[int]:
    """The numbers of the observations that these entries correct."""
    return [corrected_in(each).number for each in entries if each.kind == CORRECTED]


def _details(outcome: Outcome | Observation) -> dict[str, Any]:
    """What an outcome has besides its reward. Most have nothing."""
    if outcome.std is None and outcome.repeats == 1 and not outcome.measures and not outcome.failed:
        return {}
    details: dict[str, Any] = {
        "std": outcome.std,
        "repeats": outcome.repeats if outcome.repeats != 1 else None,
        "measures": outcome.measures or None,
        "failed": outcome.failed or None,
    }
    return {name: value for name, value in details.items() if value is not None}


def _outcome(y: float, details: Mapping[str, Any]) -> Outcome:
    measures = tuple((name, value) for name, value in details.get("measures", ()))
    return Outcome(y, details.get("std"), details.get("repeats", 1), measures, details.get("failed", False))

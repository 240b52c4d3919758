"""Entries of a log as rows: their bodies as JSON, and the checksum that chains each to the one before it.

The upper half of `chain` is a checksum of the entry itself, so that a damaged one is noticed whenever it is read. The
lower half is chained over all entries up to it and begins with the study's description, so that a missing, moved or
exchanged one is noticed when a study is read from its start.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from driftwise.errors import StoreError
from driftwise.log.base import Asked, Correction, Mark, Outcome, observation_of
from driftwise.log.schema import CORRECTED
from driftwise.records import Observation

ADVICE = "restore it from a copy, or see what is damaged with: driftwise study check"


# ASCII, so that a text is the same bytes in every database
_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


class LogEntry(NamedTuple):
    """A row of the table `entries`, without its study."""

    seq: int
    kind: int
    number: int
    key: str | None
    body: str
    chain: int


def start(description: str) -> Mark:
    """The mark of a log without entries."""
    return Mark(0, zlib.crc32(description.encode("utf-8", "surrogatepass")))


def after(mark: Mark, kind: int, number: int, key: str | None, body: Mapping[str, Any]) -> LogEntry:
    """The entry that comes after a mark."""
    text = _ENCODER.encode(body)
    own = _own(mark.seq + 1, kind, number, key, text)
    return LogEntry(mark.seq + 1, kind, number, key, text, _chained(mark.chain, own))


def mark_of(entry: LogEntry) -> Mark:
    """The mark after an entry."""
    return Mark(entry.seq, entry.chain)


def _own(seq: int, kind: int, number: int, key: str | None, body: str) -> int:
    return zlib.crc32(f"{seq} {kind} {number} {key!a} {body}".encode("utf-8", "replace"))


def _chained(before: int, own: int) -> int:
    link = zlib.crc32(own.to_bytes(4, "big"), before & 0xFFFFFFFF)
    return (own - 2**31) * 2**32 + link  # within 64 bits with a sign


def intact(entry: LogEntry) -> LogEntry:
    """The entry, unless it is damaged: then a `StoreError`."""
    seq, kind, number, key, body, chain = entry
    if (chain >> 32) + 2**31 != _own(seq, kind, number, key, body):
        raise damaged(f"entry {seq} does not match its checksum")
    return entry


def check_chain(before: Mark, entries: Iterable[LogEntry]) -> Mark:
    """The mark after these entries. Raises a `StoreError` unless they are intact and continue the mark before them."""
    seq, link = before.seq, before.chain
    for entry in entries:
        seq += 1
        if entry.seq != seq:
            raise damaged(f"entry {seq} is missing")
        intact(entry)
        link = _chained(link, (entry.chain >> 32) + 2**31)
        if entry.chain != link:
            raise damaged(f"entry {seq} does not continue the one before it")
    return Mark(seq, link)


def damaged(what: str) -> StoreError:
    """The error for a store whose contents contradict each other."""
    return StoreError(f"the study file is damaged: {what}; {ADVICE}")


# --- bodies -----------------------------------------------------------------------------------------------------------


def asked_body(asked: Asked, batch: int | None) -> dict[str, Any]:
    """A suggestion; `batch` says of the first of several that were made together how many."""
    body: dict[str, Any] = {"id": asked.id, "at": asked.at, "x": asked.x}
    if asked.jitter:
        body["jitter"] = asked.jitter
    return body if batch is None else body | {"batch": batch}


def asked_in(entry: LogEntry) -> Asked:
    """The suggestion of an intact entry."""
    body = json.loads(intact(entry).body)
    key = body["id"] if entry.key is None else entry.key
    return Asked(entry.number, body["id"], key, body["at"], tuple(body["x"]), body.get("jitter", 0.0))


def batch_in(entry: LogEntry) -> int:
    """How many suggestions were made together with this one, the first of them."""
    return int(json.loads(entry.body).get("batch", 1))


def observed_body(seen: Observation) -> dict[str, Any]:
    return {"at": seen.at, "x": seen.x, **_outcome_body(seen)}


def observed_in(entry: LogEntry) -> Observation:
    """The observation of an intact entry, as it was told."""
    body = json.loads(intact(entry).body)
    if len(body) == 3 and "y" in body:  # most are so
        return Observation(entry.number, body["at"], tuple(body["x"]), body["y"])
    return observation_of(entry.number, body.pop("at"), tuple(body.pop("x")), _outcome_in(body))


def corrected_body(made: Correction) -> dict[str, Any]:
    after = None if made.after is None else _outcome_body(made.after)
    return {"of": made.number, "outcome": after, "who": made.who, "when": made.when, "why": made.why}


class Corrected(NamedTuple):
    """What an entry says that corrects an observation; an outcome of None retracts it."""

    ordinal: int
    number: int
    outcome: Outcome | None
    who: str
    when: str
    why: str


def corrected_in(entry: LogEntry) -> Corrected:
    body = json.loads(intact(entry).body)
    outcome = None if body["outcome"] is None else _outcome_in(body["outcome"])
    return Corrected(entry.number, body["of"], outcome, body["who"], body["when"], body["why"])


def corrected_numbers(entries: Iterable[LogEntry]) -> list[int]:
    """The numbers of the observations that these entries correct."""
    return [corrected_in(each).number for each in entries if each.kind == CORRECTED]


def _outcome_body(outcome: Outcome | Observation) -> dict[str, Any]:
    """The reward, and what an outcome has besides it."""
    if outcome.failed:
        body: dict[str, Any] = {"failed": True}
    else:
        body = {"y": outcome.y + 0.0}  # −0 becomes 0
    if outcome.std is not None:
        body["std"] = outcome.std
    if outcome.repeats != 1:
        body["repeats"] = outcome.repeats
    if outcome.measures:
        body["measures"] = outcome.measures
    return body


def _outcome_in(body: dict[str, Any]) -> Outcome:
    measures = tuple((name, value) for name, value in body.get("measures", ()))
    failed = body.get("failed", False)
    return Outcome(body.get("y", 0.0), body.get("std"), body.get("repeats", 1), measures, failed)

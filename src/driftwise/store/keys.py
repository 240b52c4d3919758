"""The keys that users gave: a sorted list in which each row names the next key.

The row before the position of a missing key names the key after it, which proves that the key does not exist. If a
damaged index could hide a key, its suggestion or reward would be stored a second time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from driftwise.store import schema
from driftwise.store.checksums import checksum, damaged
from driftwise.store.many import batched
from driftwise.store.rows import Standing

_K = schema.keys.c
_UP_TO = (
    sa.select(schema.keys)
    .where(_K.study == sa.bindparam("s"), _K.kind == sa.bindparam("kind"), _K.key <= sa.bindparam("k"))
    .order_by(_K.key.desc())
    .limit(1)
)
_AMONG = sa.select(schema.keys).where(
    _K.study == sa.bindparam("s"), _K.kind == sa.bindparam("kind"), _K.key.in_(sa.bindparam("keys", expanding=True))
)
_INSERT = sa.insert(schema.keys)
_LINK = (
    sa.update(schema.keys)
    .where(_K.study == sa.bindparam("s"), _K.kind == sa.bindparam("of"), _K.key == sa.bindparam("k"))
    .values(next=sa.bindparam("then"), checksum=sa.bindparam("check"))
)
FIRST = ""  # before all keys, which are never empty


def find(connection: sa.Connection, standing: Standing, kind: int, key: str) -> int | None:
    """The number that has this key, or None."""
    before = _up_to(connection, standing, kind, key)
    return before.number if before is not None and before.key == key else None


def insert(connection: sa.Connection, standing: Standing, kind: int, key: str, number: int) -> Standing:
    """Assign to `number` a key that is not in use."""
    before = _up_to(connection, standing, kind, key)
    after = before.next if before is not None else None
    if before is None:
        connection.execute(_INSERT, _row(standing.study, kind, FIRST, 0, key))
    else:
        connection.execute(_LINK, _link(before, key))
    connection.execute(_INSERT, _row(standing.study, kind, key, number, after))
    return replace(standing, keyed=standing.keyed + 1)


@dataclass(frozen=True)
class Gap:
    """Keys that do not exist, which the row before their place proves; None if there is no key of this kind."""

    before: Any
    keys: list[str]


def find_all(
    connection: sa.Connection, standing: Standing, kind: int, wanted: Collection[str]
) -> tuple[dict[str, int], list[Gap]]:
    """The numbers of those of these keys that exist, and the gaps where the others belong."""
    found: dict[str, int] = {}
    for keys in batched(sorted(wanted)):
        query = {"s": standing.study, "kind": kind, "keys": keys}
        for row in connection.execute(_AMONG, query) if standing.keyed else ():
            _check(row, standing, kind)
            found[row.key] = row.number
    gaps: list[Gap] = []
    for key in sorted(wanted - found.keys()):
        if not gaps or not _is_between(gaps[-1].before, key):
            gaps.append(Gap(_up_to(connection, standing, kind, key), []))
            if gaps[-1].before is not None and gaps[-1].before.key == key:
                raise damaged(f"key {key!r:.40} is and is not there")
        gaps[-1].keys.append(key)
    return found, gaps


def insert_more(
    connection: sa.Connection, standing: Standing, kind: int, gaps: Sequence[Gap], numbers: Mapping[str, int]
) -> Standing:
    """Assign to these numbers the keys of the gaps. Those that go into one gap are linked with each other."""
    made: list[dict[str, Any]] = []
    links: list[dict[str, Any]] = []
    for gap in gaps:
        if gap.before is None:
            made.append(_row(standing.study, kind, FIRST, 0, gap.keys[0]))
        else:
            links.append(_link(gap.before, gap.keys[0]))
        after = gap.before.next if gap.before is not None else None
        made += [_row(standing.study, kind, *each) for each in _linked(gap.keys, numbers, after)]
    for statement, batch in ((_LINK, links), (_INSERT, made)):
        if batch:
            connection.execute(statement, batch)
    return replace(standing, keyed=standing.keyed + len(numbers))


def _linked(
    keys: Sequence[str], numbers: Mapping[str, int], after: str | None
) -> Iterator[tuple[str, int, str | None]]:
    """These keys in a list that goes on with `after`."""
    for key, then in zip(keys, [*keys[1:], after], strict=True):
        yield key, numbers[key], then


def insert_all(connection: sa.Connection, study: int, keyed: Sequence[tuple[int, str, int]]) -> None:
    """Insert all the keys (kind, key, number) of a study that has none yet."""
    for kind in (schema.ASKED, schema.OBSERVED):
        numbers = {key: number for of, key, number in keyed if of == kind}
        if numbers:
            listed = _linked([FIRST, *sorted(numbers)], {FIRST: 0, **numbers}, None)
            connection.execute(_INSERT, [_row(study, kind, *each) for each in listed])


def _link(before: Any, key: str) -> dict[str, Any]:
    """From now on `key` comes after the row `before`."""
    check = checksum(before.study, before.kind, before.key, before.number, key)
    return {"s": before.study, "of": before.kind, "k": before.key, "then": key, "check": check}


def _is_between(before: Any, key: str) -> bool:
    """Whether this row proves that `key` does not exist."""
    return before is None or bool(before.key < key and (before.next is None or key < before.next))


def _row(study: int, kind: int, key: str, number: int, after: str | None) -> dict[str, Any]:
    check = checksum(study, kind, key, number, after)
    return {"study": study, "kind": kind, "key": key, "number": number, "next": after, "checksum": check}


def is_whole(row: Any) -> bool:
    """Whether a row matches its checksum."""
    return bool(row.checksum == checksum(row.study, row.kind, row.key, row.number, row.next))


def _up_to(connection: sa.Connection, standing: Standing, kind: int, key: str) -> Any:
    """The row of `key`, or the one before its position; None if there is no key of this kind."""
    row = connection.execute(_UP_TO, {"s": standing.study, "kind": kind, "k": key}).first()
    if row is None:
        others = connection.scalar(_COUNT_KEYS, {"s": standing.study}) if standing.keyed else 0
        if others != standing.keyed:
            raise damaged("the list of keys is not complete")
        return None
    _check(row, standing, kind)
    if row.key > key or (row.key != key and row.next is not None and row.next <= key):
        raise damaged("the list of keys is not complete")
    return row


def _check(row: Any, standing: Standing, kind: int) -> None:
    if not is_whole(row):
        raise damaged(f"key {row.key!r:.40} does not match its checksum")
    if (row.study, row.kind) != (standing.study, kind):
        raise damaged("the list of keys is not complete")


_COUNT_KEYS = sa.select(sa.func.count()).where(_K.study == sa.bindparam("s"), _K.key != FIRST)

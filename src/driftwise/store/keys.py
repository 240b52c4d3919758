"""The keys that users gave: a sorted list in which each row names the next key.

The row before the position of a missing key names the key after it, which proves that the key does not exist. If a
damaged index could hide a key, its suggestion or reward would be stored a second time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from driftwise.store import schema
from driftwise.store.checksums import checksum, damaged
from driftwise.store.rows import Standing

_K = schema.keys.c
_UP_TO = (
    sa.select(schema.keys)
    .where(_K.study == sa.bindparam("s"), _K.kind == sa.bindparam("kind"), _K.key <= sa.bindparam("k"))
    .order_by(_K.key.desc())
    .limit(1)
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
        _link(connection, before, key)
    connection.execute(_INSERT, _row(standing.study, kind, key, number, after))
    return replace(standing, keyed=standing.keyed + 1)


def find_all(connection: sa.Connection, standing: Standing, kind: int, wanted: Collection[str]) -> dict[str, int]:
    """The numbers of those of these keys that exist."""
    found: dict[str, int] = {}
    before = None
    for key in sorted(wanted):
        if before is None or not _is_between(before, key):
            before = _up_to(connection, standing, kind, key)
            if before is None:
                return {}  # there is no key at all
            if before.key == key:
                found[key] = before.number
    return found


def insert_more(connection: sa.Connection, standing: Standing, kind: int, numbers: Mapping[str, int]) -> None:
    """Assign many keys that are not in use. Those that go into one gap are linked with each other."""
    new = sorted(numbers)
    made: list[dict[str, Any]] = []
    start = 0
    while start < len(new):
        before = _up_to(connection, standing, kind, new[start])
        end = start + 1
        while end < len(new) and (before is None or _is_between(before, new[end])):
            end += 1
        gap = new[start:end]
        if before is None:
            made.append(_row(standing.study, kind, FIRST, 0, gap[0]))
        else:
            _link(connection, before, gap[0])
        after = before.next if before is not None else None
        made += [_row(standing.study, kind, *pair) for pair in _linked(gap, numbers, after)]
        start = end
    if made:
        connection.execute(_INSERT, made)


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


def _link(connection: sa.Connection, before: Any, key: str) -> None:
    """From now on `key` comes after the row `before`."""
    check = checksum(before.study, before.kind, before.key, before.number, key)
    connection.execute(_LINK, {"s": before.study, "of": before.kind, "k": before.key, "then": key, "check": check})


def _is_between(before: Any, key: str) -> bool:
    """Whether this row proves that `key` does not exist."""
    return bool(before.key < key and (before.next is None or key < before.next))


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
    if not is_whole(row):
        raise damaged(f"key {row.key!r:.40} does not match its checksum")
    misplaced = (row.study, row.kind) != (standing.study, kind) or row.key > key
    if misplaced or (row.key != key and row.next is not None and row.next <= key):
        raise damaged("the list of keys is not complete")
    return row


_COUNT_KEYS = sa.select(sa.func.count()).where(_K.study == sa.bindparam("s"), _K.key != FIRST)

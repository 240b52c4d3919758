"""A fleet behind a stream of lines: keys and rewards come in as JSON lines or CSV, and a record for each goes out.

A line with a key asks for a suggestion, and one with an id and a reward tells it. All the lines that are there at the
same time are one batch, in which rewards count before suggestions are made.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BufferedIOBase
from typing import Any

import numpy as np

from driftwise import checks
from driftwise.errors import ConflictError, InvalidInput, NotFoundError
from driftwise.fleet.fleet import Fleet
from driftwise.fleet.shard import Key, Outcomes, check_key

AT_ONCE = 1 << 18  # bytes that are read at once
LONGEST = 1 << 20  # bytes of a line
Reply = dict[str, Any]


def batches(source: BufferedIOBase, most: int) -> Iterator[list[bytes]]:
    """Whole lines as they come: all that are there, `most` at the most."""
    rest = b""
    while data := source.read1(AT_ONCE):
        *lines, rest = (rest + data).split(b"\n")
        if len(rest) > LONGEST:
            raise InvalidInput(f"a line must have at most {LONGEST:,} bytes, got one with more")
        for first in range(0, len(lines), most):
            yield lines[first : first + most]
    if rest:
        yield [rest]


@dataclass(frozen=True)
class AskLine:
    """A line that wants a suggestion."""

    line: int
    key: Key


@dataclass(frozen=True)
class TellLine:
    """A line with a reward."""

    line: int
    id: int
    reward: float


class Conversation:
    """Answers lines, each once and in order, and counts what became of them. What is wrong with a line stops no other.

    >>> from driftwise import Candidates
    >>> talk = Conversation(Fleet("prices", Candidates([[0.0], [0.5]], ["x"]), window=8))
    >>> talk.answer([b'{"key": "apples"}'])
    [{'line': 1, 'key': 'apples', 'id': 1, 'params': {'x': 0.0}}]
    >>> talk.answer([b'{"id": 1, "reward": 2.5}', b'{"id": 9, "reward": 1}'])
    [{'line': 2, 'id': 1, 'told': True}, {'line': 3, 'error': "key 'apples' has no suggestion 9; it was asked 1 times"}]
    """

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.lines = self.asked = self.refused = 0
        self.outcomes = Outcomes()
        self._columns: list[str] | None = None  # of CSV

    def answer(self, lines: Sequence[bytes]) -> list[Reply]:
        """A record for each line that is not blank. Rewards are on the disk when this returns."""
        asked, told, replies = list[AskLine](), list[TellLine](), list[Reply]()
        for line in lines:
            self.lines += 1
            try:
                wanted = self._read(line)
            except InvalidInput as error:
                replies.append(self._refuse(self.lines, error))
                continue
            if isinstance(wanted, AskLine):
                asked.append(wanted)
            elif wanted is not None:
                told.append(wanted)
        replies += self._tell(told) + self._ask(asked)
        return sorted(replies, key=lambda reply: reply["line"])

    def _tell(self, told: Sequence[TellLine]) -> list[Reply]:
        if not told:
            return []
        try:
            self.outcomes += self.fleet.tell(np.array([each.id for each in told]), [each.reward for each in told])
        except (InvalidInput, NotFoundError, ConflictError) as error:
            if len(told) == 1:
                return [self._refuse(told[0].line, error)]
            half = len(told) // 2  # a reward may be told twice, so that we may look for the wrong one
            return self._tell(told[:half]) + self._tell(told[half:])
        return [{"line": each.line, "id": each.id, "told": True} for each in told]

    def _ask(self, asked: Sequence[AskLine]) -> list[Reply]:
        if not asked:
            return []
        batch = self.fleet.ask([each.key for each in asked])
        self.asked += len(asked)
        return [
            {"line": each.line, "key": each.key, "id": id, "params": dict(params)}
            for each, id, params in zip(asked, batch.ids.tolist(), batch.params, strict=True)
        ]

    def _refuse(self, line: int, error: Exception) -> Reply:
        self.refused += 1
        return {"line": line, "error": str(error)}

    # --- lines ------------------------------------------------------------------------------------------------------

    def _read(self, line: bytes) -> AskLine | TellLine | None:
        """What a line wants; None if it is blank or has the headings of a CSV."""
        text = _decoded(line)
        if not text:
            return None
        if text.startswith("{"):
            return _wanted(self.lines, _object(text))
        cells = next(csv.reader([text]))
        if self._columns is None:
            self._columns = _headings(cells)
            return None
        if len(cells) != len(self._columns):
            raise InvalidInput(f"a line must have {len(self._columns)} cells as the headings have, got {len(cells)}")
        filled = {name: cell for name, cell in zip(self._columns, cells, strict=True) if cell}
        return _wanted(
            self.lines, filled | {name: _number(filled[name]) for name in ("id", "reward") if name in filled}
        )


def _wanted(line: int, fields: Mapping[str, Any]) -> AskLine | TellLine:
    reward, id, key = (fields.get(name) for name in ("reward", "id", "key"))
    if reward is not None and id is not None:
        return TellLine(line, checks.count("id", id, most=2**63 - 1), checks.size("reward", reward))
    if reward is not None:
        raise InvalidInput("a reward needs the id of its suggestion, so that it counts once")
    if id is not None or key is None:
        raise InvalidInput("a line must have a key, to ask, or an id and a reward, to tell")
    check_key(key)
    return AskLine(line, key)


def _decoded(line: bytes) -> str:
    try:
        return line.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise InvalidInput("a line must be text in UTF-8") from None


def _object(text: str) -> dict[str, Any]:
    try:
        return dict(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"a line must be a JSON object, got {checks.shown(text)} ({error})") from None


def _headings(cells: Sequence[str]) -> list[str]:
    names = [cell.strip() for cell in cells]
    if "key" not in names and not {"id", "reward"} <= set(names):
        raise InvalidInput(f"lines must be JSON objects, or CSV with headings such as key,id,reward, got {names}")
    return names


def _number(text: str) -> int | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise InvalidInput(f"id and reward must be numbers, got {checks.shown(text)}")

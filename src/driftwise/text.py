"""Text of users on its way out: shown as text, whatever is in it."""

from __future__ import annotations

import csv
import io
import json
import math
import unicodedata
from collections.abc import Iterable
from typing import Any

import numpy as np

FORMULA = tuple("=+-@＝＋－＠")  # what a spreadsheet takes for the beginning of a formula


def visible(text: str) -> str:
    """One line that no terminal takes for a command: what cannot be printed is written as Python writes it.

    >>> print(visible("red: \\x1b[31m, two\\nlines, 日本"))
    red: \\x1b[31m, two\\nlines, 日本
    """
    if text.isprintable():
        return text
    return "".join(c if _is_shown(c) else c.encode("unicode_escape").decode() for c in text)


def _is_shown(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) == "Zs"  # spaces of other widths


def counted(number: int, noun: str) -> str:
    """A number with its noun in the singular or the plural.

    >>> counted(1, "reward"), counted(0, "reward"), counted(1200, "step")
    ('1 reward', '0 rewards', '1200 steps')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def cell(value: Any) -> Any:
    """A cell of a CSV. Numbers stay numbers; text that a spreadsheet would run as a formula gets a ' before it.

    >>> cell("=1+1"), cell(-1.5), cell("plain")
    ("'=1+1", -1.5, 'plain')
    """
    if not isinstance(value, str):
        return value
    written = visible(value)
    return f"'{written}" if written.startswith(FORMULA) else written


def csv_line(cells: Iterable[Any]) -> str:
    """One line of a CSV.

    >>> print(csv_line([1, "a,b", "-x"]), end="")
    1,"a,b",'-x
    """
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow([cell(value) for value in cells])
    return line.getvalue()


def as_json(value: Any, *, indent: int | None = 2) -> str:
    """JSON that can be printed: NaN and ∞ are null, and what is no plain text is escaped.

    >>> as_json({"a": [float("nan"), "b\\x9b"]}, indent=None)
    '{"a":[null,"b\\\\u009b"]}'
    """
    separators = (",", ":") if indent is None else None
    written = json.dumps(finite(value), indent=indent, separators=separators, ensure_ascii=False, allow_nan=False)
    return "".join(c if c == "\n" or _is_shown(c) else _unit(c) for c in written)


def _unit(character: str) -> str:
    """Escaped for JSON, in which such a character can only be a part of a string."""
    return json.dumps(character)[1:-1] if ord(character) > 0xFFFF else f"\\u{ord(character):04x}"


def finite(value: Any) -> Any:
    """The value with None for NaN and ∞, which JSON has not, and arrays as lists."""
    if isinstance(value, dict):
        return {name: finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    if isinstance(value, np.ndarray | np.generic):
        return finite(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value

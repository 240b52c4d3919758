"""Text on its way out: what users wrote is shown as text whatever is in it, and numbers as people write them."""

from __future__ import annotations

import csv
import difflib
import io
import json
import math
import unicodedata
from collections.abc import Iterable
from typing import Any

LONGEST_NAME = 200  # characters of a name that is compared with others
FORMULA = tuple("=+-@＝＋－＠")  # what a spreadsheet takes for the beginning of a formula


def visible(text: str) -> str:
    """One line without control characters: a character that cannot be printed is escaped as in Python.

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


def did_you_mean(given: Any, known: Iterable[str]) -> str:
    """A question with the name most like what was given, for the middle of a message; nothing if none is like it.

    >>> did_you_mean("atuo", ["auto", "random"]), did_you_mean("x", ["auto"]), did_you_mean(7, ["auto"])
    ("did you mean 'auto'? ", '', '')
    """
    found = (
        difflib.get_close_matches(given, known, n=1) if isinstance(given, str) and len(given) <= LONGEST_NAME else []
    )
    return f"did you mean {visible(found[0])!r:.80}? " if found else ""


def give_or_take(mean: float, std: float) -> str:
    """A mean with four digits and its standard deviation with two, without an exponent as long as that is readable.

    >>> give_or_take(336.27, 123.4), give_or_take(0.123456, 0.00123), give_or_take(1.5e9, 2.5e7)
    ('336.3 ± 120', '0.1235 ± 0.0012', '1.5e+09 ± 2.5e+07')
    """
    rounded = float(f"{std:.2g}")
    return f"{mean:.4g} ± {rounded:{'.0f' if 100 <= rounded < 1e4 else '.2g'}}"


def cell(value: Any) -> Any:
    """A cell of a CSV file. Numbers stay numbers. Text that a spreadsheet would run as a formula is prefixed with '.

    >>> cell("=1+1"), cell(-1.5), cell("plain")
    ("'=1+1", -1.5, 'plain')
    """
    if not isinstance(value, str):
        return value
    written = visible(value)
    return f"'{written}" if written.startswith(FORMULA) else written


def csv_line(cells: Iterable[Any]) -> str:
    """One line of a CSV file.

    >>> print(csv_line([1, "a,b", "-x"]), end="")
    1,"a,b",'-x
    """
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow([cell(value) for value in cells])
    return line.getvalue()


def as_json(value: Any, *, indent: int | None = 2) -> str:
    """JSON that can be printed: NaN and ∞ become null, and characters that cannot be printed are escaped.

    >>> as_json({"a": [float("nan"), "b\\x9b"]}, indent=None)
    '{"a":[null,"b\\\\u009b"]}'
    """
    separators = (",", ":") if indent is None else None
    written = json.dumps(finite(value), indent=indent, separators=separators, ensure_ascii=False, allow_nan=False)
    return "".join(c if c == "\n" or _is_shown(c) else _unit(c) for c in written)


def _unit(character: str) -> str:
    """The character escaped for JSON, in which it can only be part of a string."""
    return json.dumps(character)[1:-1] if ord(character) > 0xFFFF else f"\\u{ord(character):04x}"


def finite(value: Any) -> Any:
    """The value with arrays as lists, and with None for NaN and ∞, which JSON does not have."""
    if isinstance(value, dict):
        return {name: finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    if hasattr(value, "tolist"):  # NumPy's, which need not be loaded to write what is not
        return finite(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def duration(seconds: float) -> str:
    """Seconds with two or three digits and a unit; nothing for NaN.

    >>> duration(0.0000712), duration(0.0021), duration(3.2), duration(float("nan"))
    ('71 µs', '2.1 ms', '3.2 s', '')
    """
    if math.isnan(seconds):
        return ""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"

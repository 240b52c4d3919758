"""Options in the order in which they stand on the command line, across several options that may be repeated.

Typer gives one list for each option and so loses the order between them; the parser below it knows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import typer
from typer.core import TyperCommand

GIVEN = "driftwise.given"


class Ordered(TyperCommand):
    """A command that notes in its context which option stood where."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        ctx.meta[GIVEN] = [parameter.opts[0] for parameter in order]
        return super().parse_args(ctx, args)


def in_order(context: typer.Context, values: Mapping[str, Sequence[str] | None]) -> Iterator[tuple[str, str]]:
    """Pairs of an option and one of its values, as they were given."""
    rest = {option: iter(given or ()) for option, given in values.items()}
    return ((option, next(rest[option])) for option in context.meta[GIVEN] if option in rest)

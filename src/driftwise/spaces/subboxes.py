"""What rules allow of a box, by branch and bound: parts of the box are split until the rules are decided there.

In a part a rule is sure to hold, cannot hold, or may hold (`rules.py`). Parts of the last kind are halved, the largest
first. If none is left, everything is decided: that nothing is allowed is then proved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from driftwise import limits
from driftwise.records import Array
from driftwise.rng import generator
from driftwise.spaces.box import Box
from driftwise.spaces.parameters import Choice, Float, Int
from driftwise.spaces.rules import Bounds, Columns, Every, Flags, Rule, names_in

Places = NDArray[np.intp]

AT_ONCE = 2**10  # parts that are looked at together
ENOUGH, MOST = 2**13, 2**16  # parts in all, where settings were found, and where not
KEPT = 2**10  # examples
NARROWEST = 1e-12  # a part of a Float that is not halved, in the unit interval
HOMES = 4  # settings that are tried in a part: its middle, and some at random


@dataclass(frozen=True, eq=False)
class Explored:
    """Some settings that are allowed, about which share of the box is, and whether every part of it was decided."""

    examples: Array  # (k, d)
    share: float
    exhausted: bool


@dataclass(frozen=True, eq=False)
class Parts:
    """m parts of a box, by parameter: the ends in unit coordinates of a Float, those of an Int, values of a Choice."""

    low: Array  # (m, p)
    high: Array  # (m, p)
    values: tuple[Flags | None, ...]  # for every Choice (m, k), else None

    def __len__(self) -> int:
        return len(self.low)

    def take(self, rows: Places) -> Parts:
        return Parts(self.low[rows], self.high[rows], tuple(v if v is None else v[rows] for v in self.values))

    def joined(self, other: Parts) -> Parts:
        pairs = zip(self.values, other.values, strict=True)
        values = tuple(None if a is None or b is None else np.vstack([a, b]) for a, b in pairs)
        return Parts(np.vstack([self.low, other.low]), np.vstack([self.high, other.high]), values)


def explore(box: Box, rules: tuple[Rule, ...], allowed: Callable[[Array], Flags]) -> Explored:
    """What all of the rules allow."""
    search = _Search(box, Every(rules), allowed)
    return search.run() if rules else Explored(box.sample(generator(0), KEPT), 1.0, exhausted=True)


@dataclass
class _Search:
    box: Box
    rule: Rule
    allowed: Callable[[Array], Flags]

    def __post_init__(self) -> None:
        self.parameters = [parameter for _, parameter in self.box.parameters]
        named = names_in(self.rule)
        self.used = np.array([name in named for name in self.box.names])
        self.rng = generator(0)
        self.decided = True  # so far; a part too narrow to be halved may be undecided

    def run(self) -> Explored:
        parts, looked = self._whole(), 0
        found: list[Array] = []
        share = 0.0
        while len(parts) and looked < (ENOUGH if found else MOST):
            order = np.argsort(-self._volume(parts), kind="stable")
            now, later = parts.take(order[:AT_ONCE]), parts.take(order[AT_ONCE:])
            looked += len(now)
            with np.errstate(all="ignore"):
                truth = self.rule.truth(self._columns(now))
            found.extend(self._tried(now.take(np.flatnonzero(truth.may)), found))
            share += float(self._volume(now)[truth.sure].sum())
            parts = later.joined(self._halved(now.take(np.flatnonzero(truth.may & ~truth.sure))))
        examples = np.vstack(found) if found else np.zeros((0, self.box.dim))
        if len(parts):
            share += float(self._volume(parts) @ self.allowed(self._settings(parts, middle=True)))
        some = examples[:: max(-(-len(examples) // KEPT), 1)]
        return Explored(some, share, exhausted=self.decided and not len(parts))

    def _whole(self) -> Parts:
        low = np.array([[float(p.low) if isinstance(p, Int) else 0.0 for p in self.parameters]])
        high = np.array([[float(p.high) if isinstance(p, Int) else 1.0 for p in self.parameters]])
        values = tuple(np.ones((1, p.size), dtype=bool) if isinstance(p, Choice) else None for p in self.parameters)
        return Parts(low, high, values)

    def _columns(self, parts: Parts) -> Columns:
        columns: dict[str, Bounds | Flags] = {}
        for j, (name, p) in enumerate(self.box.parameters):
            values = parts.values[j]
            if values is not None:
                columns[name] = values
            else:
                ends = parts.low[:, j], parts.high[:, j]
                low, high = ends if isinstance(p, Int) else (p.value(u) for u in ends)  # type: ignore[union-attr]
                columns[name] = Bounds(low, high, np.zeros(len(low), dtype=bool))
        return columns

    def _widths(self, parts: Parts) -> Array:
        """The share that each part has of each parameter: (m, p)."""
        widths = parts.high - parts.low
        for j, p in enumerate(self.parameters):
            values = parts.values[j]
            if values is not None:
                widths[:, j] = values.mean(axis=1)
            elif isinstance(p, Int):
                widths[:, j] = p.part(parts.low[:, j], parts.high[:, j])
        return widths

    def _volume(self, parts: Parts) -> Array:
        return np.asarray(np.prod(self._widths(parts), axis=1))

    def _halved(self, parts: Parts) -> Parts:
        """Both halves of each part, along the parameter of which it has the largest share; none of those settled."""
        widths = np.where(self.used, self._widths(parts), 0.0)
        for j, p in enumerate(self.parameters):
            values = parts.values[j]
            one = (
                values.sum(axis=1) <= 1
                if values is not None
                else parts.high[:, j] - parts.low[:, j] < (1 if isinstance(p, Int) else NARROWEST)
            )
            widths[one, j] = 0.0
        along = np.argmax(widths, axis=1)
        left = np.flatnonzero(widths.max(axis=1) > 0)
        floats = any(isinstance(p, Float) and used for p, used in zip(self.parameters, self.used, strict=True))
        self.decided &= len(left) == len(parts) or not floats
        parts, along = parts.take(left), along[left]
        halves = [Parts(parts.low.copy(), parts.high.copy(), _copied(parts.values)) for _ in range(2)]
        for j, p in enumerate(self.parameters):
            here = np.flatnonzero(along == j)
            if len(here):
                self._halve(halves, here, j, p)
        return halves[0].joined(halves[1])

    def _halve(self, halves: list[Parts], here: Places, j: int, p: Float | Int | Choice) -> None:
        first, second = halves
        values = first.values[j], second.values[j]
        if values[0] is not None and values[1] is not None:
            possible = values[0][here]
            half = np.cumsum(possible, axis=1) <= (possible.sum(axis=1) // 2)[:, None]
            values[0][here], values[1][here] = possible & half, possible & ~half
            return
        middle = 0.5 * (first.low[here, j] + first.high[here, j])
        if isinstance(p, Int):
            middle = np.sqrt(first.low[here, j] * first.high[here, j]) if p.log else middle
            first.high[here, j], second.low[here, j] = np.floor(middle), np.floor(middle) + 1
        else:
            first.high[here, j], second.low[here, j] = middle, middle

    def _tried(self, parts: Parts, found: list[Array]) -> list[Array]:
        """Settings of these parts that are allowed, each once."""
        if not len(parts) or sum(map(len, found)) > 8 * KEPT:
            return []
        most = limits.rows(self.box.dim, most=AT_ONCE)
        X = np.vstack([self._settings(parts, middle=home == 0)[:most] for home in range(HOMES)])
        allowed = X[self.allowed(X)]
        return [allowed] if len(allowed) else []

    def _settings(self, parts: Parts, *, middle: bool) -> Array:
        """A setting of each part: its middle, as far as the rules speak of it, or one at random."""
        m = len(parts)
        U = self.box.sample(self.rng, m)
        for j, (p, s) in enumerate(zip(self.parameters, self.box.slices, strict=True)):
            values = parts.values[j]
            where = np.full(m, 0.5) if middle else self.rng.random(m)
            if not self.used[j]:
                continue
            if values is not None:
                U[:, s] = p.snap(np.where(values, 1 + self.rng.random(values.shape), 0.0))
            elif isinstance(p, Int):
                whole = np.floor(parts.low[:, j] + where * (parts.high[:, j] - parts.low[:, j] + 1))
                U[:, s.start] = p.unit(np.minimum(whole, parts.high[:, j]))
            else:
                U[:, s.start] = parts.low[:, j] + where * (parts.high[:, j] - parts.low[:, j])
        return U


def _copied(values: tuple[Flags | None, ...]) -> tuple[Flags | None, ...]:
    return tuple(v if v is None else v.copy() for v in values)

"""The maximum among the settings that an ask allows: some coordinates are fixed, and a rule says what is allowed.

Where settings are few, those that are not allowed are left out. A box is searched as ever, in the coordinates that are
free, by a score that is below all others outside. Three things are added to it: where the scan finds little that is
allowed, more settings are drawn; those that the rule knows are scanned, too; and at the border of what is allowed,
where a climb ends at the first step that would cross it, the search goes on along the border.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from driftwise import checks, limits
from driftwise.errors import NothingAllowed
from driftwise.records import Allowed, Array, Ask
from driftwise.rng import Stream, generator
from driftwise.spaces.many import MANY, ManyCoordinates, climbed_in_many, scanned_in_many
from driftwise.spaces.maximise import Score, climbed, scanned

OUTSIDE = -1e300  # below any score, and finite: differences of it are numbers
ENOUGH = 64  # settings that are allowed; with fewer in the scan, more are drawn
FIRST, MOST = 2**10, 2**16  # how many are drawn, at first and in all
KNOWN = 1024  # examples that are scanned, at most
POOL, TRIALS, ROUNDS = 32, 64, 32  # of the search along the border: settings kept, new ones of each kind, rounds
RADIUS, NARROWEST = 0.1, 1e-7  # of its steps, at first, and where it ends


class Restrictable(ManyCoordinates, Protocol):
    """The part of a box that is used here."""

    @property
    def points(self) -> Array | None: ...
    def sample(self, rng: np.random.Generator, n: int) -> Array: ...
    def without(self, fixed: Iterable[int]) -> Any: ...


# --- rules --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class AllOf:
    """Several rules at once."""

    rules: tuple[Allowed, ...]

    def __call__(self, X: Array) -> NDArray[np.bool_]:
        kept = np.ones(len(X), dtype=bool)
        for rule in self.rules:
            kept[kept] = rule(X[kept])
        return kept

    @cached_property
    def examples(self) -> Array:
        known = [X for rule in self.rules if len(X := examples(rule))]
        X = np.vstack(known) if known else np.zeros((0, 0))
        return X[self(X)] if len(X) else X


def all_of(*rules: Allowed | None) -> Allowed | None:
    """What all of the rules allow; None is a rule that allows everything."""
    some = tuple(rule for rule in rules if rule is not None)
    return some[0] if len(some) == 1 else AllOf(some) if some else None


def examples(rule: Allowed | None) -> Array:
    """Settings that the rule is known to allow: (k, d), possibly none."""
    known = getattr(rule, "examples", None)
    return np.zeros((0, 0)) if known is None else np.asarray(known, dtype=float)


def may(ask: Ask, X: Array) -> NDArray[np.bool_]:
    """Which rows of X the ask allows: (m,)."""
    kept = np.ones(len(X), dtype=bool)
    for place, value in ask.fixed:
        kept &= X[:, place] == value
    if ask.allowed is not None:
        kept[kept] = ask.allowed(X[kept])
    return kept


def with_fixed(ask: Ask, X: Array) -> Array:
    """X with the coordinates that are fixed."""
    moved = X.copy()
    for place, value in ask.fixed:
        moved[:, place] = value
    return moved


# --- the maximum --------------------------------------------------------------------------------------------------


def best_allowed(score: Score, space: Any, points: Array, ask: Ask) -> Array:
    """The row of `points` of `space` where `score` is largest of those that may be chosen, the first of equals."""
    kept = may(ask, points)
    if not kept.any():
        raise nothing(space, ask, len(points))
    return points[int(np.argmax(np.where(kept, score(points), -np.inf)))]


def argmax_within(score: Score, space: Restrictable, ask: Ask) -> Array:
    """Where `score` is largest of all that may be chosen: the maximum over the parameters that are not fixed."""
    if space.points is not None:
        return best_allowed(score, space, space.points, ask)
    part = FreePart.of(space, ask)
    within = Within(OnPart(score, part), part.allowed)
    if part.box is None:
        return best_allowed(score, space, part.origin[None], ask)
    if part.box.points is not None:
        return best_allowed(score, space, part.whole(part.box.points), ask)
    return part.whole(_search(within, space, part.box, ask)[None])[0]


def draw(space: Any, ask: Ask) -> Array:
    """A setting at random of all that may be chosen: (d,)."""
    rng = generator(ask.seed, ask.number)
    if not ask.fixed and ask.allowed is None:
        return np.asarray(space.sample(rng, 1)[0])
    points = space.listed(ask)
    if points is not None:
        kept = np.flatnonzero(may(ask, points))
        if not len(kept):
            raise nothing(space, ask, len(points))
        return np.asarray(points[kept[rng.integers(len(kept))]])
    part = FreePart.of(space, ask)
    if part.box is None:
        return best_allowed(_Flat(), space, part.origin[None], ask)
    X, tried = _drawn(part.box, part.allowed, rng, enough=1)
    known = X if len(X) else part.known
    if not len(known):
        raise nothing(space, ask, tried)
    return part.whole(known[:1] if len(X) else known[rng.integers(len(known), size=1)])[0]


@dataclass(frozen=True, eq=False)
class FreePart:
    """A box without the parameters that an ask fixes, and the rule as it is there."""

    box: Any  # None: all are fixed
    free: NDArray[np.intp]  # (k,): the coordinates that are left
    origin: Array  # (d,): those that are fixed, and 0
    rule: Allowed | None

    @classmethod
    def of(cls, space: Restrictable, ask: Ask) -> FreePart:
        origin = with_fixed(ask, np.zeros((1, space.dim)))[0]
        fixed = {place for place, _ in ask.fixed}
        free = np.array([j for j in range(space.dim) if j not in fixed], dtype=np.intp)
        return cls(space.without(fixed) if fixed else space, free, origin, ask.allowed)

    def whole(self, Z: Array) -> Array:
        """Points of the part as points of the whole: (m, d)."""
        X = np.tile(self.origin, (len(Z), 1))
        X[:, self.free] = Z
        return X

    def allowed(self, Z: Array) -> NDArray[np.bool_]:
        return np.ones(len(Z), dtype=bool) if self.rule is None else self.rule(self.whole(Z))

    @cached_property
    def known(self) -> Array:
        """What the rule is known to allow, with what is fixed fixed, as far as it is still allowed: (k, free)."""
        X = examples(self.rule)
        if not len(X):
            return np.zeros((0, len(self.free)))
        Z = X[:: -(-len(X) // KNOWN), self.free]
        return Z[self.allowed(Z)]


@dataclass(frozen=True, eq=False)
class OnPart:
    """A score of the whole as one of the part."""

    score: Score
    part: FreePart

    def __call__(self, X: Array) -> Array:
        return self.score(self.part.whole(X))

    def gradient(self, X: Array) -> tuple[Array, Array]:
        values, slopes = self.score.gradient(self.part.whole(X))
        return values, slopes[:, self.part.free]

    def anchors(self) -> Array:
        return self.score.anchors().reshape(-1, len(self.part.origin))[:, self.part.free]


@dataclass(frozen=True, eq=False)
class Within:
    """A score that is below all others outside of what is allowed."""

    score: OnPart
    allowed: Callable[[Array], NDArray[np.bool_]]

    def __call__(self, X: Array) -> Array:
        values, kept = np.full(len(X), OUTSIDE), self.allowed(X)
        if kept.any():
            values[kept] = self.score(X[kept])
        return values

    def gradient(self, X: Array) -> tuple[Array, Array]:
        values, slopes = self.score.gradient(X)
        return np.where(self.allowed(X), values, OUTSIDE), slopes

    def anchors(self) -> Array:
        return self.score.anchors()


@dataclass(frozen=True)
class _Flat:
    def __call__(self, X: Array) -> Array:
        return np.zeros(len(X))

    def gradient(self, X: Array) -> tuple[Array, Array]:
        return np.zeros(len(X)), np.zeros_like(X)

    def anchors(self) -> Array:
        return np.zeros((0, 0))


def _search(within: Within, space: Any, box: Restrictable, ask: Ask) -> Array:
    part, many = within.score.part, box.dim > MANY
    rng = generator(ask.seed, ask.number)
    points = scanned_in_many(within, box, rng) if many else scanned(within, box, ask)
    if part.rule is None:
        return climbed_in_many(within, box, points, rng) if many else climbed(within, box, points)
    more = generator(ask.seed, ask.number, Stream.RESTRICTED)
    found, tried = np.vstack([points[part.allowed(points)], part.known]), len(points)
    if len(found) < ENOUGH:
        drawn, looked = _drawn(box, part.allowed, more, enough=ENOUGH - len(found))
        found, tried = np.vstack([found, drawn]), tried + looked
    if not len(found):
        raise nothing(space, ask, tried)
    top = climbed_in_many(within, box, found, rng) if many else climbed(within, box, found)
    return _along_border(within, box, np.vstack([top, found]), more)


def _drawn(
    box: Restrictable, allowed: Callable[[Array], NDArray[np.bool_]], rng: np.random.Generator, *, enough: int
) -> tuple[Array, int]:
    """Random settings that are allowed, at least `enough` if so many are found; and how many were looked at."""
    most, tried, size = limits.rows(box.dim, most=MOST), 0, FIRST
    found = np.zeros((0, box.dim))
    while len(found) < enough and tried < most:
        X = box.sample(rng, min(size, most - tried))
        found, tried, size = np.vstack([found, X[allowed(X)]]), tried + len(X), 2 * size
    return found, tried


def _along_border(within: Within, box: Restrictable, points: Array, rng: np.random.Generator) -> Array:
    """The best setting that is found around those given, of which the first is the best, if that is at the border.

    New settings are those around the best and around others, and the best moved as two others differ: along a band of
    what is allowed, however narrow, settings differ in its direction.
    """
    if not _at_border(within, box, points[0], rng):
        return points[0]
    pool, values = _best(points, within(points))
    radius = RADIUS
    for _ in range(ROUNDS):
        i, j, k = rng.integers(len(pool), size=(3, TRIALS))
        steps = radius * rng.standard_normal((2, TRIALS, box.dim))
        apart = rng.random((TRIALS, 1)) * (pool[i] - pool[j])
        around = _neighbours(box, pool[0], rng)
        trials = box.snap(np.vstack([pool[0] + steps[0], pool[k] + steps[1], pool[0] + apart]))
        trials = np.vstack([trials, around])
        before = values[0]
        pool, values = _best(np.vstack([pool, trials]), np.append(values, within(trials)))
        radius *= 1.0 if values[0] > before else 0.5
        if radius < NARROWEST:
            break
    return pool[0]


def _best(points: Array, values: Array) -> tuple[Array, Array]:
    """The best POOL of the points that are allowed, and their values, the first of equals first."""
    order = np.argsort(-values, kind="stable")[:POOL]
    order = order[values[order] > OUTSIDE]
    return points[order], values[order]


def _at_border(within: Within, box: Restrictable, x: Array, rng: np.random.Generator) -> bool:
    around = box.snap(x + 1e-3 * rng.standard_normal((TRIALS, box.dim)))
    return not within.allowed(np.vstack([around, _neighbours(box, x, rng)])).all()


def _neighbours(box: Restrictable, x: Array, rng: np.random.Generator) -> Array:
    """x with one discrete parameter moved, of some of them where there are many: (m, d)."""
    return box.neighbours(x, lambda m: range(m) if m <= TRIALS else rng.choice(m, TRIALS, replace=False).tolist())


def nothing(space: Any, ask: Ask, tried: int) -> NothingAllowed:
    """The error where nothing was found that may be chosen."""
    fixed = ", ".join(f"{name} = {checks.shown(value)}" for name, value in _values(space, ask).items())
    return NothingAllowed(
        f"a setting must be allowed, and of {tried:,} settings{f' with {fixed}' if fixed else ''} none is; "
        "loosen the constraints, or observe a setting that is allowed"
    )


def _values(space: Any, ask: Ask) -> dict[str, Any]:
    """What is fixed, as the user gave it."""
    fixed, found = dict(ask.fixed), dict[str, Any]()
    for (name, parameter), s in zip(space.parameters, space.slices, strict=True):
        unit = tuple(fixed[place] for place in range(s.start, s.stop) if place in fixed)
        if len(unit) == s.stop - s.start:
            found[name] = unit[0] if parameter is None else parameter.decode(unit)
    return found

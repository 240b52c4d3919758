"""The options that policies share, checked once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from driftwise import checks, limits
from driftwise.errors import InvalidInput
from driftwise.gp.belief import Belief, Model, Width, check_kernel
from driftwise.gp.grid import GridPosterior
from driftwise.gp.kernels import Kernel, Matern, as_kernel, check_bounded
from driftwise.gp.posterior import Posterior
from driftwise.policies.ranges import Range
from driftwise.records import Array
from driftwise.spaces import Space, as_space
from driftwise.theory import widths
from driftwise.theory.information import MaximumGain
from driftwise.theory.schedules import known_budget, unknown_budget

BUDGET = "it is P_T, the variation of the world over the horizon"
LENGTH = 60  # of a window or an interval, where nothing is said of the horizon
REPRESENTATIVES = 512  # points that stand for a box where γ is computed
PICKS = 1024  # of the search for γ that are counted


def model(space: Any, kernel: Kernel | None, noise: float, standardise: bool) -> Model:
    """The model of the world."""
    given = Matern(2.5, 0.2) if kernel is None else as_kernel("kernel", kernel)
    made = Model(as_space(space), given, noise, checks.flag("standardise", standardise))
    check_kernel(made.kernel, made.space)
    return made


def check_parts(policy: Any) -> None:
    """The fields of a policy by their types, which those share that are made from their fields."""
    rules: dict[str, Callable[[str, Any], Any]] = {
        "Model": partial(_an_instance, Model, "a Model(space, kernel, noise)"),
        "Range": partial(_an_instance, Range, "a Range(low, high)"),
        "Space": lambda _, given: as_space(given),
        "Width": lambda _, given: widths.as_width(given),
        "bool": checks.flag,
    }
    for part in fields(policy):
        if str(part.type) in rules:
            object.__setattr__(policy, part.name, rules[str(part.type)](part.name, getattr(policy, part.name)))


def _an_instance(cls: type, example: str, name: str, value: Any) -> Any:
    if not isinstance(value, cls):
        raise InvalidInput(f"{name} must be {example}, got {checks.shown(value)}")
    return value


def width(given: float | Width) -> Width:
    """A number means a constant width."""
    return widths.as_width(given)


def finite(name: str, space: Space) -> int:
    """How many settings there are; refused where they cannot be listed."""
    if space.points is None:
        raise InvalidInput(
            f"{name} is defined on finitely many settings only, and this space cannot be listed; "
            "give Candidates(points), or Int and Choice parameters with at most 2,500 settings in all, "
            "and at most 1,000 where they are those of a single Choice"
        )
    return len(space.points)


class Theory:
    """What the paper's formulas make of a model: γ, a length to remember, and widths by name.

    ‖f‖ ≤ B; noise R-sub-Gaussian, √noise where R is not given; failure probability delta; over `horizon` steps, in
    which the world moves by `budget` = P_T at most.
    """

    def __init__(
        self, model: Model, *, B: float, R: float | None, delta: float, horizon: int | None, budget: float | None = None
    ) -> None:
        self.model = model
        self.budget = None if budget is None else checks.nonnegative("budget", budget, fix=BUDGET)
        self.B = checks.nonnegative("B", B)
        self.R = math.sqrt(model.noise) if R is None else checks.nonnegative("R", R)
        self.delta = checks.probability("delta", delta)
        self.horizon = None if horizon is None else checks.count("horizon", horizon)
        check_budget(horizon, budget)

    @cached_property
    def gain(self) -> MaximumGain:
        """n ↦ γ_n on the candidates, or on a low-discrepancy set of the box."""
        points = representatives(self.model.space)
        n, d = points.shape
        what = f"γ of {PICKS:,} picks among {n:,} points of {d:,} coordinates, 8 for each"
        fix = "give width=2.0 and a length of your own, or a policy that takes them"
        limits.check("a width or a length by γ", n * (PICKS + 8 * d), what, fix)
        return MaximumGain(self.model.kernel, self.model.noise, tuple(map(tuple, points.tolist())))

    def length(self, name: str, given: int | None) -> int:
        """H or w: as given, else by Remark (2) or (3) where the horizon is known."""
        if given is not None:
            return checks.count(name, given, fix="use gp-ucb to keep everything")
        if self.horizon is None:
            return LENGTH
        gamma = self.gain(self.horizon)
        if self.budget is None:
            return unknown_budget(gamma, self.horizon)
        return known_budget(gamma, self.horizon, self.budget)

    def width(self, given: float | str | Width, *, events: Callable[[int], int] | None = None) -> Width:
        """A number, a width, or the name of one; `events` says of a horizon how many the union bound goes over."""
        made = self._named(given, events) if isinstance(given, str) else width(given)
        if getattr(made, "assumes_bounded", False):
            check_bounded(self.model.kernel, representatives(self.model.space))
        return made

    def _named(self, name: str, events: Callable[[int], int] | None) -> Width:
        known = {"B": self.B, "R": self.R, "delta": self.delta}
        points = self.model.space.points
        makers: dict[str, Callable[[], Width]] = {
            "lemma": lambda: widths.Lemma(self.gain, **known, unions=self._unions(name, events)),
            "algorithm": lambda: widths.Algorithm(self.gain, **known),
            "realised": lambda: widths.Realised(**known, unions=self._unions(name, events)),
            "srinivas": lambda: (
                widths.SrinivasRkhs(self.gain, self.B, self.delta)
                if points is None
                else widths.SrinivasFinite(len(points), self.delta)
            ),
            "bogunovic": widths.Bogunovic,
        }
        if name not in makers:
            raise InvalidInput(
                f"width must be a number, a width, or one of {', '.join(makers)}; got {checks.shown(name)}"
            )
        return makers[name]()

    def _unions(self, name: str, events: Callable[[int], int] | None) -> int:
        if events is None:
            return 1
        if self.horizon is None:
            got = checks.shown(name)
            raise InvalidInput(f"width={got} holds over a horizon, and none is given; give horizon=…, or width=2.0")
        return events(self.horizon)


def representatives(space: Space) -> Array:
    """The settings themselves where they are few, else a Sobol' set of the unit cube and its far corner: (n, d)."""
    if space.points is not None:
        return space.points
    from scipy.stats import qmc  # slow to import, and seldom needed

    cube = qmc.Sobol(space.dim, scramble=False).random(REPRESENTATIVES)
    # the corner, where a linear kernel is largest; the origin is the set's first point
    return space.snap(np.vstack([cube, np.ones((1, space.dim))]))


def in_last_units(now: Belief, last: Belief) -> Belief:
    """`now`; where it has seen nothing yet, in the units that rewards had last, as nobody's rewards are 0 ± 1.

    It is what `recommend` reads. What is chosen is the same in any units.
    """
    if len(now) or not len(last):
        return now
    assert isinstance(now, Posterior | GridPosterior)
    return replace(now, fixed_units=last.units)


def linear(given: float | str | Width, ellipsoid: Callable[[], Width]) -> Width:
    """The width of a linear bandit: a number, a width, or "ellipsoid", its own."""
    own = ellipsoid()  # made in any case, so that its options are checked
    if isinstance(given, str):
        checks.one_of("width", given, ("ellipsoid",))
        return own
    return width(given)


def linear_size(name: str, dim: int) -> None:
    """Refused where matrices of d × d, of which the states kept and a step have some 16, would be too large."""
    what, fix = f"16 matrices of {dim:,} × {dim:,} coordinates", "use a policy with a kernel, as sw-gp-ucb"
    limits.check(name, 16 * dim**2, what, fix)


def linear_memory(dim: int, horizon: int, budget: float | None) -> float:
    """(dT/V)^⅔ steps, V = Σ‖θ_t − θ_{t−1}‖₂ or 1 where it is unknown, at most T: the linear papers' window.

    Their regret of T^⅔ rests on an eigenvalue bound that fails (Zhao & Zhang 2021); the analysis that holds has
    d^¼(T/V)^½ and T^¾.

    >>> math.floor(linear_memory(2, 50_000, 10.0))
    464
    """
    T = checks.count("horizon", horizon)
    V = 1.0 if budget is None else checks.nonnegative("budget", budget)
    if dim >= V * math.sqrt(T):
        return T  # (dT/V)^⅔ would be more, or infinite
    return max(1.0, (dim * T / V) ** (2 / 3))


def linear_length(name: str, given: int | None, *, dim: int, horizon: int | None, budget: float | None) -> int:
    """A window or an interval: as given, else ⌊(dT/V)^⅔⌋ where the horizon is known."""
    check_budget(horizon, budget)
    usual = LENGTH if horizon is None else math.floor(linear_memory(dim, horizon, budget) + 1e-9)
    return usual if given is None else checks.count(name, given)


def check_budget(horizon: int | None, budget: float | None) -> None:
    """A budget goes with a horizon."""
    if budget is not None and horizon is None:
        got = checks.shown(budget)
        raise InvalidInput(f"a budget is the variation over a horizon, got budget={got} alone; give horizon=…")


def discount(name: str, value: float) -> float:
    """A factor a step, in (0, 1]."""
    return checks.share(name, value, fix="a factor a step, as 0.98; 1 forgets nothing")

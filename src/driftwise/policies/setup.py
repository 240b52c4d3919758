"""What a user says when a policy is made: each shared option stands here once, with its default and its meaning."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np

from driftwise import checks, limits
from driftwise.errors import InvalidInput
from driftwise.gp.belief import Model, PerEvent, Width, check_kernel
from driftwise.gp.kernels import Kernel, Matern, as_kernel, check_bounded
from driftwise.gp.past import past
from driftwise.policies.ranges import Range
from driftwise.records import Array
from driftwise.spaces import Space, as_space
from driftwise.text import did_you_mean
from driftwise.theory import widths
from driftwise.theory.information import MaximumGain
from driftwise.theory.schedules import known_budget, unknown_budget

BUDGET = "it is P_T, the variation of the world over the horizon"
LENGTH = 60  # of a window or an interval if the horizon is not given
REPRESENTATIVES = 512  # points that stand for a box when γ is computed
PICKS = 1024  # of the search for γ that are counted
PROVED = ("lemma", "realised", "mixture", "dual", "ellipsoid")  # widths that hold, where what they assume does
UNKNOWN_DRIFT = "its radius follows from the rewards, which drift changes; drift-aware has it, as it is told the drift"
Events = Callable[[int], int]  # of a horizon: how many events the union bound goes over

# the options that go together
MODEL = ("kernel", "noise", "standardise")
BAND = ("width", "B", "R", "delta")
DRIFT = ("horizon", "budget")
RANGE = ("low", "high")


@dataclass(frozen=True)
class Setup:
    """The shared options, and what the theory makes of them: a model, γ, a length to remember, a width.

    >>> from driftwise import Candidates
    >>> Setup(Candidates([[0.0], [1.0]]), noise=0.25).sub_gaussian
    0.5
    """

    space: Any
    kernel: Annotated[
        Kernel | None, "covariance of the rewards over the unit cube; None: Matérn-5/2 with length scale 0.2"
    ] = None
    history: Annotated[
        Any, "what all candidates gave before, instead of a kernel: rows of times, or a dict of columns by label"
    ] = None
    noise: Annotated[float, "variance λ of the noise"] = 0.01
    standardise: Annotated[bool, "whether rewards are centred and scaled"] = False
    width: Annotated[
        float | str | Width, "exploration bonus β in standard deviations: a number, a width, or the name of a formula"
    ] = 2.0
    B: Annotated[float, "bound on the norm of the reward function, for widths by name"] = 1.0
    R: Annotated[float | None, "sub-Gaussian constant of the noise, for widths by name; None: √noise"] = None
    delta: Annotated[float, "probability that a confidence band or a test may fail"] = 0.1
    horizon: Annotated[int | None, "number of steps T that are planned"] = None
    budget: Annotated[float | None, "how much the world changes in all over the horizon"] = None
    low: Annotated[float, "lower end of the range of the rewards"] = -1.0
    high: Annotated[float, "upper end of the range of the rewards"] = 1.0
    seed: Annotated[int, "seed of the policy's own random numbers"] = 0
    S: Annotated[float, "bound on the norm of the linear coefficients, for width=ellipsoid"] = 1.0
    L: Annotated[float, "bound on the norm of a point, for width=ellipsoid"] = 1.0

    def __post_init__(self) -> None:
        checks.settle(
            self,
            space=lambda _, given: as_space(given),
            noise=partial(checks.positive, fix="it is a variance, for example 0.01"),
            standardise=checks.flag,
            B=checks.nonnegative,
            R=checks.optional(checks.nonnegative),
            delta=checks.probability,
            horizon=checks.optional(checks.count),
            budget=checks.optional(partial(checks.nonnegative, fix=BUDGET)),
        )
        if self.budget is not None and self.horizon is None:
            raise InvalidInput(
                f"a budget is the variation over a horizon, got budget={self.budget} alone; give horizon=…"
            )

    @cached_property
    def model(self) -> Model:
        """The model of the world."""
        model = Model(self.space, self._kernel, self.noise, self.standardise)
        check_kernel(model.kernel, model.space)
        return model

    @property
    def _kernel(self) -> Kernel:
        if self.history is None:
            return Matern(2.5, 0.2) if self.kernel is None else as_kernel("kernel", self.kernel)
        if self.kernel is not None:
            raise InvalidInput("kernel and history both say how candidates go together; give one of them")
        return past(self.space, self.history).about_level

    @property
    def rewards(self) -> Range:
        """The range of the rewards."""
        return Range(self.low, self.high)

    @property
    def sub_gaussian(self) -> float:
        """R, or √noise."""
        return math.sqrt(self.noise) if self.R is None else self.R

    @property
    def variation(self) -> float:
        """P_T, or 1 if it is unknown."""
        return 1.0 if self.budget is None else self.budget

    @cached_property
    def gain(self) -> MaximumGain:
        """n ↦ γ_n on the candidates, or on a low-discrepancy set of the box."""
        points = representatives(self.space)
        n, d = points.shape
        what = f"γ of {PICKS:,} picks among {n:,} points of {d:,} coordinates, 8 for each"
        fix = "give width=2.0 and a length of your own, or a policy that takes them"
        limits.check("a width or a length by γ", n * (PICKS + 8 * d), what, fix)
        return MaximumGain(self.model.kernel, self.model.noise, tuple(map(tuple, points.tolist())))

    def length(self, name: str, given: int | None) -> int:
        """H or w: as given, else by Remark (2) or (3) if the horizon is known."""
        if given is not None:
            return checks.count(name, given, fix="use gp-ucb to keep everything")
        if self.horizon is None:
            return LENGTH
        gamma = self.gain(self.horizon)
        if self.budget is None:
            return unknown_budget(gamma, self.horizon)
        return known_budget(gamma, self.horizon, self.budget)

    def beta(
        self,
        *,
        events: Events | None = None,
        unproved: Mapping[str, str] | None = None,
        own: Mapping[str, Callable[[], Width]] | None = None,
        knows_drift: bool = False,
    ) -> Width:
        """The width. `events` is None if nothing is ever forgotten; `unproved` says why a name has no theorem here.

        `own` has the widths that this policy alone has a name for.
        """
        if isinstance(self.width, str):
            for_still = {} if events is None or knows_drift else {"dual": UNKNOWN_DRIFT}
            self.check_proved(for_still | dict(unproved or {}), own or {})
            made = self._named(self.width, events, own or {})
        else:
            made = self.given_width(events)
        if getattr(made, "assumes_bounded", False):
            check_bounded(self.model.kernel, representatives(self.space))
        return made

    def given_width(self, events: Events | None) -> Width:
        """A number or a width; one that is proved of an event at a time is told how many there are."""
        if isinstance(self.width, PerEvent):
            return self.width.over(self.unions(self.width.name, events))
        return widths.as_width(self.width)

    def check_proved(self, unproved: Mapping[str, str], own: Container[object] = ()) -> None:
        """Refuses the name of a width that promises a band which nobody has proved."""
        name = self.width
        reason = unproved.get(name) if isinstance(name, str) else None
        if reason is None and self.standardise and (name in PROVED or name in own):
            reason = "B and R are in the rewards' own units, and standardise=True changes these with the data"
        if reason is not None:
            raise InvalidInput(f"width={checks.shown(name)} has no theorem here: {reason}; give a number, as width=2.0")

    def _named(self, name: str, events: Events | None, own: Mapping[str, Callable[[], Width]]) -> Width:
        known = {"B": self.B, "R": self.sub_gaussian, "delta": self.delta}
        every_step = None if events is None else _every_step  # the mixture's event is about f_t itself
        points = self.space.points
        makers: dict[str, Callable[[], Width]] = {
            "lemma": lambda: widths.Lemma(self.gain, **known, unions=self.unions(name, events)),
            "algorithm": lambda: widths.Algorithm(self.gain, **known),
            "realised": lambda: widths.Realised(**known, unions=self.unions(name, events)),
            "mixture": lambda: widths.MixtureBand(**known, unions=self.unions(name, every_step)),
            "dual": lambda: widths.DualBand(**known, unions=self.unions(name, every_step)),
            "srinivas": lambda: (
                widths.SrinivasRkhs(self.gain, self.B, self.delta)
                if points is None
                else widths.SrinivasFinite(len(points), self.delta)
            ),
            "bogunovic": widths.Bogunovic,
            **own,
        }
        if name not in makers:
            raise InvalidInput(
                f"width must be a number, a width, or one of {', '.join(makers)}; got {checks.shown(name)}"
            )
        return makers[name]()

    def unions(self, name: str, events: Events | None) -> int:
        """Over how many events a band is to hold: 1 if nothing is forgotten."""
        return 1 if events is None else events(self.planned(f"width={checks.shown(name)}"))

    def planned(self, what: str) -> int:
        """The horizon, which `what` needs."""
        if self.horizon is None:
            raise InvalidInput(f"{what} holds over a horizon, and none is given; give horizon=…, or a number")
        return self.horizon


def _every_step(horizon: int) -> int:
    return horizon


def representatives(space: Space) -> Array:
    """The settings themselves if they are few, else a Sobol' set of the unit cube and its far corner: (n, d)."""
    if space.points is not None:
        return space.points
    from scipy.stats import qmc  # slow to import

    cube = qmc.Sobol(space.dim, scramble=False).random(REPRESENTATIVES)
    # the corner, where a linear kernel is largest; the origin is the set's first point
    return space.snap(np.vstack([cube, np.ones((1, space.dim))]))


# --- the options as users see them --------------------------------------------------------------------------------


class Option(inspect.Parameter):
    """A keyword that a policy takes: its `name`, `default`, type (`annotation`) and `meaning` in one line."""

    def __init__(self, name: str, *, default: Any, annotation: Any, meaning: str) -> None:
        super().__init__(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        self.meaning = meaning

    def with_default(self, default: Any) -> Option:
        return Option(self.name, default=default, annotation=self.annotation, meaning=self.meaning)


Options = dict[str, Option]


def options_in(function: Callable[..., Any], names: Iterable[str] | None = None) -> Options:
    """The keywords of a function, or some of its parameters; their meanings are said by Annotated[type, meaning]."""
    parameters = inspect.signature(function).parameters
    if names is None:
        names = [name for name, p in parameters.items() if p.kind is inspect.Parameter.KEYWORD_ONLY]
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError:  # a policy of a user's own, whose types are imported for a type checker alone
        hints = {}
    found = {}
    for name in names:
        hint = hints.get(name, parameters[name].annotation)
        kind, meaning = get_args(hint)[:2] if get_origin(hint) is Annotated else (hint, "")
        found[name] = Option(name, default=parameters[name].default, annotation=kind, meaning=meaning)
    return found


def takes(*names: str, **defaults: Any) -> Options:
    """Those options of `Setup` that a policy takes, of which some have another default here.

    One that takes a kernel takes a history instead.

    >>> [(option.name, option.default) for option in takes("noise", R=0.1).values()]
    [('noise', 0.01), ('R', 0.1)]
    """
    also = ("history",) if "kernel" in names else ()
    chosen = options_in(Setup, (*names, *also, *defaults))
    return chosen | {name: chosen[name].with_default(default) for name, default in defaults.items()}


def check_options(who: str, given: Iterable[str], known: Iterable[str]) -> None:
    """An option that a policy does not have is refused."""
    for option in given:
        if option not in known:
            has = f"{did_you_mean(option, known)}it has {', '.join(known) or 'none'}"
            raise InvalidInput(f"{who} has no option {checks.shown(option)}; {has}")

"""UI-TVBO (Brunzema, von Rohr & Trimpe 2022): the mean persists, and uncertainty is injected where nobody looks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from driftwise import checks
from driftwise.policies.beliefs.space_time import WINDOW, SpaceTimePosterior, Timed
from driftwise.policies.setup import MODEL, takes
from driftwise.policies.tv_gp_ucb import TimedPolicy
from driftwise.records import Array, Observation
from driftwise.theory.widths import as_width

NEWEST = 10  # kept whatever else there is
BINS = 20  # cells per axis, of each of which the newest observation is kept


@dataclass(frozen=True)
class Wiener:
    """k_T = 1 + r·min(s, t), s, t ≥ 0: Brunzema et al. 2022. The mean persists; the variance grows by r per unit."""

    rate: float

    stationary: ClassVar[bool] = False
    size: ClassVar[int] = 1

    def __post_init__(self) -> None:
        checks.settle(self, rate=partial(checks.nonnegative, fix="0 is a world that stands still"))

    def __call__(self, s: Array, t: Array) -> Array:
        return 1 + self.rate * np.minimum(s[:, None], t[None, :])

    def diagonal(self, t: Array) -> Array:
        return 1 + self.rate * t

    def transition(self, gaps: Array) -> Array:
        return np.ones((*np.shape(gaps), 1, 1))

    def covariance(self, elapsed: float) -> Array:
        return np.full((1, 1), 1 + self.rate * elapsed)

    @property
    def unit(self) -> float:
        return 1 / max(self.rate, 1e-300)


@dataclass(frozen=True)
class UiGpUcb(TimedPolicy):
    """x_t = argmax μ_{t−1} + β_t σ_{t−1} under the kernel k(x, x′)·(1 + (σ̂²/σ_k²) min(t, t′)), σ_k² = k(x, x).

    The kernel stays as it is given: the length scales are not refitted, as they are in the paper's experiments. Must be
    known: the kernel, and σ̂² (`injection`), the variance that one unit of the time `at` adds; time counts from the
    first observation. On n candidates it is an exact filter on all the data, O(n²) a step for ever. Elsewhere it is a
    Gaussian process, O(w³) a step, on the newest 10 observations and the newest in each of 20 cells per axis, the last
    `window` of these at most: a plain window would throw away what the mean persists on.

    >>> from driftwise import Candidates
    >>> from driftwise.records import Ask
    >>> policy = UiGpUcb.of(Candidates([[0.0]]), injection=0.03)
    >>> state = policy.update(policy.start(), Observation(1, 5.0, (0.0,), 1.0))
    >>> (m5, s5), (m25, s25) = (policy.belief(state, Ask(2, at)).predict(policy.space.points) for at in (5.0, 25.0))
    >>> bool(m25[0] == m5[0]), round(float(s25[0] ** 2 - s5[0] ** 2), 12)
    (True, 0.6)
    """

    name: ClassVar[str] = "ui-gp-ucb"
    shared = takes(*MODEL, "width")

    injection: float
    window: int

    def __post_init__(self) -> None:
        self.settle(
            injection=partial(checks.nonnegative, fix="it is a variance"),
            window=partial(checks.count, least=NEWEST, fix=f"the newest {NEWEST} are always kept"),
        )

    @classmethod
    def of(
        cls,
        space: Any,
        *,
        injection: Annotated[float, "variance that one unit of time adds"] = 0.03,
        window: Annotated[int | None, "number of samples in use on a box, at most"] = None,
        **given: Any,
    ) -> UiGpUcb:
        setup = cls.setup(space, given)
        return cls(setup.model, as_width(setup.width), injection, WINDOW if window is None else window)

    @property
    def drift(self) -> Wiener:
        """σ̂²/σ_k² in units of the kernel, with the largest k(x, x) for σ_k²."""
        space = self.model.space
        points = space.points if space.points is not None else np.full((1, space.dim), 0.5)
        largest = float(self.model.kernel.diagonal(points).max())
        return Wiener(self.injection / largest if largest > 0 else 0.0)

    @property
    def memory(self) -> None:
        return None

    def update(self, state: Timed, seen: Observation) -> Timed:
        seen_too = self.timed.observe(state, seen, window=self.window + 1)
        if isinstance(seen_too, SpaceTimePosterior):
            return seen_too.select(representative(seen_too.observed)[-self.window :])
        return seen_too

    def remembers(self, number: int, *, newest: int, newer: int) -> bool:
        return True


def representative(X: Array, *, newest: int = NEWEST, bins: int = BINS) -> NDArray[np.intp]:
    """Which rows of X, oldest first, are among the `newest` last or the last in their cell of the unit cube.

    >>> representative(np.array([[0.01], [0.99], [0.02]]), newest=1).tolist()
    [1, 2]
    """
    n = len(X)
    cells = np.minimum((X * bins).astype(int), bins - 1)
    _, last = np.unique(cells[::-1], axis=0, return_index=True)  # the first of the reversed is the last
    return np.union1d(n - 1 - last, np.arange(max(n - newest, 0), n))

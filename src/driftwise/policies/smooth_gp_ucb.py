"""Optimism in a world that moves smoothly: Matérn in time, which learns trends and looks ahead along them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from driftwise import checks
from driftwise.gp.time_kernels import MaternInTime
from driftwise.policies.beliefs.space_time import WINDOW
from driftwise.policies.setup import MODEL, takes
from driftwise.policies.tv_gp_ucb import TimedPolicy
from driftwise.theory.widths import as_width


@dataclass(frozen=True)
class SmoothGpUcb(TimedPolicy):
    """x_t = argmax μ_{t−1} + β_t σ_{t−1} under the kernel k(x, x′)·k_T(t, t′), k_T Matérn with ν = 3/2 or 5/2.

    Must be known: the time scale over which the world changes, in the unit of `at`. On n candidates it is an exact
    state-space filter (Hartikainen & Särkkä 2010) whose state is f and its first (3/2) or first two (5/2) derivatives
    in time, O(n²) a step for ever; elsewhere a Gaussian process on the last `window` observations, O(w³) a step.

    It follows a trend beyond the last observation, where tv-gp-ucb would fall back towards 0:

    >>> from driftwise import Candidates
    >>> from driftwise.records import Ask, Observation
    >>> policy = SmoothGpUcb.of(Candidates([[0.0]]), scale=50, noise=1e-4)
    >>> state = policy.start()
    >>> for t in range(1, 11):
    ...     state = policy.update(state, Observation(t, float(t), (0.0,), 0.1 * t))
    >>> mean, _ = policy.belief(state, Ask(number=12, at=12.0)).predict(policy.space.points)
    >>> bool(1.1 < mean[0] < 1.2)
    True
    """

    name: ClassVar[str] = "smooth-gp-ucb"
    shared = takes(*MODEL, "width")

    scale: float
    nu: float
    window: int

    def __post_init__(self) -> None:
        self.settle(
            scale=lambda _, scale: MaternInTime(1.5, scale).scale,
            nu=lambda _, nu: MaternInTime(nu, 1.0).nu,
            window=checks.count,
        )

    @classmethod
    def of(
        cls,
        space: Any,
        *,
        scale: Annotated[float, "time scale of the drift, in units of time"] = 60.0,
        nu: Annotated[float, "smoothness of the drift in time, 1.5 or 2.5"] = 1.5,
        window: Annotated[int | None, "number of newest samples in use on a box"] = None,
        **given: Any,
    ) -> SmoothGpUcb:
        setup = cls.setup(space, given)
        return cls(setup.model, as_width(setup.width), scale, nu, WINDOW if window is None else window)

    @property
    def drift(self) -> MaternInTime:
        return MaternInTime(self.nu, self.scale)

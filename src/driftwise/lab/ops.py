"""The suites `ops`, worlds as live systems have them, and `boba`, eight test functions in time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from driftwise.environments import operations as surfaces
from driftwise.environments.catalogue import on_box, parts
from driftwise.environments.drift import Abrupt, Chain, Drift, Still
from driftwise.environments.levels import CyclingLevel, JumpingLevel, Levelled, LevelPath, Lifted, WalkingLevel
from driftwise.environments.noise import Gaussian, Noise
from driftwise.environments.recorded import unordered
from driftwise.environments.rkhs import Coordinates
from driftwise.environments.searched import Searched
from driftwise.environments.swept import swept
from driftwise.environments.world import World
from driftwise.environments.wrong_readings import Glitches, OneWrong
from driftwise.lab.cases import Case, Suite
from driftwise.lab.zoo import zoo
from driftwise.spaces import Box

HORIZON, SEEDS = 160, 8
STD = 0.1
NOISE = Gaussian(STD)
LEVEL = 1.5  # standard deviation of a level that moves, relative to that of the function
WRONG_AT, WRONG_OFF = 65, 70.0  # the step of the one wrong reading, and by how much it is off
ARMS = 20


def drifting(*, drift: Callable[[int], Drift], noise: Noise = NOISE, seed: int, horizon: int) -> World:
    """A function of an RKHS on a square, as the drift zoo has it on boxes, with a drift that is laid out for T."""
    world = on_box(drift(horizon), seed=seed, dim=2, horizon=horizon, name="ops")
    return World(world.space, world.basis, world.drift, noise, seed, horizon, "ops")


def arms(*, level: Callable[[int], LevelPath], seed: int, horizon: int) -> World:
    """Twenty arms in no order, each with a mean of its own, N(0, 1), and a level that moves for all of them."""
    basis = Lifted(Coordinates(ARMS), LEVEL**2)
    return World(unordered(ARMS), basis, Levelled(Still(), level(horizon)), NOISE, seed, horizon, "arms")


def operated(*, surface: Any, box: Box, noise: Noise, at: tuple[float, ...] = (), seed: int, horizon: int) -> Searched:
    """A surface on its box, read through noise; it changes abruptly at these parts of T."""
    changes = tuple(int(part * horizon) for part in at)
    return Searched(box, surface, noise, seed, horizon, surface.__name__.lower(), changes)


def _still(horizon: int) -> Drift:
    return Still()


def _abrupt(horizon: int) -> Drift:
    return Abrupt(parts(horizon, 0.625))


def _chain(horizon: int, epsilon: float) -> Drift:
    return Chain(epsilon)


def _level(horizon: int, path: str) -> LevelPath:
    if path == "cycle":
        return CyclingLevel(LEVEL, horizon / 4)
    return WalkingLevel(LEVEL, horizon) if path == "walk" else JumpingLevel(LEVEL, parts(horizon, 0.4, 0.8))


def _case(name: str, make: Callable[..., Any], definition: str, *tags: str) -> Case:
    return Case(name, make, HORIZON, SEEDS, definition, tags)


def _wrong(name: str, surface: Any, box: Box, definition: str) -> tuple[Case, ...]:
    """A cost of which every reading is right, and twice the same with one that is not."""
    told = (("none", 0.0, "right"), ("dearer", -WRONG_OFF, "dearer by 70"), ("cheaper", WRONG_OFF, "cheaper by 70"))
    return tuple(
        _operated(
            f"{name}-{which}",
            surface,
            box,
            OneWrong(1.2, WRONG_AT, off),
            f"{definition}, noise of standard deviation 1.2; the reading of step {WRONG_AT} is {words}",
            "still",
            "cost",
        )
        for which, off, words in told
    )


def _operated(name: str, surface: Any, box: Box, noise: Noise, definition: str, *tags: str, at: Any = ()) -> Case:
    make = partial(operated, surface=surface, box=box, noise=noise, at=at)
    return _case(name, make, definition, *tags)


PATHS = (("cycle", "with four periods"), ("walk", "that is a random walk"), ("jumps", "drawn anew after 2T/5 and 4T/5"))

ops = Suite(
    "ops",
    "driftwise",
    "Worlds as live systems have them. T = 160. Functions called smooth are those of the drift zoo on a square: g = "
    "Σ a_i k(·, c_i), 40 centres, ‖g‖_H = 2, ℓ = 0.28, noise of standard deviation 0.1. A cost is minus a reward",
    "All of it is ours. The optimum of a surface without a gradient is that of a scan of thousands of settings and a "
    "refinement.",
    (
        _case("still", partial(drifting, drift=_still), "a smooth function that stands still", "still"),
        _case(
            "glitch",
            partial(drifting, drift=_still, noise=Glitches(STD, 0.03, 10 * STD, 30 * STD)),
            "the same, 3% of readings off by 10 to 30 standard deviations of the noise",
            "still",
        ),
        _case(
            "glitch-far",
            partial(drifting, drift=_still, noise=Glitches(STD, 0.03, 10.0, 30.0)),
            "the same, off by 10 to 30",
            "still",
        ),
        *_wrong(
            "one-wrong", surfaces.ServiceCost, surfaces.SERVICE, "a cost from 30 to 100 of whole numbers and a choice"
        ),
        *_wrong("one-wrong-cube", surfaces.Smooth, surfaces.CUBE, "a smooth cost from 30 to 100 of three numbers"),
        _operated(
            "cliff",
            surfaces.Cliff,
            surfaces.MODES,
            Gaussian(0.03),
            "a smooth cost from 10 to 16, 20 times that for one mode of three, beyond an edge, or both; noise of 3%",
            "still",
            "cost",
        ),
        _operated(
            "timeouts",
            surfaces.Timeouts,
            surfaces.PLANE,
            Gaussian(0.3),
            "a cost from 5 to 15, and 30 without noise beyond an edge; noise of standard deviation 0.3",
            "still",
            "cost",
        ),
        _operated(
            "latency",
            surfaces.Latency,
            surfaces.PLANE,
            Gaussian(surfaces.Latency.STD),
            "the latency of a queue near saturation under a load with four cycles, 4 to 800; noise multiplies, 20%",
            "slow",
            "cost",
        ),
        _operated(
            "throughput",
            surfaces.Throughput,
            surfaces.PLANE,
            Gaussian(1.0),
            "1,000 to 6,000, standing still; noise of 2% to 30%, depending on the place",
            "still",
        ),
        _operated(
            "tenfold",
            surfaces.Tenfold,
            surfaces.PLANE,
            Gaussian(0.05),
            "a cost from 1 to 4; from T/2 on ten times another one, with its optimum elsewhere; noise of 5%",
            "abrupt",
            "cost",
            at=(0.5,),
        ),
        _case("abrupt", partial(drifting, drift=_abrupt), "a new smooth function after 5T/8", "abrupt"),
        _case("slow", partial(drifting, drift=partial(_chain, epsilon=0.01)), "smooth, a chain of ε = 0.01", "slow"),
        _case("fast", partial(drifting, drift=partial(_chain, epsilon=0.05)), "smooth, a chain of ε = 0.05", "slow"),
        _case("hartmann3", partial(swept, "hartmann3"), "Hartmann's, its last coordinate is time", "slow"),
        *(
            _case(
                f"level-{path}",
                partial(zoo, kind=f"level-{path}", dim=2, box=True),
                f"smooth, and a level {words}",
                "level",
            )
            for path, words in PATHS
        ),
        *(
            _case(
                f"arms-{path}",
                partial(arms, level=partial(_level, path=path)),
                f"20 arms, and a level {words}",
                "level",
            )
            for path, words in PATHS
        ),
        _operated("one-of-four", surfaces.OneOfFour, surfaces.FOUR, NOISE, "one of four parameters matters", "still"),
        _operated("peak", surfaces.Peak, surfaces.PLANE, NOISE, "a hill of height 1, a peak of 3, .05 wide", "still"),
        _operated("discrete", surfaces.Discrete, surfaces.DISCRETE, NOISE, "whole numbers and choices only", "still"),
    ),
)

FIRST = 3  # steps at the beginning, which are those of the random queries
BOBA = ("schwefel", "powell", "eggholder", "ackley", "shekel", "griewank", "hartmann3", "hartmann6")

boba = Suite(
    "boba",
    "Kelly et al., Dynamic Bayesian optimisation through Bayesian active inference",
    "Table 1: eight functions whose last coordinate is time, from 0 to 1 over the run: Schwefel in 4 dimensions ±500, "
    "Powell 4 [−4, 5], Eggholder 2 ±512, Ackley 4 ±32, Shekel 4 [0, 10], Griewank 6 ±600, Hartmann 3 and 6 [0, 1]; 120 "
    "queries after 15 at random; noise variance 2.5% of the signal's; 10 runs",
    "The bounds are the usual ones. The random queries are in the first three of 123 steps of time, five in each. They "
    "do not count; `benchmarks.honest` makes them. f is less its mean and over its standard deviation, and x in the "
    "unit cube.",
    tuple(
        Case(
            name,
            partial(swept, name, noise=0.025),
            120 + FIRST,
            10,
            "its last coordinate is time",
            ("box", "moving-optimum"),
        )
        for name in BOBA
    ),
)

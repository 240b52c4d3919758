"""The Python API under random arguments, plausible and nasty: every call gives a value or a DriftwiseError, soon.

A case is a line of Python, so that a finding can be pasted: `python -c "from tests.fuzz import api; api.do('…')"`.
Names, options and signatures are read off the package, so that what is added to it is tried, too.
"""

from __future__ import annotations

import decimal  # noqa: F401 (for the cases)
import fractions  # noqa: F401
import inspect
import itertools
import math
import random
import resource
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from tests.fuzz.arguments import NASTY, PLAUSIBLE

import driftwise as dw
from driftwise import environments, lab, policies, records, spaces, theory
from driftwise.errors import DriftwiseError
from driftwise.gp import belief as acquisition
from driftwise.gp import kernels, time_kernels
from driftwise.log import codec
from driftwise.policies import ldp, ranges, tgp_ucb  # noqa: F401
from driftwise.theory import domains, information, promises, widths

SECONDS, PATIENCE = 5.0, 60.0  # a call may compute, and may wait on a busy machine
MEMORY = 8 * 2**30  # bytes of address space, all told


@dataclass(frozen=True)
class Target:
    """A line that calls something: `text` with the arguments in place of …, and which arguments it takes."""

    text: str
    parameters: tuple[inspect.Parameter, ...]


# --- what a case may name ----------------------------------------------------------------------------------------

GRID = dw.Candidates([[0.0], [0.3], [0.6], [1.0]])
GRID2 = dw.Candidates(np.array(list(itertools.product((0.0, 0.5, 1.0), repeat=2))))
BOX = {"x": dw.Float(0, 1)}
WORLD = dw.environment("deng-abrupt", horizon=10)
POLICY = dw.policy("sw-gp-ucb", GRID, window=5)
MODEL = acquisition.Model(GRID)
AUTO = dw.policy("auto", GRID)
OBSERVED = records.Observation(1, 1.0, (0.3,), 0.5)
SUGGESTION = records.Suggestion("1-none", 1, {"x": 0.5}, 1.0, "key", (0.5,))
GAIN = information.MaximumGain(dw.RBF(0.2), 0.1, GRID.coordinates)
PROBLEM = theory.Problem(GAIN.upper, 50, 1.0)
BELIEF = dw.Posterior(dw.RBF(0.2), 0.01).append([0.5], 1.0)
BASIS = environments.Expansion(dw.RBF(0.2), GRID, 1.0)
nan, inf = math.nan, math.inf


class Broken:
    """An object that cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


def nested(depth: int) -> list[Any]:
    """A list in a list in a list …"""
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner


class Unusable(Exception):
    """What was made without complaint fails where it is used."""


def played(policy: Any) -> Any:
    """A policy that was made must play, too."""
    study = dw.Study("fuzz", policy=policy, seed=1)
    try:
        for reward in (0.5, -3.0, 1e6, 0.5):
            study.tell(study.ask(), reward)
        study.ask()  # and one is pending
        study.ask()
    except DriftwiseError as error:
        raise Unusable(str(error)) from error
    if policy.name != "random":
        best = study.recommend()
        assert np.isfinite([best.mean, best.std]).all(), f"it recommends {best}"
    return study


def visited(world: Any) -> Any:
    """A world that was made must answer, too."""
    x = world.space.points[0] if world.space.points is not None else np.full(world.space.dim, 0.5)
    try:
        for t in (1, 2, min(world.horizon, 70)):
            assert math.isfinite(world.observe(t, x)), "a reward is not finite"
            assert world.best(t) >= world.value(t, x[None])[0] - 1e-6 * abs(world.best(t)), "the best is not the best"
    except DriftwiseError as error:
        raise Unusable(str(error)) from error
    return world


def used(kernel: Any) -> Any:
    """A kernel that was made gives finite numbers, unless it is for another dimension."""
    X = np.array([[0.0], [0.3], [1.0]])
    values = kernel(X, X), kernel.diagonal(X)
    assert all(np.isfinite(v).all() for v in values), "an entry is not finite"
    kernel.gradient(X, X)
    return kernel


def timed(kernel: Any) -> Any:
    """A kernel of time that was made gives finite numbers at times of any size."""
    for t in (np.array([0.0, 1.0, 2.5]), np.array([0.0, 1.7e12])):
        assert np.isfinite(kernel(t, t)).all(), "an entry is not finite"
        assert np.isfinite(kernel.diagonal(t)).all(), "an entry is not finite"
    return kernel


def wide(width: Any) -> Any:
    """A width that was made gives a finite number."""
    for number in (1, 10, 10**6):
        assert math.isfinite(width(BELIEF, number)), "the width is not finite"
    return width


def drawn(noise: Any) -> Any:
    """A noise that was made draws finite numbers."""
    assert all(map(math.isfinite, (noise.R, noise.variance, noise.draw(0, 1), noise.draw(1, 7)))), "it is not finite"
    return noise


def studied(method: str, *args: Any, **options: Any) -> Any:
    """A method of a study that has rewards; where it fails, nothing has changed and the study goes on."""
    study = dw.Study("fuzz", space=BOX, policy="auto" if "drift" in method else "sw-gp-ucb")
    for reward in (0.5, 1.0, 0.7):
        study.tell(study.ask(), reward)
    study.ask(key="awaited")
    before = list(study.observations()), study.pending()
    try:
        return getattr(study, method)(*args, **options)
    except Exception:
        assert (list(study.observations()), study.pending()) == before, "a call that failed changed the study"
        study.ask()
        raise


# --- the cases ---------------------------------------------------------------------------------------------------


def targets() -> list[Target]:
    """Everything that is public."""
    return list(itertools.chain(_policies(), _environments(), _makers(), _functions(), _methods()))


def _policies() -> Iterator[Target]:
    for name in policies.REGISTRY:
        options = tuple(policies.options_of(name).values())
        space = inspect.Parameter("space", inspect.Parameter.POSITIONAL_ONLY)
        yield from [Target(f"played(dw.policy({name!r}, …))", (space, *options))] * 4
        yield _target(f"played(policies.REGISTRY[{name!r}](…))", policies.REGISTRY[name])
    yield Target("played(dw.policy('ldp', …, inner='tgp-ucb', window=3))", (space,))


def _environments() -> Iterator[Target]:
    for name in environments.REGISTRY:
        options = tuple(environments.options_of(name).values())
        yield Target(f"visited(dw.environment({name!r}, …))", options)


def _makers() -> Iterator[Target]:
    """Descriptions, each put to use once it is made."""
    for module, use in ((kernels, "used"), (time_kernels, "timed"), (widths, "wide")):
        for name, cls in vars(module).items():
            ours = (
                inspect.isclass(cls) and cls.__module__ == module.__name__ and not getattr(cls, "_is_protocol", False)
            )
            if ours and any("__call__" in vars(base) for base in cls.__mro__):  # others are to be derived from
                short = module.__name__.rpartition(".")[2]
                wrap = "" if name in ("SpaceTime", "Empirical") else use
                yield _target(f"{wrap}({short}.{name}(…))", cls)
    for name in environments.__all__:
        made = getattr(environments, name)
        if inspect.isclass(made) and not getattr(made, "_is_protocol", False):
            use = "drawn" if hasattr(made, "draw") and hasattr(made, "R") else ""
            use = "visited" if name in ("World", "Moving") else use
            yield _target(f"{use}(environments.{name}(…))", made)
    yield _target("visited(environments.recorded(…))", environments.recorded)
    yield _target("visited(environments.swept(…))", environments.swept)
    for name in ("Box", "Candidates", "Choice", "Float", "Int"):
        yield _target(f"spaces.{name}(…)", getattr(spaces, name))


def _functions() -> Iterator[Target]:
    for module in (theory, lab):
        short = module.__name__.rpartition(".")[2]
        for name in module.__all__:
            if name not in ("run", "Interval", "GainCurve"):
                yield _target(f"{short}.{name}(…)", getattr(module, name))
    for name in ("dumps", "loads", "encode", "decode"):
        yield _target(f"codec.{name}(…)", getattr(codec, name))
    for name in ("rbf_order", "matern_order", "matern_order_2009", "linear_order"):
        yield _target(f"information.{name}(…)", getattr(information, name))
    yield _target("promises.promises(…)", promises.promises)
    yield _target("domains.cube(…)", domains.cube)
    yield _target("spaces.as_space(…)", spaces.as_space)
    yield _target("list(itertools.islice(dw.run(…), 3))", dw.run)
    yield _target("dw.policy(…)", dw.policy)
    yield _target("dw.environment(…)", dw.environment)
    yield _target("dw.Posterior(…)", dw.Posterior)
    yield _target("GAIN(…)", GAIN.__call__)
    yield _target("GAIN.upper(…)", GAIN.upper)


def _methods() -> Iterator[Target]:
    whole = inspect.signature(dw.Study.__init__).parameters.values()
    kept = tuple(p for p in whole if p.name not in ("self", "path") and p.kind is not p.VAR_KEYWORD)
    yield from [Target("dw.Study(…).ask()", kept)] * 4
    for name in ("ask", "tell", "observe", "abandon", "recommend", "drift", "drift_history", "latest", "belief"):
        yield from [_target(f"studied({name!r}, …)", getattr(dw.Study, name))] * 2
    for name in ("__call__", "diagonal", "gradient"):
        for kernel in ("dw.RBF()", "dw.Matern()", "dw.Linear()", "kernels.Level()", "kernels.Empirical(((1.0,),))"):
            yield _target(f"{kernel}.{name}(…)", getattr(dw.RBF, name))
    for name in ("append", "predict", "predict_gradient", "weights", "imagine", "observe"):
        yield _target(f"BELIEF.{name}(…)", getattr(dw.Posterior, name))
    for space in ("GRID", "spaces.Box.of(BOX)", "spaces.as_space({'a': dw.Choice(['u', 'v']), 'n': dw.Int(1, 4)})"):
        for name in ("to_unit", "from_unit"):
            yield _target(f"{space}.{name}(…)", getattr(spaces.Box, name))
    for parameter in ("dw.Float(0, 1)", "dw.Int(1, 9, log=True)", "dw.Choice(['u', 'v'])"):
        for name in ("encode", "decode"):
            yield _target(f"{parameter}.{name}(…)", getattr(dw.Float, name))
    for name in ("value", "observe", "best", "best_x", "variation", "sup_variation", "seeded", "norm", "bound"):
        yield _target(f"WORLD.{name}(…)", getattr(environments.World, name))


def _target(text: str, called: Callable[..., Any]) -> Target:
    parameters = inspect.signature(called).parameters.values()
    return Target(text, tuple(p for p in parameters if p.name != "self" and p.kind is not p.VAR_KEYWORD))


def case(target: Target, rng: random.Random) -> str:
    """A line: most arguments plausible, or left out where they may be, and one or two drawn from anything."""
    named = target.parameters
    nasty = rng.sample(range(len(named)), min(rng.choice((0, 1, 1, 1, 2)), len(named)))
    given = []
    for i, parameter in enumerate(named):
        if i not in nasty and parameter.default is not parameter.empty and rng.random() < 0.75:
            continue
        value = rng.choice(NASTY) if i in nasty else rng.choice(_plausible(parameter))
        given.append(value if parameter.kind is parameter.POSITIONAL_ONLY else f"{parameter.name}={value}")
    return target.text.replace("…", ", ".join(given))


def _plausible(parameter: inspect.Parameter) -> tuple[str, ...]:
    if parameter.annotation == "Range":
        return ("ranges.Range()",)
    if parameter.annotation == "Noise":
        return ("environments.Gaussian(0.1)",)
    if parameter.name in PLAUSIBLE:
        return PLAUSIBLE[parameter.name]
    if isinstance(parameter.default, int | float | str | tuple | None):
        return (repr(parameter.default),)
    return ("3",) if parameter.annotation == "int" else ("0.5",)


# --- what becomes of them ----------------------------------------------------------------------------------------


class _Late(BaseException):
    """The time is over; not an Exception, so that nothing catches it on its way."""


def do(line: str) -> Any:
    """Evaluate a case, with warnings as errors, within SECONDS of computing and PATIENCE of waiting."""
    with warnings.catch_warnings(), _clock(signal.ITIMER_PROF, SECONDS), _clock(signal.ITIMER_REAL, PATIENCE):
        warnings.simplefilter("error")
        return eval(line, globals())  # the lines are made above


@contextmanager
def _clock(timer: int, seconds: float) -> Iterator[None]:
    def late(*_: Any) -> None:
        raise _Late

    if threading.current_thread() is not threading.main_thread():
        yield  # only there can a signal be caught
        return
    which = signal.SIGPROF if timer == signal.ITIMER_PROF else signal.SIGALRM
    before = signal.signal(which, late)
    signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        signal.setitimer(timer, 0)
        signal.signal(which, before)


def complaint(line: str) -> str | None:
    """What is wrong with a case; None where all is well."""
    try:
        do(line)
    except DriftwiseError as error:
        text = str(error)
        if len(text) > 2000 or not _printable(text):
            return f"{type(error).__name__} of {len(text)} characters that cannot be shown"
        return None
    except _Late:
        return f"takes more than {SECONDS:g} s"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        return f"{type(error).__name__}: {str(error)[:160]!r}"
    return None


def _printable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def run(tries: int, seed: int, start: int = 0) -> list[str]:
    """The findings of so many cases, each a line of Python and what is wrong with it."""
    known, findings = targets(), []
    with _little_memory():
        for number in range(start, start + tries):
            rng = random.Random(f"{seed} {number}")  # so that one case can be had again
            line = case(rng.choice(known), rng)
            wrong = complaint(line)
            if wrong is not None:
                findings.append(f"{line}  # {wrong}; try {number} of seed {seed}")
    return findings


@contextmanager
def _little_memory() -> Iterator[None]:
    """What asks for more than MEMORY fails rather than the machine."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


__all__ = ["complaint", "do", "run", "targets"]

"""What users write on the command line, as the library's own objects."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from driftwise.cli import limits
from driftwise.errors import DriftwiseError, InvalidInput
from driftwise.feasible import Limit
from driftwise.gp.kernels import RBF, Kernel, Linear, Matern
from driftwise.lookup import is_imported
from driftwise.policies import checked
from driftwise.policies.registry import ORACLE
from driftwise.spaces import Choice, Float, Int, Parameter, Space

if TYPE_CHECKING:
    from driftwise.lab.cases import Case
    from driftwise.lab.trials import Contender, Entrant

KERNELS = "rbf:LENGTHSCALE, matern:NU:LENGTHSCALE or linear"


def policy(spec: str) -> Contender:
    """NAME or NAME:KEY=VALUE,KEY=VALUE, where NAME may be module:Class.

    >>> policy("sw-gp-ucb:window=50,kernel=rbf:0.2")
    Contender(label='sw-gp-ucb:window=50,kernel=rbf:0.2', name='sw-gp-ucb',
    options=(('window', 50), ('kernel', RBF(lengthscale=0.2))))
    """
    from driftwise.lab.trials import Contender  # loads the lab, which a study does not need

    name, options = named(spec, what="a policy")
    return Contender(spec, name, tuple(checked(name, options).items()))


def chosen(spec: str | None) -> tuple[str, dict[str, Any]] | None:
    """The same as a study takes it; None if none is given."""
    found = None if spec is None else policy(spec)
    return None if found is None else (found.name, dict(found.options))


def entrants(specs: Iterable[str]) -> list[Entrant]:
    """Policies as `policy` reads them, and the reference `oracle`, at each of its widths unless one is given.

    >>> [entrant.label for entrant in entrants(["auto", "oracle:width=2"])]
    ['auto', 'oracle:width=2']
    """
    from driftwise.lab.oracle import references

    found: list[Entrant] = []
    for spec in specs:
        name, options = named(spec, what="a policy")
        found += references(options) if name == ORACLE else [policy(spec)]
    return found


def entrant(spec: str) -> Entrant:
    """One policy as `entrants` reads them, as a table prints it."""
    return entrants([spec])[0]


def case(suite: str, name: str) -> Case:
    """A case by its names, as tables print them: of a suite, or a world of --env.

    >>> case("deng", "abrupt").horizon, case("environments", "still:noise_std=0.2").environment().noise.std
    (500, 0.2)
    """
    from driftwise.lab import named as worlds
    from driftwise.lab import recordings, suites

    if suite == recordings.SUITE:
        raise InvalidInput(f"{suite}/{name} cannot be run again: its files are not kept with the results")
    if suite != worlds.SUITE:
        return suites.suite(suite).case(name)
    with making(name):
        return worlds.environments([named(name, what="an environment")]).cases[0]


def named(spec: str, *, what: str) -> tuple[str, dict[str, Any]]:
    """NAME:KEY=VALUE,KEY=VALUE as a name and a dict.

    The name may be module:Class.

    >>> named("bogunovic:epsilon=0.03", what="an environment")
    ('bogunovic', {'epsilon': 0.03})
    >>> named("mypackage.greedy:EpsilonGreedy:epsilon=0.2", what="a policy")
    ('mypackage.greedy:EpsilonGreedy', {'epsilon': 0.2})
    """
    name, _, rest = spec.partition(":")
    own, _, after = rest.partition(":")
    if is_imported(f"{name}:{own}"):
        name, rest = f"{name}:{own}", after
    options: dict[str, Any] = {}
    for part in rest.split(",") if rest else []:
        key, sign, value = part.partition("=")
        if not sign or not key or not value:
            raise InvalidInput(f"{what} is written NAME or NAME:KEY=VALUE,KEY=VALUE, got {part!r} in {spec!r}")
        if key in options:
            raise InvalidInput(f"option {key!r} is given twice in {spec!r}")
        options[key] = kernel(value) if key.endswith("kernel") else scalar(value)
        if key in limits.LIMITS and isinstance(options[key], int):
            limits.within(**{key: options[key]})
    return name, options


@contextmanager
def making(spec: str) -> Iterator[None]:
    """Around making something from typed options: what Python raises there is reported as a wrong option."""
    try:
        yield
    except DriftwiseError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise InvalidInput(f"{spec!r:.200} cannot be made with these options: {error}") from error


def kernel(spec: str) -> Kernel:
    """rbf:0.2, matern:2.5:0.2 or linear; several lengthscales as 0.2x0.5, one a dimension.

    >>> kernel("matern:1.5:0.3")
    Matern(nu=1.5, lengthscale=0.3)
    >>> kernel("rbf:0.2x0.5")
    RBF(lengthscale=(0.2, 0.5))
    """
    name, *numbers = spec.split(":")
    try:
        if name == "rbf" and len(numbers) <= 1:
            return RBF(*map(_lengthscale, numbers))
        if name == "matern" and len(numbers) <= 2:
            return Matern(*([float(numbers[0])] if numbers else []), *map(_lengthscale, numbers[1:]))
        if name == "linear" and not numbers:
            return Linear()
    except InvalidInput:
        raise
    except ValueError:
        pass
    raise InvalidInput(f"a kernel is written {KERNELS}, got {spec!r}")


def _lengthscale(written: str) -> Any:
    numbers = tuple(float(part) for part in written.split("x"))
    return numbers[0] if len(numbers) == 1 else numbers


def scalar(written: str) -> Any:
    """A whole number, a number, true or false, or else the text itself.

    >>> [scalar(s) for s in ("5", "5.0", "1e-4", "true", "inf", "best")]
    [5, 5.0, 0.0001, True, inf, 'best']
    """
    for read in (int, float):
        try:
            return read(written)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(written.lower(), written)


def space(given: Iterable[tuple[str, str]]) -> dict[str, Parameter]:
    """The parameters of a study; refused if there are none."""
    made = parameters(given)
    if not made:
        ways = ", ".join(f"{option} {example}" for option, (example, _) in PARAMETERS.items())
        raise InvalidInput(f"a study needs at least one parameter; give one or more of {ways}")
    return made


def parameters(given: Iterable[tuple[str, str]]) -> dict[str, Parameter]:
    """Parameters in the order given, each as its option and its text.

    >>> parameters([("--float", "rate=1e-4:1:log"), ("--int", "n=1:10"), ("--choice", "mode=a,b")])
    {'rate': Float(low=0.0001, high=1.0, log=True), 'n': Int(low=1, high=10, log=False),
    'mode': Choice(values=('a', 'b'))}
    """
    parameters: dict[str, Parameter] = {}
    for option, spec in given:
        example, make = PARAMETERS[option.replace("--context-", "--")]
        name, sign, rest = spec.partition("=")
        if not sign or not name or not rest:
            raise InvalidInput(f"{option} is written as {example}, got {spec!r}")
        if name in parameters:
            raise InvalidInput(f"parameter {name!r} is given twice; each needs its own name")
        try:
            parameters[name] = make(rest)
        except InvalidInput as error:
            raise InvalidInput(f"parameter {name!r}: {error}") from None
    return parameters


def _range(written: str, number: Callable[[str], Any]) -> tuple[Any, Any, bool]:
    match = re.fullmatch(r"([^:]+):([^:]+?)(:log)?", written)
    try:
        if match:
            return number(match[1]), number(match[2]), match[3] is not None
    except ValueError:
        pass
    kind = "whole numbers" if number is int else "numbers"
    raise InvalidInput(f"a range is two {kind} as LOW:HIGH or LOW:HIGH:log, got {written!r}")


PARAMETERS: dict[str, tuple[str, Callable[[str], Parameter]]] = {  # an example of each, and how it is made
    "--float": ("price=5:20", lambda s: Float(*_range(s, float))),
    "--int": ("n=1:10", lambda s: Int(*_range(s, int))),
    "--choice": ("mode=a,b", lambda s: Choice(tuple(scalar(value) for value in s.split(",")))),
}


def params(pairs: Iterable[str], space: Space | None) -> dict[str, Any]:
    """price=12.5 mode=a as a dict, with the values that the space's choices have.

    >>> from driftwise.spaces import as_space
    >>> params(["price=12.5", "mode=7"], as_space({"price": Float(5, 20), "mode": Choice(["7", "8"])}))
    {'price': 12.5, 'mode': '7'}
    """
    chosen = {name: written(p) for name, p in getattr(space, "parameters", ()) if isinstance(p, Choice)}
    made: dict[str, Any] = {}
    for name, value in _pairs(pairs, "a setting"):
        if name in made:
            raise InvalidInput(f"parameter {name!r} is given twice")
        made[name] = chosen.get(name, {}).get(value, scalar(value))
    return made


def some_params(pairs: Iterable[str] | None, space: Space | None) -> dict[str, Any] | None:
    """The same for parameters that need not be given: None if there are none."""
    return params(pairs, space) if pairs else None


def measures(pairs: Iterable[str] | None) -> dict[str, float] | None:
    """p99_ms=180 errors=0 as a dict of numbers; None if nothing was measured.

    >>> measures(["p99_ms=180", "errors=0"])
    {'p99_ms': 180.0, 'errors': 0.0}
    """
    made: dict[str, float] = {}
    for name, value in _pairs(pairs or (), "a measure"):
        if name in made:
            raise InvalidInput(f"measure {name!r} is given twice")
        try:
            made[name] = float(value)
        except ValueError:
            raise InvalidInput(f"measure {name!r} must be a number, got {value!r:.80}") from None
    return made or None


def _pairs(written: Iterable[str], what: str) -> Iterator[tuple[str, str]]:
    for pair in written:
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise InvalidInput(f"{what} is written NAME=VALUE, got {pair!r:.80}")
        yield name, value


def limits_on(given: Iterable[str] | None) -> dict[str, Limit] | None:
    """Limits by the name of their measure; a measure may have one on each side.

    >>> limits_on(["p99_ms<=200", "hits >= 0.5", "hits <= 1"])
    {'p99_ms': Limit(low=None, high=200.0), 'hits': Limit(low=0.5, high=1.0)}
    """
    ends: dict[str, dict[str, float]] = {}
    for written in given or ():
        match = re.fullmatch(r"\s*(.+?)\s*(<=|>=)\s*([^<>=]+)", written)
        try:
            name, end, value = match[1], "high" if match[2] == "<=" else "low", float(match[3])  # type: ignore[index]
        except (ValueError, TypeError):
            raise InvalidInput(f"a limit is written as p99_ms<=200 or hits>=0.5, got {written!r:.80}") from None
        if end in ends.setdefault(name, {}):
            raise InvalidInput(f"measure {name!r} has two limits on the same side; give one, got {written!r:.80}")
        ends[name][end] = value
    return {name: Limit(**sides) for name, sides in ends.items()} or None


def written(choice: Choice) -> dict[str, Any]:
    """Its values by how they are written; what is ambiguous, as 7 and "7", is left to `scalar`."""
    names = [str(value) for value in choice.values]
    return {name: value for name, value in zip(names, choice.values, strict=True) if names.count(name) == 1}

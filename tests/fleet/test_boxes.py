"""A fleet on a box: points that all keys share, refined around the best, with the promises of a fleet on candidates."""

from __future__ import annotations

import numpy as np
import pytest

import driftwise as dw
from driftwise.errors import InvalidInput
from driftwise.fleet.overview import overview
from driftwise.fleet.page import fleet_page
from driftwise.spaces import Box, Mesh
from driftwise.spaces.mesh import best_places

BOX = {"price": dw.Float(5, 20), "size": dw.Float(1, 100, log=True)}
MODEL = {"kernel": dw.Matern(2.5, 0.3), "noise": 0.02}
POLICIES = {"sw-gp-ucb": {"window": 12}, "r-gp-ucb": {"interval": 9}, "gp-ucb": {}, "tv-gp-ucb": {"epsilon": 0.03}}
ENGINES = ["numpy", "compiled"]


def made(engine, policy="sw-gp-ucb", space=None, **given):
    if engine == "compiled":
        pytest.importorskip("numba", reason="the compiled engine needs Numba")
    return dw.Fleet("test", space or BOX, policy, engine=engine, **MODEL | POLICIES[policy] | given)


def rewards(points, step):
    noise = 0.1 * np.random.default_rng(step).standard_normal(len(points))
    return 3 + np.sin(5 * points[:, 0] + np.arange(len(points)) + step / 20) - (points[:, 1] - 0.4) ** 2 + noise


def mesh_of(fleet):
    assert isinstance(fleet.definition.policy.space, Mesh)
    return fleet.definition.policy.space


# --- the points -----------------------------------------------------------------------------------------------------


def test_the_points_are_settings_and_cover_the_box():
    box = Box.of({"a": dw.Float(0, 1), "n": dw.Int(1, 500, log=True), "c": dw.Choice(["x", "y", "z"])})
    mesh = Mesh(box)
    points = mesh.points
    assert points.shape == (256 * 8, 5)
    assert np.array_equal(box.snap(points), points)  # every one is a setting
    for x in points[::97].tolist():  # and comes back from the user's units
        assert mesh.to_unit(mesh.from_unit(tuple(x))) == pytest.approx(tuple(x), abs=1e-12)
    coarse = points[::8]
    assert len(np.unique(coarse, axis=0)) == 256
    assert {tuple(row) for row in coarse[:, 2:].tolist()} == {(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)}
    assert coarse[:, 0].min() == 0.0  # faces are there
    assert coarse[:, 0].max() == 1.0
    blocks = points.reshape(256, 8, 5)
    assert np.array_equal(np.ptp(blocks[:, :, 2:], axis=1), np.zeros((256, 3)))  # a block has one choice
    reach = 0.75 * (256 / 3) ** -0.5
    assert np.abs(blocks[:, :, 0] - blocks[:, :1, 0]).max() <= reach + 1e-12


def test_no_point_of_a_square_is_far_from_one_of_the_mesh():
    mesh = Mesh(Box.of({"a": dw.Float(0, 1), "b": dw.Float(0, 1)}))
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 41), np.linspace(0, 1, 41)), -1).reshape(-1, 2)
    for points, most in ((mesh.points[::8], 0.1), (mesh.points, 0.05)):
        assert np.abs(grid[:, None] - points[None]).max(axis=2).min(axis=1).max() < most


def test_the_best_is_that_of_the_best_block():
    scores = np.random.default_rng(0).random((5, 24))
    for row, found in zip(scores, best_places(scores, 4).tolist(), strict=True):
        first = max(range(0, 24, 4), key=lambda i: row[i])
        assert found == max(range(first, first + 4), key=lambda i: row[i])


@pytest.mark.parametrize(
    ("space", "words"),
    [
        ({f"x{i}": dw.Float(0, 1) for i in range(65)}, "at most 64 coordinates.*got 65 coordinates"),
        ({"a": dw.Choice(list(range(60))), "b": dw.Choice(list(range(60)))}, "a Float or an Int"),
        ({"a": dw.Choice([str(i) for i in range(40)]), "b": dw.Choice([str(i) for i in range(99)])}, "give candidates"),
    ],
)
def test_boxes_that_points_cannot_cover_are_refused(space, words):
    with pytest.raises(InvalidInput, match=words):
        dw.Fleet("x", space)


# --- the promises ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("engine", "policy"), [("numpy", each) for each in POLICIES] + [("compiled", each) for each in list(POLICIES)[:2]]
)
@pytest.mark.parametrize("standardise", [False, True])
def test_the_choices_are_those_of_studies_on_the_same_points(engine, policy, standardise):
    """With rewards that are missing, so that suggestions are pending."""
    fleet = made(engine, policy, standardise=standardise, patience=5)
    options = MODEL | POLICIES[policy] | {"standardise": standardise, "patience": 5}
    studies = [dw.Study(key, mesh_of(fleet), policy, **options) for key in "abc"]
    finer = 0
    for step in range(30):
        batch = fleet.ask(list("abc"))
        suggestions = [study.ask() for study in studies]
        assert batch.points.tolist() == [list(s.x) for s in suggestions], step
        assert batch.params == [s.params for s in suggestions]
        finer += int((batch.where % mesh_of(fleet).block > 0).sum())
        y = rewards(batch.points, step)
        y[np.random.default_rng(step).random(3) < 0.2] = np.nan
        fleet.tell(batch, y)
        for study, s, value in zip(studies, suggestions, y.tolist(), strict=True):
            if not np.isnan(value):
                study.tell(s, value)
    assert (finer > 0) == (policy in ("sw-gp-ucb", "r-gp-ucb"))  # others have the coarse points alone
    advice = fleet.recommend(list("abc"))
    for i, study in enumerate(studies):
        expected = study.recommend()
        assert advice.params[i] == mesh_of(fleet).from_unit(tuple(advice.points[i])) == expected.params
        assert advice.mean[i] == pytest.approx(expected.mean, abs=1e-9)
        assert advice.std[i] == pytest.approx(expected.std, abs=1e-9)


@pytest.mark.parametrize("policy", ["sw-gp-ucb", "r-gp-ucb"])
@pytest.mark.parametrize("standardise", [False, True])
def test_beliefs_at_coarse_points_and_in_blocks_are_those_of_dense_algebra(policy, standardise):
    fleet = made("compiled", policy, standardise=standardise)
    engine, points, log = fleet._places[0].shard.engine, mesh_of(fleet).points, []
    K = MODEL["kernel"](points, points)
    for step in range(40):
        batch = fleet.ask(["k"])
        y = float(rewards(batch.points, step)[0])
        fleet.tell(batch, [y])
        log.append((int(batch.where[0]), y))
        where, seen = (np.array(e) for e in zip(*log[-(12 if policy == "sw-gp-ucb" else step % 9 + 1) :], strict=True))
        location, scale = (seen.mean(), seen.std() or 1.0) if standardise else (0.0, 1.0)
        A = K[np.ix_(where, where)] + MODEL["noise"] * np.eye(len(where))
        mean = location + scale * K[:, where] @ np.linalg.solve(A, (seen - location) / scale)
        std = scale * np.sqrt(np.maximum(1 - np.einsum("nw,wn->n", K[:, where], np.linalg.solve(A, K[where])), 0))
        found = engine.predict(np.array([0]), np.array([step + 1], np.int32))
        assert np.abs(found[0][0] - mean[::8]).max() < 1e-9
        assert np.abs(found[1][0] - std[::8]).max() < 1e-8
        slots, first = engine._slots(np.array([0])), np.array([8 * (step % 256)], np.int32)
        found = engine._in_units(slots, engine.beliefs.near(slots, engine.count[slots], first))
        block = slice(first[0], first[0] + 8)
        assert np.abs(found[0][0] - mean[block]).max() < 1e-9
        assert np.abs(found[1][0] - std[block]).max() < 1e-8


@pytest.mark.parametrize("standardise", [False, True])
def test_surprises_are_those_of_the_other_engine(standardise):
    both = [made(engine, standardise=standardise) for engine in ENGINES]
    for step in range(40):
        for fleet in both:
            batch = fleet.ask(list("abc"))
            fleet.tell(batch, rewards(batch.points, step))
    one, other = (fleet.drift() for fleet in both)
    assert one.spread == pytest.approx(other.spread, rel=1e-9)
    assert one.alarms.tolist() == other.alarms.tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_it_comes_back_as_it_was(engine, tmp_path):
    keys = ["a", 7]
    with made(engine, path=tmp_path) as fleet, made(engine) as twin:
        for step in range(20):
            for each in (fleet, twin):
                batch = each.ask(keys)
                each.tell(batch, rewards(batch.points, step))
            if step == 8:
                fleet.snapshot()
        waiting = [each.ask(keys) for each in (fleet, twin)]
    with dw.Fleet.open("test", path=tmp_path) as again:  # by its name alone
        assert again.definition == fleet.definition
        assert again.ask(keys).params == twin.ask(keys).params
    with made(engine, path=tmp_path) as again:  # with its definition given again
        assert again.tell(waiting[0], [1.0, 2.0]) == twin.tell(waiting[1], [1.0, 2.0])
        assert np.array_equal(again.ask(keys).where, twin.ask(keys).where)


def test_what_memory_holds_changes_no_choice():
    from_streams, twin = made("compiled"), made("compiled")
    engine = from_streams._places[0].shard.engine
    for step in range(30):
        batches = [fleet.ask(list("abc")) for fleet in (from_streams, twin)]
        assert np.array_equal(batches[0].where, batches[1].where)
        for fleet, batch in zip((from_streams, twin), batches, strict=True):
            fleet.tell(batch, rewards(batch.points, step))
        for row in range(3):
            engine.forget(row)


def test_the_page_names_the_points_and_the_units_of_the_user():
    fleet = made("numpy")
    for step in range(3):
        batch = fleet.ask(list(range(4)))
        fleet.tell(batch, rewards(batch.points, step))
    page = fleet_page(overview(fleet), version="0")
    assert "256 points of the box and 7 around each" in page
    assert "The advised values of price" in page
    assert all(5 <= params["price"] <= 20 and 1 <= params["size"] <= 100 for params in overview(fleet).advised)

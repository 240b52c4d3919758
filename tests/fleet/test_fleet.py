"""A fleet asks what a study of each key would ask, takes each reward once, and comes back as it was."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

import driftwise as dw
from driftwise.errors import ConflictError, InvalidInput, NotFoundError, StoreError
from driftwise.fleet import Outcomes
from driftwise.fleet.places import shard_of
from driftwise.fleet.streams import Streams

POINTS = np.random.default_rng(5).random((40, 2))
ENGINES = ["numpy", "compiled", "gpu"]
POLICIES = {
    "sw-gp-ucb": {"window": 12},
    "r-gp-ucb": {"interval": 9},
    "gp-ucb": {},
    "tv-gp-ucb": {"epsilon": 0.03},
}
MODEL = {"kernel": dw.Matern(2.5, 0.3), "noise": 0.05}


def need(engine):
    """Skips where an engine cannot be had."""
    if engine == "compiled":
        pytest.importorskip("numba", reason="the compiled engine needs Numba")
    if engine == "gpu":
        pytest.importorskip("triton", reason="the engine on a GPU needs Triton")
        if not pytest.importorskip("torch", reason="the engine on a GPU needs PyTorch").cuda.is_available():
            pytest.skip("the engine on a GPU needs a CUDA device")


def made(engine, policy="sw-gp-ucb", **given):
    need(engine)
    options = MODEL | POLICIES[policy] | given
    return dw.Fleet("test", dw.Candidates(POINTS), policy, engine=engine, **options)


def rewards(points, keys, step):
    """Every key has a wave of its own that moves."""
    phase = np.array([hash(str(key)) % 97 for key in range(len(keys))])
    rng = np.random.default_rng(step)
    return 3 + np.sin(5 * points[:, 0] + phase + step / 20) + points[:, 1] + 0.2 * rng.standard_normal(len(points))


WINDOWS = ["sw-gp-ucb", "r-gp-ucb"]
BOTH = [("numpy", each) for each in POLICIES] + [(engine, each) for engine in ENGINES[1:] for each in WINDOWS]


@pytest.mark.parametrize(("engine", "policy"), BOTH)
@pytest.mark.parametrize("standardise", [False, True])
def test_the_choices_are_those_of_studies(engine, policy, standardise):
    """With rewards that are missing and late, and keys that are asked twice."""
    fleet = made(engine, policy, standardise=standardise, patience=5)
    keys = ["a", "b", 3, "c"]
    options = MODEL | POLICIES[policy] | {"standardise": standardise}
    studies = [dw.Study(str(key), dw.Candidates(POINTS), policy, patience=5, **options) for key in keys]
    late = []
    for step in range(45):
        asked = [0, 1, 2, 3, 0] if step % 6 == 0 else [0, 1, 2, 3]
        batch = fleet.ask([keys[i] for i in asked])
        suggestions = [studies[i].ask() for i in asked]
        assert batch.points.tolist() == [list(s.x) for s in suggestions], step
        y = rewards(batch.points, asked, step)
        y[np.random.default_rng(step).random(len(y)) < 0.2] = np.nan
        fleet.tell(batch, y)
        for i, s, value in zip(asked, suggestions, y.tolist(), strict=True):
            if not np.isnan(value):
                studies[i].tell(s, value)
        missing = np.flatnonzero(np.isnan(y))
        late.append((batch.ids[missing], [(asked[i], suggestions[i]) for i in missing]))
        if step % 3 == 2:  # those of two steps ago come after all
            ids, suggested = late[-3]
            fleet.tell(ids, np.full(len(ids), 2.5))
            for i, s in suggested:
                studies[i].tell(s, 2.5)
    advice = fleet.recommend(keys)
    for i, study in enumerate(studies):
        expected = study.recommend()
        assert list(advice.points[i]) == [expected.params["x0"], expected.params["x1"]]
        assert advice.mean[i] == pytest.approx(expected.mean, abs=1e-9)
        assert advice.std[i] == pytest.approx(expected.std, abs=1e-9)


def test_numpy_beliefs_are_those_of_a_study_to_the_bit():
    fleet = made("numpy", standardise=False)
    study = dw.Study("one", dw.Candidates(POINTS), "sw-gp-ucb", window=12, standardise=False, **MODEL)
    for step in range(40):
        batch, s = fleet.ask(["k"]), study.ask()
        y = float(rewards(batch.points, ["k"], step)[0])
        fleet.tell(batch, [y])
        study.tell(s, y)
    shard = fleet._places[0].shard
    mean, std = shard.engine.predict(np.array([0]), np.array([41], np.int32))
    expected = study.belief().predict(POINTS)
    assert np.array_equal(mean[0], expected[0])
    assert np.array_equal(std[0], expected[1])


@pytest.mark.parametrize("engine", ENGINES[1:])
@pytest.mark.parametrize("policy", WINDOWS)
@pytest.mark.parametrize("standardise", [False, True])
def test_beliefs_in_windows_are_those_of_dense_algebra(engine, policy, standardise):
    fleet = made(engine, policy, standardise=standardise)
    log = []
    for step in range(50):
        batch = fleet.ask(["k"])
        y = float(rewards(batch.points, ["k"], step)[0])
        fleet.tell(batch, [y])
        log.append((int(batch.where[0]), y))
        size = 12 if policy == "sw-gp-ucb" else step % 9 + 1
        where, seen = (np.array(each) for each in zip(*log[-size:], strict=True))
        location, scale = (seen.mean(), seen.std() or 1.0) if standardise else (0.0, 1.0)
        K = MODEL["kernel"](POINTS, POINTS)
        A = K[np.ix_(where, where)] + 0.05 * np.eye(len(where))
        mean = location + scale * K[:, where] @ np.linalg.solve(A, (seen - location) / scale)
        var = 1 - np.einsum("nw,wn->n", K[:, where], np.linalg.solve(A, K[where]))
        number = np.array([step + 1], np.int32)  # of the block that just was
        found = fleet._places[0].shard.engine.predict(np.array([0]), number)
        assert np.abs(found[0][0] - mean).max() < 1e-9
        assert np.abs(found[1][0] - scale * np.sqrt(np.maximum(var, 0))).max() < 1e-8


def test_what_memory_holds_changes_no_bit():
    """Beliefs that were given up and made again from the streams are the same."""
    need("compiled")
    from driftwise.fleet.compiled import compiled_engine

    large, small = made("compiled"), made("compiled")
    shard = small._places[0].shard
    shard.engine = compiled_engine(shard.engine.terms, shard.streams, memory=3 * shard.engine.beliefs.bytes_each)
    keys = list(range(7))
    for step in range(40):
        batches = [fleet.ask(keys) for fleet in (large, small)]
        assert np.array_equal(batches[0].where, batches[1].where)
        for fleet, batch in zip((large, small), batches, strict=True):
            fleet.tell(batch, rewards(batch.points, keys, step))
    rows, numbers = np.arange(7), np.full(7, 41, np.int32)
    for one, other in zip(*(f._places[0].shard.engine.predict(rows, numbers) for f in (large, small)), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("engine", ENGINES)
def test_each_reward_counts_once(engine):
    fleet = made(engine, patience=2)
    first = fleet.ask(["a", "b"])
    assert fleet.tell(first, [1.0, np.nan]) == Outcomes(new=1, missing=1)
    assert fleet.tell(first, [1.0, 2.0]) == Outcomes(new=1, known=1)
    assert fleet.tell(first.ids, [1.0, 2.0]) == Outcomes(known=2)
    with pytest.raises(ConflictError, match=r"suggestion 1 of key 'a' was told 1.0 before, now 5.0; the first stays"):
        fleet.tell(first, [5.0, 2.0])
    abandoned = fleet.ask(["a"])
    for _ in range(3):
        fleet.ask(["a"])
    assert fleet.tell(abandoned, [1.0]) == Outcomes(expired=1)
    assert fleet.drift(["a", "b"]).told.tolist() == [1, 1]


@pytest.mark.parametrize("engine", ENGINES)
def test_it_comes_back_as_it_was(engine, tmp_path):
    keys = ["ä", 7, "b"]
    with made(engine, path=tmp_path) as fleet, made(engine) as twin:
        for step in range(30):
            batches = [each.ask(keys) for each in (fleet, twin)]
            for each, batch in zip((fleet, twin), batches, strict=True):
                each.tell(batch, rewards(batch.points, keys, step))
            if step == 11:
                fleet.snapshot()
        waiting = [each.ask(keys) for each in (fleet, twin)]
        with pytest.raises(StoreError):
            made(engine, path=tmp_path)  # one writer at a time
    with made(engine, path=tmp_path) as again:
        assert again.keys() == keys
        assert again.tell(waiting[0], [1.0, 2.0, 3.0]) == twin.tell(waiting[1], [1.0, 2.0, 3.0])
        assert np.array_equal(again.ask(keys).where, twin.ask(keys).where)
        for one, other in zip(vars(again.drift()).values(), vars(twin.drift()).values(), strict=True):
            assert np.array_equal(one, other)


def test_a_fleet_without_keys_has_no_figures():
    found = made("numpy").drift()
    assert (found.keys, found.asked.tolist(), found.spread.tolist()) == ([], [], [])


@pytest.mark.parametrize("method", ["suggest", "append"])
def test_an_interrupt_while_a_call_is_stored_leaves_what_the_journal_has(tmp_path, monkeypatch, method):
    """It comes after the entry is on the disk, and before the state has it."""
    fleet = made("numpy", path=tmp_path / "fleet")
    batch = fleet.ask(["a", "b"])

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Streams, method, interrupted)
        with pytest.raises(KeyboardInterrupt):
            fleet.ask(["a"]) if method == "suggest" else fleet.tell(batch, [1.0, 2.0])
    for call in (lambda: fleet.ask(["b"]), lambda: fleet.tell(batch, [1.0, 2.0]), fleet.snapshot):
        with pytest.raises(StoreError, match="interrupted"):
            call()
    fleet.close()
    with made("numpy", path=tmp_path / "fleet") as again:
        stored = again.drift(["a", "b"])
        assert (stored.asked.tolist(), stored.told.tolist()) == (
            ([2, 1], [0, 0]) if method == "suggest" else ([1, 1], [1, 1])
        )
        assert again.tell(batch, [1.0, 2.0]).new == (2 if method == "suggest" else 0)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("snapshot", [False, True])
def test_a_fleet_is_opened_by_its_name(tmp_path, policy, snapshot):
    given = {"path": tmp_path, "shards": 2, "direction": "minimize", "seed": 7}
    with made("numpy", policy, **given) as fleet:
        assert fleet.drift().told.tolist() == []
        fleet.tell(fleet.ask(["a", "b"]), [1.0, 2.0])
        if snapshot:
            fleet.snapshot()
    with dw.Fleet.open("test", path=tmp_path) as again:
        assert again.definition == fleet.definition
        assert again.definition.text == fleet.definition.text
        asked = again.ask(["a", "b"])
    with made("numpy", policy, **given) as repeated:  # with its definition given again
        assert repeated.tell(asked, [1.0, 2.0]).new == 2
    with pytest.raises(NotFoundError, match="has no fleet 'other'"):
        dw.Fleet.open("other", path=tmp_path)
    assert not list(tmp_path.glob("other*"))  # which made nothing


def test_another_definition_is_refused(tmp_path):
    made("numpy", path=tmp_path).close()
    with pytest.raises(ConflictError, match=r"fleet 'test' already exists with different settings: .*12.*13"):
        made("numpy", path=tmp_path, window=13)
    with pytest.raises(ConflictError, match=r"already exists with shards=1, now 2; leave this out"):
        made("numpy", path=tmp_path, shards=2)


def test_a_fleet_goes_on_with_its_engine_where_none_is_given(tmp_path):
    """Numba may have been installed since, or not be there."""
    made("numpy", path=tmp_path).close()
    with made(None, path=tmp_path) as again:
        assert again.engine == "numpy"


def test_the_shard_of_a_key_is_for_ever():
    """It is the CRC of the text, or of # and the number; 7 and "7" are different keys."""
    keys = ["apples", 7, "7", "ä", -3]
    for _ in range(2):  # the second time it is remembered
        assert shard_of(keys, 8).tolist() == [zlib.crc32(t.encode()) % 8 for t in ("apples", "#7", "7", "ä", "#-3")]
    with pytest.raises(InvalidInput, match="a key must be a string or a whole number"):
        shard_of(["a", ["b"]], 2)


@pytest.mark.slow
@pytest.mark.parametrize("processes", [0, 2])
def test_shards_make_no_difference(processes):
    keys = [f"k{i}" for i in range(9)]
    with made("numpy") as one, made("numpy", shards=3, processes=processes) as several:
        for step in range(3):
            batches = [fleet.ask(keys) for fleet in (one, several)]
            assert np.array_equal(batches[0].points, batches[1].points)
            y = rewards(batches[0].points, keys, step)
            assert one.tell(batches[0], y) == several.tell(batches[1], y)
        assert sorted(several.keys()) == keys
        assert len(several) == 9
        assert np.array_equal(one.recommend(keys).points, several.recommend(keys).points)
        with pytest.raises(NotFoundError, match="the fleet has no key 'x'"):
            several.recommend(["x"])


@pytest.mark.slow
def test_a_process_that_died_comes_back(tmp_path):
    with made("numpy", shards=2, processes=2, path=tmp_path) as fleet:
        keys = list("abcdef")
        batch = fleet.ask(keys)
        fleet.tell(batch, np.arange(6.0))
        fleet._places[0].host.process.kill()
        fleet._places[0].host.process.join()
        with pytest.raises(StoreError, match="Repeat the call"):
            fleet.tell(batch, np.arange(6.0))
        assert fleet.tell(batch, np.arange(6.0)) == Outcomes(known=6)


def test_alarms_ring_when_the_world_changes_and_hardly_else():
    fleet = made("numpy", window=30, standardise=False)
    keys, truth, rng = list(range(20)), np.sin(4 * POINTS[:, 0]) + POINTS[:, 1], np.random.default_rng(0)
    for step in range(60):
        batch = fleet.ask(keys)
        f = truth[batch.where] if step < 40 else -2 * truth[batch.where]
        y = f + np.sqrt(0.05) * rng.standard_normal(len(keys))
        if step == 25:
            y[:10] += 50  # one wrong reading is no change
        fleet.tell(batch, y)
        if step == 39:
            assert fleet.drift(keys[10:]).alarms.sum() == 0
    moved = fleet.drift(keys)
    assert (moved.alarms > 0).mean() > 0.9
    assert (moved.last_alarm[10:] > 40).mean() > 0.9


def test_new_keys_begin_with_what_others_learned(tmp_path, monkeypatch):
    """As well as the policy with the pooled prior, after a restart, too; and keys that were there stay as they were."""
    space = dw.Candidates(np.linspace(0, 1, 12)[:, None])
    given = {"policy": "auto-lean", "window": 16, "together": True}
    old, truth = list(range(8)), np.sin(5 * space.points[:, 0])

    def step(fleet, keys, seed):
        batch = fleet.ask(keys)
        fleet.tell(batch, truth[batch.where] + 0.1 * np.random.default_rng(seed).standard_normal(len(keys)))
        return batch.where.tolist()

    def killed(*_):
        raise KeyboardInterrupt

    with dw.Fleet("alone", space, **given) as alone:
        with dw.Fleet("learning", space, path=tmp_path, **given) as fleet, monkeypatch.context() as patch:
            for seed in range(23):
                assert step(fleet, old, seed) == step(alone, old, seed)
            patch.setattr(type(fleet._places[0].shard), "_teach", killed)
            with pytest.raises(KeyboardInterrupt):  # the rewards are stored, and what they teach is not
                step(fleet, old, 23)
        fleet = dw.Fleet("learning", space, path=tmp_path, **given)
        assert len(fleet._places[0].shard.lessons) == 1
        later = [step(fleet, ["new", 3], seed) for seed in range(3)]
        step(alone, [3], 0)
        fleet.close()
    with dw.Fleet("learning", space, path=tmp_path, **given) as again:
        taught = again._places[0].shard.engine.policies[1]
        assert taught.prior.strength > 0
        assert np.corrcoef(taught.prior.means, truth)[0, 1] > 0.9
        study = dw.Study("twin", space, taught)
        assert study.ask().x == tuple(space.points[later[0][0]])
        assert step(again, ["new"], 9)  # goes on
    with pytest.raises(InvalidInput, match="together=True is for auto-lean"):
        dw.Fleet("told", space, "sw-gp-ucb", together=True)


BAD = [
    (lambda fleet: fleet.ask("apples"), InvalidInput, "keys must be a list, got 'apples'"),
    (lambda fleet: fleet.ask([["a"]]), InvalidInput, "a key must be a string or a whole number"),
    (
        lambda fleet: fleet.tell(np.repeat(fleet.ask(["a"]).ids, 2), [1.0, 2.0]),
        ConflictError,
        "two rewards in one batch",
    ),
    (lambda fleet: fleet.ask([1.5]), InvalidInput, "a key must be a string or a whole number, got 1.5"),
    (lambda fleet: fleet.tell(fleet.ask(["a"]), [1.0, 2.0]), InvalidInput, "a reward for each of the 1 suggestions"),
    (lambda fleet: fleet.tell(fleet.ask(["a"]), [np.inf]), InvalidInput, "a reward must be at most 1e100 in size"),
    (lambda fleet: fleet.tell(np.array([5 << 32 | 1]), [1.0]), NotFoundError, "no suggestion"),
    (lambda fleet: fleet.tell(np.array([0 << 32 | 9]), [1.0]), NotFoundError, "no suggestion"),
    (lambda fleet: made("cuda"), InvalidInput, "engine must be one of numpy, compiled, gpu, got 'cuda'"),
    (lambda fleet: made("numpy", patience=0), InvalidInput, "patience"),
    (lambda fleet: fleet.tell(np.array([1.5]), [1.0]), InvalidInput, "ids must be whole numbers, got 1.5"),
    (lambda fleet: fleet.tell(np.array(["a"]), [1.0]), InvalidInput, "ids must be whole numbers, got 'a'"),
    (lambda fleet: fleet.tell([-1], [1.0]), NotFoundError, "no suggestion"),
    (lambda fleet: fleet.tell(fleet.ask(["a"]), ["much"]), InvalidInput, "rewards must be numbers"),
    (lambda fleet: fleet.tell(fleet.ask(["a"]), [[1.0]]), InvalidInput, r"got shape \(1, 1\)"),
    (lambda fleet: fleet.ask([np.nan]), InvalidInput, "a key must be a string or a whole number, got nan"),
    (lambda fleet: fleet.ask(np.zeros((2, 2))), InvalidInput, "a key must be a string or a whole number"),
    (lambda fleet: fleet.ask(3), InvalidInput, "keys must be a list, got 3"),
    (lambda fleet: fleet.recommend(["nobody"]), NotFoundError, "the fleet has no key 'nobody'"),
]


@pytest.mark.parametrize(("call", "error", "words"), BAD)
def test_bad_input_is_refused(call, error, words):
    fleet = made("numpy")
    fleet.ask(["z"])
    with pytest.raises(error, match=words):
        call(fleet)


def test_compiled_engines_refuse_what_they_cannot_do():
    need("compiled")
    with pytest.raises(InvalidInput, match="gp-ucb has none; use engine='numpy'"):
        made("compiled", "gp-ucb")
    with pytest.raises(InvalidInput, match=r"noise variance of at least 0\.001"):
        made("compiled", noise=1e-4)
    with pytest.raises(InvalidInput, match="use engine='numpy'"):
        made("compiled", width="realised", standardise=False, horizon=100)
    assert made(None, "gp-ucb").engine == "numpy"

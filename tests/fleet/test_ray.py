"""Shards in the actors of a local Ray, which are killed and moved."""

import itertools
import os
import signal

import numpy as np
import pytest

import driftwise as dw
from driftwise.errors import InvalidInput, StoreError
from driftwise.fleet import Outcomes
from driftwise.fleet.ray_places import heaviest

KEYS = [f"k{i}" for i in range(40)]
SPACE = dw.Candidates(np.linspace(0, 1, 9)[:, None])


def made(**given):
    return dw.Fleet("test", SPACE, "sw-gp-ucb", engine="numpy", window=6, shards=4, **given)


@pytest.mark.parametrize("actors", [1, 3, 10])
def test_one_more_actor_takes_its_share_and_moves_nothing_else(actors):
    before, after = ([heaviest(shard, n) for shard in range(2000)] for n in (actors, actors + 1))
    moved = [new for old, new in zip(before, after, strict=True) if old != new]
    assert set(moved) == {actors}
    assert abs(len(moved) - 2000 / (actors + 1)) < 5 * np.sqrt(2000 / (actors + 1))


def test_shards_that_are_not_on_ray_do_not_move():
    with pytest.raises(InvalidInput, match="open it with actors="):
        made().resize(2)
    with pytest.raises(InvalidInput, match="processes or in actors"):
        made(processes=1, actors=1)


@pytest.mark.slow
def test_actors_that_are_killed_and_shards_that_move_lose_nothing(tmp_path):
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'driftwise[ray]'")
    rounds = itertools.count()
    with made() as twin, made(path=tmp_path, actors=2) as fleet:

        def step():
            """Both are asked and told the same, and answer the same."""
            y = np.random.default_rng(next(rounds)).random(len(KEYS))
            batches = [each.ask(KEYS) for each in (twin, fleet)]
            assert np.array_equal(batches[0].where, batches[1].where)
            assert twin.tell(batches[0], y) == fleet.tell(batches[1], y) == Outcomes(new=len(KEYS))
            return batches[1], y

        batch, y = step()
        cluster = fleet._cluster()
        for at in sorted(set(cluster.at)):
            process = cluster.ray.get(cluster._actors[at].__ray_call__.remote(lambda host: os.getpid()))
            assert process != os.getpid()
            os.kill(process, signal.SIGKILL)
            with pytest.raises(StoreError, match=r"read again from their journals\. Repeat the call"):
                fleet.tell(batch, y)
            assert fleet.tell(batch, y) == Outcomes(known=len(KEYS))
        step()
        before = list(cluster.at)
        moved = fleet.resize(4)
        assert moved == [shard for shard in range(4) if heaviest(shard, 4) != before[shard]] != []
        assert all(cluster.at[shard] >= 2 for shard in moved)
        step()
        fleet.move(0, 1 if cluster.at[0] == 0 else 0)
        step()
        assert fleet.resize(1)
        step()
    with dw.Fleet.open("test", path=tmp_path) as again:  # the actors gave up the journals
        assert again.drift().told.tolist() == [5] * len(KEYS)

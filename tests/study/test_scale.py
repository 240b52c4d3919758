"""Bounded for ever: a study of many observations opens and steps as a small one, counted in SQLite's steps."""

from __future__ import annotations

import os
from itertools import islice

import numpy as np
import pytest
import sqlalchemy as sa

from driftwise import RBF, Candidates, Study
from driftwise.log import Asked, standing, stores, telling
from driftwise.log import view as store_view
from driftwise.records import Observation

GRID = Candidates(np.linspace(0, 1, 25)[:, None], names=["x"])
MANY = int(os.environ.get("DRIFTWISE_OBSERVATIONS", 100_000))  # a million takes a minute


def fill(study: Study, n: int) -> None:
    """n observations and, after them, n/10 suggestions whose rewards never came: written in bulk."""

    def steps(now):
        for i in range(1, n + 1):
            seen = Observation(i, float(i), GRID.coordinates[i * 7 % 25], float(i * 37 % 101))
            now, entry = now.stores(seen, f"o{i}", asked=False)
            yield now, entry
        for j in range(1, n // 10 + 1):
            now, entry = now.asks(Asked(n + j, f"{n + j}-a", f"k{j}", 0.0, (0.0,)), patience=0)
            yield now, entry

    def write(connection):
        rest = steps(study._log.view(connection).standing)
        while batch := list(islice(rest, 10_000)):
            telling.write(connection, batch)

    study._store.writing(write)


class Steps:
    """Counts the instructions of SQLite's machine while it is entered."""

    def __init__(self, study: Study) -> None:
        self.connection = study._store.reading(lambda connection: connection.connection.driver_connection)
        self.n = 0

    def __enter__(self):
        self.connection.set_progress_handler(self._count, 10)
        return self

    def __exit__(self, *_):
        self.connection.set_progress_handler(None, 10)

    def _count(self) -> int:
        self.n += 1
        return 0


def cost(path) -> dict[str, int]:
    """What opening and the calls of a step cost: instructions / 10."""
    study = Study.open("s", path=path)
    with Steps(study) as opening:
        Study.open("s", path=path).recommend()
    costs = {"open": opening.n}
    s = study.ask()
    study.tell(s, 1.0)
    for name, call in {
        "ask": study.ask,
        "tell": lambda: study.tell(study.pending()[-1], 1.0),
        "observe": lambda: study.observe({"x": 0.0}, 1.0, key="new"),
        "late": lambda: study.tell(s, 1.0),
        "describe": study.describe,
    }.items():
        with Steps(study) as steps:
            call()
        costs[name] = steps.n
    return costs


@pytest.mark.slow
def test_many_observations_cost_what_a_thousand_do(tmp_path):
    costs = {}
    for n in (1000, MANY):
        path = tmp_path / f"{n}.db"
        study = Study("s", GRID, policy="sw-gp-ucb", path=path, window=100, kernel=RBF(0.2))
        fill(study, n)
        study.close()
        costs[n] = cost(path)
    for name, small in costs[1000].items():
        assert costs[MANY][name] <= 1.2 * small + 5, (name, costs)


def test_the_measure_sees_a_scan(tmp_path):
    """The control: counting the rows of the log costs as many steps as there are rows."""
    study = Study("s", GRID, policy="sw-gp-ucb", path=tmp_path / "a.db")
    fill(study, 20_000)
    with Steps(study) as steps:
        study._store.reading(
            lambda connection: connection.exec_driver_sql(
                "SELECT count(*) FROM entries WHERE length(body) > 3"
            ).scalar()
        )
    assert steps.n > 2000


def test_every_query_uses_an_index(tmp_path):
    study = Study("s", GRID, policy="sw-gp-ucb")
    plans = {}

    def explain(connection):
        for module in (store_view, standing, stores):
            for name, query in (vars(module) | {"_AT_SEVERAL": store_view._AT_ALL["sqlite"]}).items():
                if name.startswith("_") and name.isupper() and isinstance(query, sa.Executable):
                    some = {"wanted": "[]" if name == "_AT_SEVERAL" else [1, 2], "studies": [1, 2]}
                    left = [each for each, value in query.compile().params.items() if value is None]
                    given = {each: some.get(each, 1) for each in left}
                    if not isinstance(query, sa.Update):
                        query = query.params(given)
                    compiled = query.compile(connection.engine, compile_kwargs={"render_postcompile": True})
                    values = tuple(1 for _ in compiled.positiontup)
                    found = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled}", values).all()
                    plans[name] = [row[3] for row in found]

    study._store.reading(explain)
    assert len(plans) >= 18
    for name, plan in plans.items():
        scans = [step for step in plan if step.startswith("SCAN") and "CONSTANT" not in step and "subquery" not in step]
        scans = [step for step in scans if "json_each" not in step and "anon" not in step]
        assert scans == [], (name, plan)
        assert not any("TEMP B-TREE" in step or "entries USING PRIMARY KEY (study=?)" in step for step in plan), name
    assert any("INDEX keys" in step for step in plans["_KEYED"]), plans["_KEYED"]


def test_memory_does_not_grow_with_the_log():
    """What a study holds after ten times as many steps is what it held before."""
    study = Study("s", GRID, policy="sw-gp-ucb", window=5)
    sizes = []
    for _ in range(4):
        for _ in range(30):
            study.tell(study.ask(), 1.0)
        kept = study._fold.cache.kept
        sizes.append((len(kept), max(len(folded.state.reward) for folded in kept)))
    assert set(sizes) == {(8, 5)}

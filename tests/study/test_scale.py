"""Bounded for ever: a study of a million observations opens and steps as a small one, counted in SQLite's steps."""

from __future__ import annotations

import numpy as np
import pytest
import sqlalchemy as sa

from driftwise import RBF, Candidates, Study
from driftwise.store import log as store_log
from driftwise.store.packing import pack

GRID = Candidates(np.linspace(0, 1, 25)[:, None], names=["x"])
MILLION = 1_000_000


def fill(study: Study, n: int) -> None:
    """n observations and, before them, n/10 suggestions of which every other is awaited still: written in bulk."""
    store, number = study._store, study._log.study

    def observed(i):
        x, y = GRID.coordinates[i * 7 % 25], float(i * 37 % 101)
        return (number, i, i, f"o{i}", float(i), y, pack(i, float(i), y, x))

    with store.writing() as connection:
        cursor = connection.connection.cursor()
        cursor.executemany("INSERT INTO observations VALUES (?,?,?,?,?,?,?)", map(observed, range(1, n + 1)))
        # suggestions whose rewards never came, long ago
        asked = (
            (number, n + j, j, f"{n + j}-a", f"k{j}", 0.0, pack(n + j, 0.0, 0.0, (0.0,)), 0.0, 0)
            for j in range(1, n // 10)
        )
        cursor.executemany("INSERT INTO suggestions VALUES (?,?,?,?,?,?,?,?,?)", asked)
        connection.exec_driver_sql(
            f"UPDATE studies SET last = {n + n // 10}, asked = {n // 10 - 1}, told = {n}, unasked = {n}"
        )


class Steps:
    """Counts the instructions of SQLite's machine while it is entered."""

    def __init__(self, study: Study) -> None:
        self.engine = study._store._engine
        self.n = 0

    def __enter__(self):
        self._set(self._count)
        return self

    def __exit__(self, *_):
        self._set(None)

    def _count(self) -> int:
        self.n += 1
        return 0

    def _set(self, handler) -> None:
        with self.engine.connect() as connection:
            connection.connection.dbapi_connection.set_progress_handler(handler, 10)


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
def test_a_million_observations_cost_what_a_thousand_do(tmp_path):
    costs = {}
    for n in (1000, MILLION):
        path = tmp_path / f"{n}.db"
        study = Study("s", GRID, policy="sw-gp-ucb", path=path, window=100, kernel=RBF(0.2))
        fill(study, n)
        study.close()
        costs[n] = cost(path)
    for name, small in costs[1000].items():
        assert costs[MILLION][name] <= 1.2 * small + 5, (name, costs)


def test_the_measure_sees_a_scan(tmp_path):
    """The control: counting the rows of the log costs as many steps as there are rows."""
    study = Study("s", GRID, policy="sw-gp-ucb", path=tmp_path / "a.db")
    fill(study, 20_000)
    with Steps(study) as steps, study._store.reading() as connection:
        connection.exec_driver_sql("SELECT count(*) FROM observations WHERE y > 3").scalar()
    assert steps.n > 2000


def test_every_query_uses_an_index(tmp_path):
    study = Study("s", GRID, policy="sw-gp-ucb")
    plans = {}
    for name, query in vars(store_log).items():
        if name.startswith("_") and name.isupper() and isinstance(query, sa.Select | sa.Update):
            text = str(query.compile(study._store._engine))
            with study._store.reading() as connection:
                given = dict.fromkeys(query.compile(study._store._engine).params, 1)
                order = query.compile(study._store._engine).positiontup
                rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", tuple(given[p] for p in order)).all()
            plans[name] = [row[3] for row in rows]
    assert len(plans) >= 12
    for name, plan in plans.items():
        scans = [step for step in plan if step.startswith("SCAN") and "CONSTANT" not in step and "subquery" not in step]
        scans = [step for step in scans if "anon" not in step]
        assert scans == [], (name, plan)
        assert not any("TEMP B-TREE" in step for step in plan), (name, plan)
    assert any("awaited" in step for step in plans["_PENDING"]), plans["_PENDING"]


def test_memory_does_not_grow_with_the_log():
    """What a study holds after ten times as many steps is what it held before."""
    study = Study("s", GRID, policy="sw-gp-ucb", window=5)
    sizes = []
    for _ in range(4):
        for _ in range(30):
            study.tell(study.ask(), 1.0)
        sizes.append((len(study._fold.kept), max(len(kept.state) for kept in study._fold.kept)))
    assert set(sizes) == {(8, 5)}

"""Bounded for ever: a study of many observations opens and steps as a small one, counted in SQLite's steps."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest
import sqlalchemy as sa

from driftwise import RBF, Candidates, Study
from driftwise.records import Observation
from driftwise.store import Asked, Counts, corrections, keys, rows
from driftwise.store import view as store_view
from driftwise.store.many import batched
from driftwise.store.schema import ASKED, AWAITED, OBSERVED

GRID = Candidates(np.linspace(0, 1, 25)[:, None], names=["x"])
MANY = int(os.environ.get("DRIFTWISE_OBSERVATIONS", 100_000))  # a million takes a minute


def fill(study: Study, n: int) -> None:
    """n observations and, after them, n/10 suggestions whose rewards never came: written in bulk."""
    number = study._log.study

    def observed(i):
        seen = Observation(i, float(i), GRID.coordinates[i * 7 % 25], float(i * 37 % 101))
        return rows.observation_row(number, seen, f"o{i}", i)

    def asked(j):
        return rows.suggestion_row(number, Asked(n + j, f"{n + j}-a", f"k{j}", 0.0, (0.0,)), j, AWAITED)

    def write(connection):
        head, last = 0, n + n // 10
        for batch in batched(map(observed, range(1, n + 1)), 10_000):
            connection.execute(rows.INSERT_OBSERVATION, batch)
            head = rows.chained(head, (row["checksum"] for row in batch))
        for batch in batched(map(asked, range(1, last - n + 1)), 10_000):
            connection.execute(rows.INSERT_SUGGESTION, batch)
        keyed = [(OBSERVED, f"o{i}", i) for i in range(1, n + 1)] + [
            (ASKED, f"k{j}", n + j) for j in range(1, last - n)
        ]
        keys.insert_all(connection, number, keyed)
        standing = rows.standing_of(connection, number, study.name)
        counts = Counts(last=last, asked=last - n, told=n, unasked=n)
        rows.update_study(connection, replace(standing, counts=counts, keyed=len(keyed), head=head))

    study._store.writing(write)


class Steps:
    """Counts the instructions of SQLite's machine while it is entered."""

    def __init__(self, study: Study) -> None:
        study.describe()  # so that the connection is open
        self.connection = study._store._link._raw
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
            lambda connection: connection.exec_driver_sql("SELECT count(*) FROM observations WHERE y > 3").scalar()
        )
    assert steps.n > 2000


def test_every_query_uses_an_index(tmp_path):
    study = Study("s", GRID, policy="sw-gp-ucb")
    plans = {}
    several = {"_AMONG": {"s": 1, "kind": 1, "keys": ["a", "b"]}}
    several |= {name: {"studies": [1, 2]} for name in ("_ALL", "_ALL_LOCKED", "_ALL_FREE")}

    def explain(connection):
        for module in (store_view, rows, keys, corrections):
            for name, query in (vars(module) | {"_SUGGESTIONS_AT": store_view.SUGGESTIONS_AT["sqlite"]}).items():
                if name.startswith("_") and name.isupper() and isinstance(query, sa.Select | sa.Update):
                    if name in several:  # how many it has is known when it is run
                        query = query.params(several[name])
                    how = {"render_postcompile": name in several}
                    compiled = query.compile(connection.engine, compile_kwargs=how)
                    given = tuple(1 for _ in compiled.positiontup)
                    found = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled}", given).all()
                    plans[name] = [row[3] for row in found]

    study._store.reading(explain)
    del plans["_NAMED"]  # the one scan, of the few studies of a file, when one is opened
    for name in ("_COUNT_STUDIES", "_LOCKED_FILE"):  # of PostgreSQL alone, when a study is made
        del plans[name]
    assert len(plans) >= 12
    for name, plan in plans.items():
        scans = [step for step in plan if step.startswith("SCAN") and "CONSTANT" not in step and "subquery" not in step]
        scans = [step for step in scans if "json_each" not in step]
        scans = [step for step in scans if "anon" not in step]
        assert scans == [], (name, plan)
        assert not any("TEMP B-TREE" in step for step in plan), (name, plan)
    assert any("answered" in step for step in plans["_ANSWERED"]), plans["_ANSWERED"]


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

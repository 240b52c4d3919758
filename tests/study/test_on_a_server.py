"""The promises of a study, on a PostgreSQL: as in a file, with fewer examples."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test
from test_resume import STUDIES, drive
from test_stateful import Promises

from driftwise import Study

_places = itertools.count()


def end_all_sessions(server) -> None:
    """As a failover of the server would."""
    from driftwise.log.postgres_address import parsed
    from driftwise.log.postgres_connect import connect

    with connect(parsed(server.url())) as raw:
        raw.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
            "AND backend_type = 'client backend'"
        )


@pytest.mark.slow
def test_any_sequence_of_calls_against_a_dictionary(server):
    class OnAServer(Promises):
        def new_place(self):
            return server.url(schema=f"stateful_{next(_places)}")

        def crashed(self, path):
            end_all_sessions(server)
            return path

    run_state_machine_as_test(OnAServer, settings=settings(max_examples=8, stateful_step_count=20, deadline=None))


@pytest.mark.parametrize("kind", ["sw-gp-ucb on candidates", "gp-ucb on a box"])
def test_reopening_at_every_call_changes_no_question(address, kind):
    given = {"policy": "sw-gp-ucb"} | STUDIES[kind]
    lasting = Study("s", **given)
    Study("s", path=address, **given)
    assert drive(lambda: Study.open("s", path=address), 16) == drive(lambda: lasting, 16)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_eight_processes_on_one_study(address):
    workers, asks = 8, 5
    script = Path(__file__).parent / "processes.py"
    done = subprocess.run(
        [sys.executable, script, address, str(workers), str(asks)], capture_output=True, text=True, check=True
    )
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    assert [report["error"] for report in reports if "error" in report] == []
    seen = [entry for report in reports for entry in report["seen"]]
    assert sorted(number for _, number, _ in seen) == list(range(1, workers * asks + 1))
    study = Study.open("s", path=address)
    assert [(o.number, o.y) for o in study.observations()] == [(n, n / 8) for n in range(1, workers * asks + 1)]
    for key, number, id in seen[::9]:
        again = study.ask(key=key)
        assert (again.number, again.id) == (number, id)


def test_a_forked_child_uses_connections_of_its_own(address):
    study = Study("s", STUDIES["sw-gp-ucb on candidates"]["space"], "sw-gp-ucb", path=address)
    study.tell(study.ask(key="a"), 1.0)
    child = os.fork()
    if child == 0:
        try:
            study.tell(study.ask(key="b"), 2.0)
        finally:
            os._exit(0)
    study.tell(study.ask(key="c"), 3.0)
    os.waitpid(child, 0)
    study.tell(study.ask(key="d"), 4.0)
    assert sorted(seen.y for seen in study.observations()) == [1.0, 2.0, 3.0, 4.0]


def test_a_study_is_pickled_and_opened_elsewhere(address):
    import pickle

    study = Study("s", STUDIES["sw-gp-ucb on candidates"]["space"], "sw-gp-ucb", path=address)
    asked = study.ask(key="a")
    assert pickle.loads(pickle.dumps(study)).ask(key="a") == asked

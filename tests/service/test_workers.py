"""Policies that choose in processes of their own: the same answers, and a process that dies is replaced."""

from __future__ import annotations

import multiprocessing

import pytest

from driftwise import Float, Study

BOX = {"x": Float(0, 1)}


@pytest.mark.slow
def test_a_study_in_a_worker_answers_as_one_in_memory(served, tmp_path):
    url = served(tmp_path / "a.db", workers=1)
    # a process takes seconds to start on a busy machine
    there = Study("a", BOX, "sw-gp-ucb", path=url, timeout=300.0, window=5)
    here = Study("a", BOX, "sw-gp-ucb", window=5)
    for i in range(4):
        s, t = there.ask(), here.ask()
        assert s.params == t.params
        there.tell(s, float(i)), here.tell(t, float(i))
    for worker in multiprocessing.active_children():
        worker.kill()
    assert there.recommend() == here.recommend()  # the client repeats what the dead process could not answer
    there.rename("b")
    assert there.ask().params == here.ask().params

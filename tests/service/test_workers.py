"""Policies that choose in processes of their own: the same answers, and a process that dies is replaced."""

from __future__ import annotations

import multiprocessing

import pytest

from driftwise import Float, Study

BOX = {"x": Float(0, 1)}


@pytest.mark.slow
def test_a_study_in_a_worker_answers_as_one_in_memory(served, tmp_path):
    url = served(tmp_path / "a.db", workers=1)
    there, here = (Study("a", BOX, "sw-gp-ucb", path=path, window=5) for path in (url, None))
    for i in range(4):
        s, t = there.ask(), here.ask()
        assert s.params == t.params
        there.tell(s, float(i)), here.tell(t, float(i))
    for worker in multiprocessing.active_children():
        worker.kill()
    assert there.recommend() == here.recommend()  # the client repeats what the dead process could not answer
    there.rename("b")
    assert there.ask().params == here.ask().params

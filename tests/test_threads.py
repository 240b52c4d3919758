"""One BLAS thread inside, and what was there before once nobody is."""

import os
import signal
import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import driftwise as dw
from driftwise.auto.policy import Auto
from driftwise.concurrency.threads import OneThread


def threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two():
    with threadpool_limits(2):
        yield


def test_one_inside_and_what_was_there_after():
    one = OneThread()

    def outer():
        assert threads() == {1}
        one.run(lambda: None)
        return threads()

    assert one.run(outer) == {1}
    assert threads() == {2}


def test_it_is_restored_after_an_error():
    def fails():
        assert threads() == {1}
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        OneThread().run(fails)
    assert threads() == {2}


def test_the_last_of_several_restores_it():
    """The first comes and goes while the second is inside."""
    one, inside, leave = OneThread(), threading.Event(), threading.Event()

    def stay():
        inside.set()
        leave.wait()

    def start():
        other.start()
        inside.wait()

    other = threading.Thread(target=one.run, args=(stay,))
    one.run(start)
    assert threads() == {1}
    leave.set()
    other.join()
    assert threads() == {2}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_does_not_wait_for_who_was_at_the_door_in_its_parent():
    one = OneThread()

    def fork():
        child = os.fork()
        if not child:
            signal.alarm(60)  # what it comes to if it waits
            os._exit(0 if one.run(threads) == {1} else 1)
        return child

    waiting = threading.Thread(target=one._guard.run, args=(threading.Event().wait, 1.0))
    waiting.start()
    child = fork()
    assert os.waitpid(child, 0)[1] == 0
    waiting.join()


@pytest.mark.parametrize("call", ["ask", "recommend", "drift", "belief", "drift_history"])
def test_a_study_works_with_one(monkeypatch, call):
    study = dw.Study("one", space={"x": dw.Float(0, 1)})
    study.observe({"x": 0.5}, 1.0)
    seen, belief = [], Auto.belief
    monkeypatch.setattr(Auto, "belief", lambda *args: (seen.append(threads()), belief(*args))[1])
    getattr(study, call)()
    assert seen
    assert all(each == {1} for each in seen)
    assert threads() == {2}

"""One BLAS thread inside, and what was there before outside."""

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import driftwise as dw
from driftwise.policies.auto import Auto
from driftwise.threads import one_thread


def threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two():
    with threadpool_limits(2):
        yield


def test_one_inside_and_what_was_there_after():
    with one_thread():
        assert threads() == {1}
        with one_thread():
            assert threads() == {1}
        assert threads() == {1}
    assert threads() == {2}


def test_it_is_restored_after_an_error():
    @one_thread()
    def fails():
        assert threads() == {1}
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fails()
    assert threads() == {2}


def test_a_study_chooses_with_one(monkeypatch):
    seen, choose = [], Auto.choose
    monkeypatch.setattr(Auto, "choose", lambda *args: (seen.append(threads()), choose(*args))[1])
    dw.Study("one", space={"x": dw.Float(0, 1)}).ask()
    assert seen == [{1}]
    assert threads() == {2}

"""Work in pieces that is interrupted begins again, and gives the same result."""

from __future__ import annotations

import pytest

from driftwise.auto.pieces import Piecework


def test_an_interrupt_changes_no_result():
    begun = []

    def work():
        begun.append(len(begun))
        for _ in range(5):
            yield 1.0
            if begun == [0]:
                raise KeyboardInterrupt
        return "all"

    job = Piecework(work)
    with pytest.raises(KeyboardInterrupt):
        job.advance(3.0)
    job.advance(2.0)
    assert (begun, job.cost, job.done) == ([0, 1], 2.0, False)
    assert job.result == "all"
    assert job.cost == 5.0

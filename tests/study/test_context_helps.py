"""What a context is for: on a world whose optimum moves with it, a study that is told it loses far less."""

import pytest
from benchmarks.context import MOST, Service, ratio

import driftwise as dw


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "options"), [("auto", {}), ("sw-gp-ucb", {"window": 150, "kernel": dw.RBF(0.4)})], ids=["auto", "sw"]
)
def test_regret_with_the_context_is_at_most_the_promised_part(policy, options):
    """One seed of `python -m benchmarks context`, which has eight of them and an interval."""
    assert ratio(policy, options, Service(1)) <= MOST

"""The lab: what share of the CPU time is spent where it should be, and whether two workers are twice one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator

from benchmarks.measure import Result, duration
from driftwise.concurrency.threads import cores
from driftwise.lab.engine import Engine, Joblib, engine
from driftwise.lab.experiment import Account, conduct, plan
from driftwise.lab.results import Folder, pairs
from driftwise.lab.suites import suite
from driftwise.lab.trials import Contender

SEEDS = 100  # the published number: a minute or two of work for one core
CONTENDERS = (
    Contender("gp-ucb", "gp-ucb"),
    Contender("sw-gp-ucb", "sw-gp-ucb", (("window", 50),)),
    Contender("r-gp-ucb", "r-gp-ucb", (("interval", 50),)),
    Contender("tv-gp-ucb", "tv-gp-ucb"),
)


def run() -> Iterator[Result]:
    """One worker, then two, on the same trials; their start counts."""
    one, _ = _conducted(engine("serial"))
    yield Result(
        f"{one.done} trials, share of CPU inside policies and environments",
        f"{one.share:.0%} of {one.cpu:.0f} s",
        ratio=one.share,
        target="≥ 0.8",
        met=one.share >= 0.8,
    )
    if cores() < 2:
        yield Result("two workers against one", "needs two cores")
        return
    two, busy = _conducted(Joblib(2))
    ratio = one.seconds / two.seconds
    yield Result(
        "two workers against one",
        f"{duration(two.seconds)}, each busy {busy / 2 / two.seconds:.0%} of it",
        duration(one.seconds),
        ratio=ratio,
        target="≥ 1.7",
        met=ratio >= 1.7,
    )

    # where others use the machine too, seconds say little; these say what two workers can gain on cores of their own
    yield Result(
        "the same in CPU seconds",
        f"{two.cpu:.0f} s, {two.share:.0%} inside",
        f"{one.cpu:.0f} s",
        ratio=2 * one.cpu / two.cpu,
    )


def _conducted(performer: Engine) -> tuple[Account, float]:
    """How it went, and the seconds that trials took, all together."""
    with tempfile.TemporaryDirectory() as path:
        with Folder(path) as folder:
            account = conduct(plan([suite("deng")], CONTENDERS, seeds=SEEDS), folder, performer)
        return account, sum(timing.wall for _, timing in pairs(path))

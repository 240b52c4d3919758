"""The lab: policies on simulated and recorded worlds, and what may be concluded from that.

Read, in this order:

    run           one policy in one world, step by step
    cases         what policies are run on; `suites` and `zoo` list what there is, `recordings` adds a user's own
    oracle        a reference that is told what a world truly is
    trials        one policy on one case with one seed: a job, and what came of it
    engine        performs jobs, in this process, in many, or on a Ray cluster (`cluster`)
    results       a folder of results; `experiment` runs what is missing there
    statistics    measures, intervals and tests: functions of arrays
    tables        what a folder says, case by case; `digest` sums that up for a page
    traces        what a policy believed at every step; `run_view` has that of one stored trial
    demo, theory  what `driftwise demo` and `driftwise lab theory` run
"""

from driftwise.lab.run import run
from driftwise.lab.statistics import Interval, cumulative_regret, interval, mean_regret, regrets

__all__ = ["Interval", "cumulative_regret", "interval", "mean_regret", "regrets", "run"]

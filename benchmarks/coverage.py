"""How often the band of every policy with a named width is left: `python -m benchmarks.coverage [--runs 60] …`.

`--long` has wgp-ucb over 50,000 steps, 20 runs each, noise alone: all runs at once (`lab/theory/long_band.py`); and
d-linucb, one by one.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # before NumPy is loaded

import argparse  # noqa: E402
from functools import partial  # noqa: E402

from driftwise.lab.theory.every_band import CASES, failures  # noqa: E402
from driftwise.lab.theory.long_band import long_failures  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=__doc__)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--horizon", type=int, default=500)
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--policy", help="cases whose label contains this")
    given = parser.parse_args()
    cases = [case for case in CASES if (given.policy or "") in case.label]
    if given.long:
        cases = [case for case in cases if case.policy in ("wgp-ucb", "d-linucb")]
        given.runs, given.horizon = 20, 50_000
    print(f"| policy and width | noise | with drift | noise, one event | (of {given.runs} runs, T = {given.horizon:,})")
    print("|---|---|---|---|", flush=True)
    for case in cases:
        told = {"runs": given.runs, "horizon": given.horizon}
        count = long_failures if given.long and case.policy == "wgp-ucb" else partial(failures, moving=False)
        noise, one = count(case, **told), count(case, unions=1, **told)
        drift = "–" if given.long else str(failures(case, moving=True, **told))
        print(f"| {case.label} | {noise} | {drift} | {one} |", flush=True)


if __name__ == "__main__":
    main()

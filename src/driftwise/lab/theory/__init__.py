"""The theory, tested by simulation: confidence bands, regret bounds, exponents and γ. No I/O, no pictures.

Read, in this order: `settings` (sizes and worlds), `coverage` (bands), `every_band` (those of all policies), `regret`
(bounds and exponents), `batch` and `held` (every bound against many runs at once), `linear` (the linear special case),
`gain` (γ), `measured` (all jobs, and their tables), `verdicts` (what they say, in sentences).
"""

from driftwise.lab.theory.measured import Measured, assemble, plan
from driftwise.lab.theory.settings import FULL, QUICK, Settings

__all__ = ["FULL", "QUICK", "Measured", "Settings", "assemble", "plan"]

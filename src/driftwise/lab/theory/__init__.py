"""The theory, tested: bands, bounds, exponents and γ, measured. No I/O, no pictures."""

from driftwise.lab.theory.measured import Measured, assemble, plan
from driftwise.lab.theory.settings import FULL, QUICK, Settings

__all__ = ["FULL", "QUICK", "Measured", "Settings", "assemble", "plan"]

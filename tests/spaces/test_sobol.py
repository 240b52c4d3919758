"""Sobol' points: SciPy's, bit for bit."""

import numpy as np
import pytest
from scipy.stats import qmc

from driftwise.spaces.sobol import sobol


@pytest.mark.parametrize("d", [1, 2, 3, 10, 64])
def test_the_points_are_scipys_bit_for_bit(d):
    theirs = qmc.Sobol(d, scramble=True, rng=np.random.default_rng(0)).random_base2(8)
    for n in (1, 2, 100, 256):
        assert sobol(d, n).tobytes() == theirs[:n].tobytes()


def test_the_points_are_shared_and_so_cannot_be_changed():
    assert sobol(3, 10) is sobol(3, 10)
    with pytest.raises(ValueError, match="read-only"):
        sobol(3, 10)[0, 0] = 0.5

"""Products with the kernel rows: at once or row by row, by a rule of the sizes and of BLAS alone."""

import numpy as np
import pytest

from driftwise.gp.linalg import aligned
from driftwise.gp.window import sweep

FITS, TOO_LARGE = (20, 301), (401, 1_301)  # of kernel rows; neither length is a multiple of a cache line


@pytest.mark.parametrize("shape", [FITS, TOO_LARGE])
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("fast", [False, True])
def test_the_product_whichever_way_it_is_taken(shape, rows, fast, monkeypatch):
    monkeypatch.setattr(sweep, "has_small_products", lambda: fast)
    rng = np.random.default_rng(0)
    U, K = rng.standard_normal((rows, shape[0])), aligned(*shape)
    K[:] = rng.standard_normal(shape)
    assert not K.flags.c_contiguous  # as in the buffers of states
    C = sweep.product(U, K)
    np.testing.assert_allclose(C, np.einsum("rm,mn->rn", U, K), atol=1e-11)
    assert C.tobytes() == sweep.product(U, K).tobytes()


@pytest.mark.parametrize(("shape", "asked"), [(FITS, True), (TOO_LARGE, False)])
def test_blas_is_asked_only_about_products_that_are_small(shape, asked, monkeypatch):
    calls = []
    monkeypatch.setattr(sweep, "has_small_products", lambda: calls.append(1) or False)
    sweep.product(np.ones((2, shape[0])), np.ones(shape))
    assert bool(calls) is asked


@pytest.mark.parametrize(
    ("architectures", "expected"),
    [
        (["SkylakeX", "SkylakeX"], True),
        (["SkylakeX", "Haswell"], False),
        (["Zen"], False),
        ([], False),
        ([None], False),
    ],
)
def test_small_products_are_fast_with_some_kernels_of_openblas_alone(architectures, expected, monkeypatch):
    class Controller:
        def select(self, *, internal_api):
            assert internal_api == "openblas"
            return self

        def info(self):
            return [{} if name is None else {"architecture": name} for name in architectures]

    monkeypatch.setattr(sweep, "ThreadpoolController", Controller)
    assert sweep.has_small_products.__wrapped__() is expected

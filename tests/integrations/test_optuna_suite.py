"""Optuna's own tests of samplers, run with ours."""

from __future__ import annotations

from functools import partial

import pytest

pytest.importorskip("optuna", reason="needs the extra optuna")

from optuna.testing.pytest_samplers import BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase

from driftwise.integrations.optuna import DriftSampler

pytestmark = pytest.mark.slow  # half a minute in all


class TestDriftSampler(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self):
        return partial(DriftSampler, seed=1)

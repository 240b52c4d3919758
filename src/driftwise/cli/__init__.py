"""The command line: parse, one library call, print. One file a command."""

from __future__ import annotations


def main() -> None:
    """The `driftwise` command."""
    from driftwise.cli.app import app

    _one_blas_thread()
    app(prog_name="driftwise")


def _one_blas_thread() -> None:
    """Small matrices are faster with one, many times so on a busy machine; and results are the same bit for bit."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:  # of the extra `lab`; without it OPENBLAS_NUM_THREADS=1 does the same
        return
    threadpool_limits(limits=1)

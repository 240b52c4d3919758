"""One BLAS thread while small matrices are worked on: faster, and the same bits however many cores there are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """With one BLAS thread; afterwards with as many as before. Also a decorator.

    Where cores are busy, threads that wait for each other make a small factorisation many times slower.
    """
    with _controller().limit(limits=1):
        yield


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # it finds the libraries that are loaded by now

"""One tuner at a time for each study.

A tuner takes up what an interrupted one left. So it must know that the other is gone, and not at work. It keeps a small
file beside the study locked, `…-tune-` and a number, which the system releases when the process ends, however it ends.
Behind a service there is no such lock. Several tuners may then share a study, and none takes up what another left.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from filelock import FileLock, Timeout

from driftwise.errors import ConflictError
from driftwise.log import is_address
from driftwise.study import remote


@contextmanager
def claimed(path: str, name: str) -> Iterator[None]:
    """Holds the study `name` of the store `path`. Refused if another tuner has it."""
    if remote.is_address(path):
        yield
        return
    with _on_server(path, name) if is_address(path) else _beside(path, name):
        yield


@contextmanager
def _on_server(path: str, name: str) -> Iterator[None]:
    """By a lock of a session, which the server releases when the process ends."""
    from driftwise.log.postgres_connect import claim

    held = claim(path, f"tune {name}")
    if held is None:
        raise _taken(name)
    try:
        yield
    finally:
        held.close()


def _taken(name: str) -> ConflictError:
    return ConflictError(f"another `driftwise tune {name}` is at work; wait for it, or end it and give --jobs")


@contextmanager
def _beside(path: str, name: str) -> Iterator[None]:
    word = zlib.crc32(name.encode("utf-8", "surrogatepass"))
    try:
        with FileLock(f"{os.path.realpath(path)}-tune-{word:08x}", timeout=0, is_singleton=False):
            yield
    except Timeout:
        raise _taken(name) from None

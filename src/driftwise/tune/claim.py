"""One tuner at a time for each study.

A tuner takes up what an interrupted one left. So it must know that the other is gone, and not at work. It keeps a byte
of a small file beside the study locked, `…-tune`, which the system releases when the process ends, however it ends.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from driftwise.errors import ConflictError

try:
    import fcntl
except ImportError:  # a system without such locks has no process groups either
    fcntl = None  # type: ignore[assignment]


@contextmanager
def claimed(path: str, name: str) -> Iterator[None]:
    """Holds the study `name` of the file `path`. Refused if another tuner has it."""
    file = os.open(f"{os.path.realpath(path)}-tune", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, zlib.crc32(name.encode("utf-8", "surrogatepass")))
        except OSError:
            raise ConflictError(
                f"another `driftwise tune {name}` is at work; wait for it, or end it and give --jobs"
            ) from None
        yield
    finally:
        os.close(file)

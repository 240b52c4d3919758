"""A child that is killed: forked, so that it begins at once, and of no other consequence than a new process."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable


def said_before_kill(work: Callable[[], None], seconds: float) -> list[bytes]:
    """The lines that `work` prints in a process of its own until it is killed, so long after the first of them."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.dup2(writing, 1)
            work()
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        lines = [pipe.readline()]
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
        lines += pipe.read().splitlines(keepends=True)
    os.waitpid(child, 0)
    return [line for line in lines if line.endswith(b"\n")]

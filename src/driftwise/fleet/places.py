"""Where a shard is: in this process, in one of its own, or on a cluster. A fleet sends calls and collects answers."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from driftwise.concurrency.threads import one_thread
from driftwise.fleet.shard import Key, Shard, check_key
from driftwise.fleet.streams import Rows

Answer = Callable[[], Any]
HASHED = 1 << 18  # keys whose hash is remembered: to make it takes most of the time that a fleet itself takes


class ShardPlace(Protocol):
    """One shard, wherever it is."""

    def submit(self, method: str, *args: Any) -> Answer:
        """Begin a call of one of the shard's methods. Its answer, or its error, comes when the result is called."""
        ...

    def close(self) -> None:
        """Give up the shard's journal."""
        ...


class Here:
    """A shard of this process: a call is made at once."""

    def __init__(self, shard: Shard) -> None:
        self.shard = shard

    @one_thread
    def submit(self, method: str, *args: Any) -> Answer:
        answer = getattr(self.shard, method)(*args)
        return lambda: answer

    def close(self) -> None:
        self.shard.journal.close()


def shard_of(keys: Sequence[Key], shards: int) -> Rows:
    """Which shard each key belongs to: a function of the key alone, the same everywhere and for ever."""
    if shards == 1:
        return np.zeros(len(keys), np.int64)
    try:
        return np.fromiter(map(_hashed, keys), np.int64, len(keys)) % shards
    except TypeError:  # one cannot be hashed, which is no key
        for key in keys:
            check_key(key)
        raise


@lru_cache(HASHED)
def _hashed(key: Key) -> int:
    text = key if isinstance(key, str) else f"#{key}"
    return zlib.crc32(text.encode(errors="surrogatepass"))

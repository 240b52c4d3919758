"""Compresses logs in blocks, as a program does that ships them over a line, and prints how long that takes.

    measure.py CODEC LEVEL BLOCK_KB

The time is that of one megabyte: to fill a block, to compress it (processor time) and to send it. How fast the line is
stands in the file `line`, in kB/s; without the file it is 4000. Others use the line as well: this is the load that
changes.
"""

import bz2
import json
import lzma
import random
import sys
import time
import zlib
from pathlib import Path

SIZE_KB = 512
FILL_KB_PER_SECOND = 20000
CODECS = {
    "zlib": zlib.compress,
    "bz2": bz2.compress,
    "lzma": lambda data, level: lzma.compress(data, preset=level),
}


def logs() -> bytes:
    """Half a megabyte of lines as a web server writes them."""
    draw = random.Random(0)
    words = [f"{draw.getrandbits(48):x}" for _ in range(400)]
    verbs = ("GET", "PUT")
    lines = (f"2026-11-16 {draw.choice(words)} {draw.choice(verbs)} /{draw.choice(words)}" for _ in range(15000))
    return "\n".join(lines).encode()[: SIZE_KB * 1024]


def main(codec: str, level: int, block_kb: int) -> None:
    file = Path("line")
    kb_per_second = float(file.read_text()) if file.exists() else 4000.0
    data, block = logs(), block_kb * 1024
    begun = time.process_time()
    sent = sum(len(CODECS[codec](data[i : i + block], level)) for i in range(0, len(data), block))
    seconds = time.process_time() - begun + sent / 1024 / kb_per_second + block_kb / FILL_KB_PER_SECOND
    megabytes = len(data) / 2**20
    print(json.dumps({"ms": 1000 * seconds / megabytes, "share": sent / len(data)}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))

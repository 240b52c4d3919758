"""Files that are written as a whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write to. It takes the place of `path` when everything succeeded; until then `path` is as it was.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.txt"
    >>> with replacing(path) as file:
    ...     written = file.write(b"all of it")
    >>> path.read_text()
    'all of it'
    """
    aside = path.with_name(f".{path.name[:100]}.{secrets.token_hex(6)}.new")
    try:
        with aside.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, aside)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)

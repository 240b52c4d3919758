"""The one door through which commands write files.

Nothing is written over what the same command reads, nor over a study or its logs. A file is written aside and then
given its name, so that a failure leaves the old one whole.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from driftwise.atomic import replacing
from driftwise.errors import InvalidInput
from driftwise.log.files import MAGIC

SIDE = ("-wal", "-shm", "-journal")  # what SQLite keeps beside a file

Inputs = Iterable[Path | str | None]


def write(target: Path, content: str | bytes, *, inputs: Inputs = ()) -> None:
    """Writes the whole content or nothing."""
    with opened(target, inputs=inputs) as file:
        file.write(content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace"))


@contextmanager
def opened(target: Path, *, inputs: Inputs = ()) -> Iterator[BinaryIO]:
    """A file to write to, which takes the target's name when everything succeeded."""
    real = check(target, inputs=inputs)
    if _exists(real) and not real.is_file():  # a device or a pipe has no old content to lose
        with target.open("wb") as file:
            yield file
        return
    try:
        with replacing(real) as file:
            yield file
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from error


def check(target: Path, *, inputs: Inputs = ()) -> Path:
    """The file that the target leads to. Refuses what may not be written; best called before anything runs."""
    real = Path(os.path.realpath(target))
    if any(_is(real, given) for given in inputs if given is not None):
        raise InvalidInput(f"{target} is what this command reads; give another file to write to")
    if _is_database(real) or any(_is_database(base) for base in _bases(real)):
        raise InvalidInput(f"{target} belongs to a study, which is never written over; give another file")
    if _exists(real):
        mode = real.stat().st_mode
        if stat.S_ISDIR(mode):
            raise InvalidInput(f"{target} is a folder, not a file; give the name of a file")
        if not mode & 0o222:  # also for root, whom the system would let write
            raise InvalidInput(f"{target} is read-only; make it writable, or give another file")
    elif not real.parent.is_dir():
        raise InvalidInput(f"there is no folder {real.parent} for {target.name}; make it first")
    return real


def at_home(path: Path | None) -> Path | None:
    """The path with ~ replaced by the home folder."""
    if path is None:
        return None
    try:
        return path.expanduser()
    except RuntimeError:
        raise InvalidInput(f"there is no home folder {path.parts[0]}; give the whole path") from None


def store_at_home(path: str | None) -> str | None:
    """Likewise of a file with studies. The address of a server is left as it is."""
    return path if path is None or "://" in path else str(at_home(Path(path)))


def _exists(path: Path) -> bool:
    """Unlike Path.exists it raises if no file can have this name, for example if it is too long."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _is(real: Path, given: Path | str) -> bool:
    """Whether it is the input or lies beside it, by its name or by a link to it."""
    return any(_same(real, Path(os.path.realpath(given) + suffix)) for suffix in ("", *SIDE))


def _same(one: Path, other: Path) -> bool:
    try:
        return one == other or os.path.samefile(one, other)
    except OSError:  # one of them is not there
        return False


def _bases(real: Path) -> list[Path]:
    """The files whose log this would be, by its name."""
    return [
        real.with_name(real.name.removesuffix(suffix)) for suffix in SIDE if real.name.removesuffix(suffix) != real.name
    ]


def _is_database(path: Path) -> bool:
    try:
        with path.open("rb") if path.is_file() else open(os.devnull, "rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False

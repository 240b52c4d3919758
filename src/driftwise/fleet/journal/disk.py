"""What the system does with bytes: written as a whole, synced, put in place by a rename, and errors explained."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from driftwise.errors import StoreError
from driftwise.fleet.journal.frames import Piece

WHY = {
    errno.ENOSPC: "the disk is full; nothing was stored. Make room and try again",
    errno.EDQUOT: "the quota is used up; nothing was stored. Make room and try again",
    errno.EROFS: "the file system is read-only; make it writable",
    errno.EACCES: "it cannot be read or written; make the folder and its files readable and writable",
    errno.EIO: "the disk failed to read or write; check the disk, then open the journal again",
}

MOST = 2**30  # bytes in one call: some systems refuse more
sync = getattr(os, "fdatasync", os.fsync)  # the data and the length, without the time of the change


@contextmanager
def explained(where: Path) -> Iterator[None]:
    """Errors of the system as a `StoreError` with the fix."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{where}: {WHY.get(error.errno or 0, error.strerror or error)}") from error


def write(file: int, pieces: Sequence[Piece], at: int) -> int:
    """Write all of it, however little the system takes at a time. Returns where it ends."""
    for piece in pieces:
        rest = memoryview(piece)
        while len(rest):
            written = os.pwrite(file, rest[:MOST], at)
            at, rest = at + written, rest[written:]
    return at


def place(path: Path, pieces: Sequence[Piece]) -> None:
    """Write a file under another name, sync it and rename it: it is there as a whole, or as it was before."""
    aside = path.with_name(f"{path.name}.new")
    file = os.open(aside, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC, 0o644)
    try:
        try:
            write(file, pieces, 0)
            os.fsync(file)
        finally:
            os.close(file)
        os.replace(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    file = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def make_folder(folder: Path) -> None:
    """Make a folder, and the one that it is in, durably."""
    if not folder.parent.parent.is_dir():
        raise StoreError(f"{folder.parent}: there is no folder {folder.parent.parent}; make it first")
    for each in (folder.parent, folder):
        if not each.exists():
            each.mkdir(exist_ok=True)
            sync_folder(each.parent)
        if not each.is_dir():
            raise StoreError(f"{each}: it is no folder, and a journal is a folder of files; give another path")

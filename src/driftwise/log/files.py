"""Files: which ones may be opened, how one is created, and what SQLite's errors mean. A refused file is unchanged."""

from __future__ import annotations

import errno
import os
import secrets
import sqlite3
import stat
import struct
import time
from collections.abc import Callable
from pathlib import Path

import sqlalchemy as sa

from driftwise.errors import InvalidInput, StoreError
from driftwise.log.entries import ADVICE
from driftwise.log.schema import APPLICATION_ID, VERSION

MAGIC = b"SQLite format 3\0"

# what reading or writing a damaged file may raise; the last where SQLite quotes bytes that are no text in its message
SQLITE_ERRORS = (sqlite3.Error, sa.exc.DBAPIError, UnicodeDecodeError)

WHY = {
    sqlite3.SQLITE_NOTADB: "it is no study file; give another path",
    sqlite3.SQLITE_CORRUPT: f"it is damaged or truncated; {ADVICE}",
    sqlite3.SQLITE_BUSY: "another process has kept it locked for ten minutes; end that process, or try again",
    sqlite3.SQLITE_READONLY: "it is read-only; make the file and its folder writable",
    sqlite3.SQLITE_FULL: "the disk is full; make room and try again",
    sqlite3.SQLITE_IOERR: "the disk failed to read or write; check the disk and try again",
    sqlite3.SQLITE_CANTOPEN: "it or its folder cannot be opened; make both readable and writable",
    sqlite3.SQLITE_TOOBIG: "the description is too large; use a smaller space",
}


def explain(error: Exception, where: str) -> StoreError:
    """A `StoreError` that explains SQLite's error, which SQLAlchemy may have wrapped."""
    error = getattr(error, "orig", error)
    if isinstance(error, UnicodeDecodeError):
        return StoreError(f"{where}: {WHY[sqlite3.SQLITE_CORRUPT]}")
    code = getattr(error, "sqlite_errorcode", None)
    why = WHY.get(code & 0xFF) if code is not None else None
    return StoreError(f"{where}: {why} ({error})" if why else f"{where}: {error}")


def as_path(path: str | os.PathLike[str]) -> Path:
    """An absolute path from what the user gave."""
    text = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(text, str) or not text or "\0" in text or text == ":memory:":
        raise InvalidInput(f"path must be a file's path, or None for a study in memory, got {path!r:.80}")
    try:
        return Path(text).expanduser().absolute()
    except RuntimeError as error:  # "~nobody/x"
        raise InvalidInput(f"path must be a file's path, got {path!r:.80}: {error}") from None


def check(path: Path) -> None:
    """Refuse a file that is not a study before SQLite opens it, because SQLite might recover or convert it."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise StoreError(f"{path}: it is no study file; give the path of a file")
        if not status.st_mode & 0o222:  # also for root, whom the system would let write
            raise StoreError(f"{path}: it is read-only; make the file and its folder writable")
        with path.open("rb") as file:
            header = file.read(100)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error
    if len(header) < 100 or not header.startswith(MAGIC) or _word(header, 68) != APPLICATION_ID:
        raise StoreError(f"{path}: it is no study file; give another path, or move it away")
    check_version(_word(header, 60), path)
    if _is_short(path):
        time.sleep(0.05)  # another process may just have been moving its log into the file
        if _is_short(path):
            raise StoreError(f"{path}: it is truncated; restore it from a copy")


def check_version(version: int, where: object) -> None:
    """Refuse a file or a server's schema of another format than the one of this driftwise."""
    if version != VERSION:
        raise StoreError(
            f"{where}: it has format {version}, and this driftwise reads format {VERSION}; use the release of "
            "driftwise that wrote it, or give another path"
        )


def _is_short(path: Path) -> bool:
    """Whether the file has fewer pages than its header says, and no write-ahead log that could contain the rest."""
    with path.open("rb") as file:
        header = file.read(100)
        size = os.fstat(file.fileno()).st_size
    page = int.from_bytes(header[16:18], "big")
    whole = size >= _word(header, 28) * (65536 if page == 1 else page)
    log = Path(f"{path}-wal")
    return not whole and not (log.exists() and log.stat().st_size)


def _word(header: bytes, offset: int) -> int:
    return int(struct.unpack_from(">I", header, offset)[0])


def make(path: Path, build: Callable[[Path], None]) -> None:
    """Create a file: it is built under another name, synced and then renamed. An existing file is left alone."""
    left = Path(f"{path}-wal")
    if left.exists() and left.stat().st_size and not path.exists():
        # SQLite would take it for the new file's own
        raise StoreError(f"{path}: the file is missing but its log exists; put the file back, or move {left} away")
    if not path.parent.is_dir():
        raise StoreError(f"{path}: there is no folder {path.parent}; make it first")
    aside = path.with_name(f".{path.name[:100]}.{secrets.token_hex(6)}.new")
    try:
        os.close(os.open(aside, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o644))
        try:
            build(aside)
            _sync(aside)
            _name(aside, path)
            _sync(path.parent)
        finally:
            aside.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error


def folder_for(path: Path) -> None:
    """Make the folder of a file durably, inside one that is there."""
    folder = path.parent
    if not folder.parent.is_dir():
        raise StoreError(f"{folder}: there is no folder {folder.parent}; make it first")
    try:
        if not folder.exists():
            folder.mkdir(exist_ok=True)
            _sync(folder.parent)
    except OSError as error:
        raise StoreError(f"{folder}: {error.strerror or error}") from error
    if not folder.is_dir():
        raise StoreError(f"{folder}: it is no folder; give the path of one")


def _name(aside: Path, path: Path) -> None:
    try:
        os.link(aside, path)
    except FileExistsError:
        return  # another process was faster; its file is as good
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
            raise
        if not path.exists():  # a file system without links
            os.replace(aside, path)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

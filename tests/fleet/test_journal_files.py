"""The journal in a folder: torn and damaged files, a full disk, and one writer."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from driftwise.errors import StoreError
from driftwise.fleet.journal import FileJournal, JournalEntry, frames
from fleet.test_journal import steps, tell

SMALL = 400  # bytes of a segment: each has two frames


def written(folder: Path, count: int = 5, *, large: int = 2**26, snapshot: bool = False) -> list[Path]:
    """The segments of a journal with this many frames of one entry each."""
    journal = FileJournal(folder, large=large)
    if snapshot:
        journal.append(tell(-1))
        journal.snapshot({"x": np.arange(10)})
    for number in range(count):
        journal.append(tell(number, size=2))
    journal.close()
    return sorted(folder.glob("*.frames"))


@pytest.fixture
def unsynced(monkeypatch):
    """For tests that write thousands of times, and are not about what lasts."""
    monkeypatch.setattr(os, "fsync", lambda file: None)
    monkeypatch.setattr("driftwise.fleet.journal.disk.sync", lambda file: None)


def read(folder: Path) -> list[int]:
    """The numbers of its entries; the snapshot is read, too."""
    journal = FileJournal(folder)
    try:
        journal.latest()
        return steps(journal)
    finally:
        journal.close()


def ends(segment: Path) -> list[int]:
    """Where its frames end, from 0 on."""
    data, found = segment.read_bytes(), [0]
    while found[-1] < len(data):
        found.append(frames.head(data, found[-1]).end)
    return found


def test_a_segment_is_bounded(tmp_path):
    segments = written(tmp_path / "j" / "a", 9, large=SMALL)
    assert len(segments) > 3
    assert all(segment.stat().st_size < SMALL + 400 for segment in segments)
    assert read(tmp_path / "j" / "a") == list(range(9))


def test_cut_at_any_byte_the_last_segment_gives_the_frames_before_and_goes_on(tmp_path, unsynced):
    (segment,) = written(tmp_path / "j" / "a", 3)
    whole, borders = segment.read_bytes(), ends(segment)
    for length in range(len(whole) + 1):
        segment.write_bytes(whole[:length])
        journal = FileJournal(tmp_path / "j" / "a")
        kept = sum(end <= length for end in borders[1:])
        assert steps(journal) == list(range(kept))
        assert segment.stat().st_size == borders[kept]
        journal.append(tell(77))
        assert steps(journal) == [*range(kept), 77]
        journal.close()


def test_zeros_after_a_power_failure_are_cut(tmp_path):
    (segment,) = written(tmp_path / "j" / "a", 3)
    segment.write_bytes(segment.read_bytes() + bytes(5000))
    assert read(tmp_path / "j" / "a") == [0, 1, 2]


def refuses(folder: Path, *words: str) -> None:
    """Opening or reading the journal raises an error with these words, and changes no file."""
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(StoreError) as error:
        read(folder)
    assert all(word in str(error.value) for word in words), error.value
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_a_flip_of_any_bit_is_an_error_that_names_the_file(tmp_path, unsynced):
    folder = tmp_path / "j" / "a"
    written(folder, 4, large=SMALL, snapshot=True)
    assert len(list(folder.glob("*.frames"))) == 2
    for path in [*folder.glob("*.frames"), *folder.glob("*.snapshot")]:
        whole = path.read_bytes()
        for bit in range(0, 8 * len(whole), 19):
            path.write_bytes(whole[: bit // 8] + bytes([whole[bit // 8] ^ 1 << bit % 8]) + whole[bit // 8 + 1 :])
            refuses(folder, path.name)
        path.write_bytes(whole)
    assert read(folder) == [0, 1, 2, 3]


def test_damage_is_told_with_its_place_and_what_to_do(tmp_path):
    (segment,) = written(tmp_path / "j" / "a", 3)
    first = ends(segment)[1]
    data = bytearray(segment.read_bytes())
    data[first + 60] ^= 1
    segment.write_bytes(data)
    refuses(segment.parent, str(segment), f"at byte {first}", "restore it", f"cut the file to {first} bytes")
    segment.write_bytes(data[:first])  # as it says
    assert read(segment.parent) == [0]


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_missing_or_exchanged_segment_is_an_error(tmp_path, which):
    folder = tmp_path / "j" / "a"
    segments = written(folder, 9, large=SMALL)
    kept, other = segments[which].read_bytes(), segments[which + 1].read_bytes()
    segments[which].write_bytes(other)
    refuses(folder, segments[which].name, "not intact")
    segments[which].write_bytes(kept + other)
    refuses(folder, segments[which].name)
    segments[which].unlink()
    refuses(folder, "missing" if which == 0 else segments[which - 1].name)


def test_a_frame_that_stands_twice_is_an_error(tmp_path):
    (segment,) = written(tmp_path / "j" / "a", 2)
    segment.write_bytes(segment.read_bytes() + segment.read_bytes()[ends(segment)[1] :])
    refuses(segment.parent, "not intact")


def test_a_missing_snapshot_is_an_error(tmp_path):
    written(tmp_path / "j" / "a", 3, snapshot=True)
    next((tmp_path / "j" / "a").glob("*.snapshot")).unlink()
    refuses(tmp_path / "j" / "a", "missing")


def test_another_version_is_refused(tmp_path):
    (segment,) = written(tmp_path / "j" / "a", 1)
    segment.write_bytes(b"DWJ\x02" + segment.read_bytes()[4:])
    refuses(segment.parent, "format 2", "use the release")


# --- a disk that is full, and interrupts ------------------------------------------------------------------------------


class Disk:
    """Takes a few bytes at a time until so many are written; then there is an error, in a write or in a sync."""

    def __init__(self, monkeypatch, room: int, error: BaseException) -> None:
        self.room, self.error = room, error
        self.write, self.sync = os.pwrite, os.fdatasync
        monkeypatch.setattr(os, "pwrite", self.pwrite)
        monkeypatch.setattr(os, "fsync", self.synced)
        monkeypatch.setattr("driftwise.fleet.journal.disk.sync", self.synced)

    def pwrite(self, file, data, at):
        if self.room <= 0:
            raise self.error
        written = self.write(file, data[: min(self.room, 100)], at)
        self.room -= written
        return written

    def synced(self, file):
        if self.room <= 0:
            raise self.error
        self.sync(file)


ERRORS = [OSError(errno.ENOSPC, "no space"), OSError(errno.EIO, "bad disk"), KeyboardInterrupt()]


@pytest.mark.parametrize("error", ERRORS, ids=repr)
@pytest.mark.parametrize("call", ["append", "snapshot", "roll"])
def test_a_full_disk_or_an_interrupt_leaves_the_journal_as_it_was_and_usable(tmp_path, monkeypatch, call, error):
    def act(journal):
        if call == "snapshot":
            journal.snapshot({"x": np.arange(50)})
        else:
            journal.append(tell(3), tell(4))

    journal = FileJournal(tmp_path / "j" / "a", large=1 if call == "roll" else 2**26)
    journal.append(tell(0))
    journal.snapshot({"x": np.arange(7)})
    journal.append(tell(1))
    for room in range(0, 400, 23):
        with monkeypatch.context() as patch:
            Disk(patch, room, error)
            with pytest.raises(StoreError if isinstance(error, OSError) else KeyboardInterrupt) as raised:
                act(journal)
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            assert "the disk is full" in str(raised.value)
        assert (journal.latest()["x"].tolist(), steps(journal)) == (list(range(7)), [1])
        assert not list((tmp_path / "j" / "a").glob("*.new"))
    act(journal)
    journal.close()
    journal = FileJournal(tmp_path / "j" / "a")
    expected = (50, []) if call == "snapshot" else (7, [1, 3, 4])
    assert (len(journal.latest()["x"]), steps(journal)) == expected


def test_short_writes_are_completed(tmp_path, monkeypatch):
    journal = FileJournal(tmp_path / "j" / "a")
    with monkeypatch.context() as patch:
        Disk(patch, 10**9, KeyboardInterrupt())
        journal.append(tell(0, size=1000))
        journal.snapshot({"x": np.arange(1000)})
        journal.append(tell(1, size=1000))
    journal.close()
    journal = FileJournal(tmp_path / "j" / "a")
    assert (journal.latest()["x"].tolist(), steps(journal)) == (list(range(1000)), [1])


def test_every_append_is_one_sync_after_its_last_byte(tmp_path, monkeypatch):
    calls = []
    write = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda *given: calls.append("write") or write(*given))
    monkeypatch.setattr("driftwise.fleet.journal.disk.sync", lambda file: calls.append("sync"))
    journal = FileJournal(tmp_path / "j" / "a")
    for number in range(3):
        journal.append(tell(number), tell(number))
    assert calls == ["write", "sync"] * 3


# --- what a kill leaves between two system calls ----------------------------------------------------------------------


class Killed(BaseException):
    """Nothing handles it as a kill would not be handled: see `dying`."""


def dying(monkeypatch, after: int) -> None:
    """From the `after`-th of these system calls on, none does anything."""
    count = iter(range(10**9))

    def guarded(call):
        def guard(*given, **options):
            if next(count) >= after:
                raise Killed
            return call(*given, **options)

        return guard

    for name in ("open", "pwrite", "fsync", "fdatasync", "replace", "unlink", "ftruncate"):
        monkeypatch.setattr(os, name, guarded(getattr(os, name)))
    monkeypatch.setattr("driftwise.fleet.journal.disk.sync", os.fdatasync)


def test_a_snapshot_that_ends_between_any_two_system_calls_leaves_the_old_or_the_new_state(tmp_path, monkeypatch):
    outcomes = []
    for after in range(40):
        folder = tmp_path / f"j{after}" / "a"
        journal = FileJournal(folder)
        journal.append(tell(0))
        journal.snapshot({"x": np.arange(1)})
        journal.append(tell(1))
        with monkeypatch.context() as patch:
            dying(patch, after)
            try:
                journal.snapshot({"x": np.arange(2)})
                done = True
            except Killed:
                done = False
        journal.close()
        again = FileJournal(folder)
        found = len(again.latest()["x"]), steps(again)
        outcomes.append(found)
        assert found in [(1, [1]), (2, [])]
        assert found == (2, []) or not done
        again.append(tell(2))
        again.close()
        assert read(folder) == [*found[1], 2]
        assert len(list(folder.iterdir())) <= 4  # the lock, a snapshot and at most two segments
        if done:
            break
    assert done
    assert all(before <= after for before, after in pairwise(x for x, _ in outcomes))
    assert {x for x, _ in outcomes} == {1, 2}


# --- one writer -------------------------------------------------------------------------------------------------------


def test_a_second_writer_is_refused(tmp_path):
    journal = FileJournal(tmp_path / "j" / "a")
    journal.append(tell(0))
    (tmp_path / "link").symlink_to(tmp_path / "j")
    for path in (tmp_path / "j" / "a", tmp_path / "link" / "a"):
        with pytest.raises(StoreError, match="one writer, and this process has it open already"):
            FileJournal(path)
        code = f"from driftwise.fleet.journal import open_journal; open_journal({str(path.parent)!r}, 'a')"
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "StoreError" in other.stderr
        assert "one writer, and another process has it open" in other.stderr
    journal.append(tell(1))  # which the attempts did not disturb
    journal.close()
    journal.close()
    assert read(tmp_path / "j" / "a") == [0, 1]
    with pytest.raises(StoreError, match="is closed"):
        journal.append(tell(2))


def test_a_journal_that_nobody_has_any_more_can_be_opened(tmp_path):
    FileJournal(tmp_path / "j" / "a").append(tell(0))
    assert read(tmp_path / "j" / "a") == [0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_neither_writes_nor_holds_the_lock(tmp_path):
    journal = FileJournal(tmp_path / "j" / "a")
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            journal.append(JournalEntry("child"))
        except StoreError as error:
            os.write(writing, str(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    assert b"opened by another process" in os.read(reading, 1000)
    os.close(reading)
    assert steps(journal) == []

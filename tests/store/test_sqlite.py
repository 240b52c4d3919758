"""SQLite passes the contract of stores, in memory and in a file; and what is particular to files."""

from __future__ import annotations

import gc
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import textwrap

import pytest

from contracts.store import StoreContract, at, everything
from contracts.store_entries import EntriesContract
from driftwise.errors import InvalidInput, NotFoundError, StoreError
from driftwise.log import Chosen, NewObservation, Outcome, open_store
from driftwise.log.schema import APPLICATION_ID
from driftwise.log.sqlite import Sqlite


def store_at(path):
    """A store of its own, as another process has it."""
    return Sqlite(path)


class SmallPages(StoreContract, EntriesContract):
    def make_pages_small(self, monkeypatch):
        monkeypatch.setattr("driftwise.log.study_log.PAGE", 5)


class TestInMemory(SmallPages):
    @pytest.fixture
    def store(self):
        return open_store(None)


class TestInAFile(SmallPages):
    @pytest.fixture
    def store(self, tmp_path):
        return store_at(tmp_path / "a.db")

    def again(self, store):
        """From a copy of the file and its log, taken while it is open: what a crash would leave behind."""
        copy = store.path.with_name(f"copy-of-{store.path.name}")
        shutil.copy(store.path, copy)
        shutil.copy(f"{store.path}-wal", f"{copy}-wal")
        store.__dict__.setdefault("copies", []).append(store_at(copy))
        return store.copies[-1]

    def test_two_connections_see_each_other(self, store):
        other = store_at(store.path)
        first = store.create("a", "{}").ask("k", at(0.5), 1000)
        assert other.open("a").ask("k", at(0.1), 1000) == first


def pragma(store, name):
    return store.reading(lambda connection: connection.exec_driver_sql(f"PRAGMA {name}").scalar())


def test_the_file_is_kept_as_promised(tmp_path):
    store = store_at(tmp_path / "a.db")
    assert pragma(store, "journal_mode") == "wal"
    assert pragma(store, "synchronous") == 2  # FULL
    assert pragma(store, "application_id") == APPLICATION_ID


def test_every_write_takes_the_lock_first(tmp_path):
    store, said = store_at(tmp_path / "a.db"), []
    log = store.create("a", "{}")
    log.read(lambda view: view.counts)
    for run in (store.writing, store.reading):
        run(lambda connection: connection.connection.driver_connection.set_trace_callback(said.append))
    said.clear()
    asked = log.ask(None, at(0.5), 1000)
    log.tell(asked.id, Outcome(1.0))
    log.observe((0.5,), Outcome(1.0))
    log.abandon(log.ask(None, at(0.5), 1000).id)
    store.create("b", "{}")
    writes = [text for text in said if text.startswith(("INSERT", "UPDATE", "BEGIN"))]
    begun = None
    for text in writes:
        begun = text if text.startswith("BEGIN") else begun
        assert begun == "BEGIN IMMEDIATE" or text == "BEGIN"
    assert writes.count("BEGIN IMMEDIATE") == 6


def test_a_policy_chooses_while_no_lock_is_held(tmp_path):
    """Another connection writes during the choice, which the file's lock would keep it from doing."""
    log = store_at(tmp_path / "a.db").create("a", "{}")
    first = log.ask(None, at(0.5), 1000)
    other = store_at(tmp_path / "a.db")

    def prepare(view):
        def choose():
            assert other.open("a").tell(first.id, Outcome(1.0)).new
            assert other.create("b", "{}").ask(None, at(0.5), 1000).number == 1
            return (Chosen((0.25,), 2.0),)

        return choose

    assert log.ask(None, prepare, 1000).number == 2


def test_a_choice_is_made_again_if_another_suggestion_was_stored_meanwhile():
    log, chosen = open_store(None).create("a", "{}"), []

    def prepare(view):
        number = view.counts.last + 1

        def choose():
            if not chosen:
                log.ask(None, at(0.1), 1000)
            chosen.append(number)
            return (Chosen((0.25,), float(number)),)

        return choose

    assert log.ask(None, prepare, 1000).number == 2
    assert chosen == [1, 2]


@pytest.mark.parametrize(("own_time", "expected"), [(False, 2.0), (True, 1.0)])
def test_observations_that_were_stored_meanwhile_only_move_a_suggestion(own_time, expected):
    """Else a stream of them would keep an ask from ever being answered."""
    log, chosen = open_store(None).create("a", "{}"), []

    def prepare(view):
        def choose():
            log.observe((0.1,), Outcome(1.0))
            chosen.append(view)
            return (Chosen((0.25,), 1.0, own_time=own_time),)

        return choose

    asked = log.ask("k", prepare, 1000)
    assert (asked.number, asked.at, len(chosen)) == (2, expected, 1)
    assert log.tell(asked.id, Outcome(2.0)).number == 2


def test_a_store_is_shared_within_a_process_and_let_go_when_unused(tmp_path):
    store = open_store(tmp_path / "a.db")
    assert open_store(str(tmp_path / "a.db")) is store
    store.create("a", "{}")
    del store
    gc.collect()
    assert not (tmp_path / "a.db-wal").exists()  # closed: the log is in the file
    assert open_store(tmp_path / "a.db").names() == ["a"]


def test_closing_is_harmless(tmp_path):
    store = open_store(tmp_path / "a.db")
    log = store.create("a", "{}")
    store.close()
    assert log.ask("k", at(0.5), 1000).number == 1


def test_nothing_but_the_file_is_left_by_making_one(tmp_path):
    store = open_store(tmp_path / "a.db")
    store.close()
    assert os.listdir(tmp_path) == ["a.db"]


# --- files that are not what they should be --------------------------------------------------------------------------


@pytest.fixture
def kept(tmp_path):
    """A file with some hundred observations, closed."""
    path = tmp_path / "a.db"
    store = store_at(path)
    log = store.create("a", "{}")

    log.load([NewObservation((0.5,) * 10, Outcome(0.0)) for _ in range(300)])
    store.close()
    return path


def refused(path, match):
    before = path.read_bytes()
    with pytest.raises(StoreError, match=match) as caught:
        open_store(path)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before
    assert sorted({*os.listdir(path.parent)} - {f"{path.name}-turns"}) == [path.name]


@pytest.mark.parametrize(
    "content",
    [b"", b"hello", b"SQLite format 3\0", b"\0" * 8192, random.Random(0).randbytes(8192)],
    ids=["empty", "text", "header", "zeros", "noise"],
)
def test_a_file_that_is_no_study(tmp_path, content):
    (tmp_path / "notes.txt").write_bytes(content)
    refused(tmp_path / "notes.txt", "no study file")


def test_somebody_elses_database(tmp_path):
    connection = sqlite3.connect(tmp_path / "other.db")
    connection.execute("CREATE TABLE t (a)")
    connection.close()
    refused(tmp_path / "other.db", "no study file")


@pytest.mark.parametrize("share", [0.01, 0.3, 0.5, 0.9, 0.999])
def test_a_truncated_file(kept, share):
    content = kept.read_bytes()
    kept.write_bytes(content[: int(share * len(content))])
    refused(kept, "truncated|no study file")


@pytest.mark.parametrize("version", [0, 3, 99])
def test_a_file_of_another_format(kept, version):
    connection = sqlite3.connect(kept)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    refused(kept, f"it has format {version}, and this driftwise reads format 1; use the release")


def test_a_read_only_file(kept):
    kept.chmod(0o444)
    refused(kept, "read-only")


def test_a_folder(tmp_path):
    with pytest.raises(StoreError, match="no study file"):
        open_store(tmp_path)


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(StoreError, match="there is no folder"):
        open_store(tmp_path / "nowhere" / "a.db")


def test_a_file_that_is_not_there_is_not_made_by_opening(tmp_path):
    with pytest.raises(NotFoundError, match=r"a\.db"):
        open_store(tmp_path / "a.db", create=False)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("path", ["", ":memory:", "a\0b", 3, b"a.db"])
def test_paths_that_are_none(path):
    with pytest.raises(InvalidInput, match="path must be"):
        open_store(path)


def test_a_damaged_page_is_an_error_and_not_a_wrong_answer(kept):
    content = bytearray(kept.read_bytes())
    for i in range(8192, len(content), 97):
        content[i] ^= 0xFF
    kept.write_bytes(content)
    with pytest.raises(StoreError, match="damaged"):
        list(open_store(kept).open("a").observations())


def test_a_row_changed_by_hand_is_an_error(kept):
    connection = sqlite3.connect(kept)
    connection.execute("UPDATE entries SET body = zeroblob(length(body)) WHERE number = 7")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match="entry 7 does not match its checksum"):
        list(open_store(kept).open("a").observations())


def test_a_file_deleted_while_open(tmp_path):
    log = open_store(tmp_path / "a.db").create("a", "{}")
    (tmp_path / "a.db").unlink()
    with pytest.raises(StoreError, match="moved, replaced or deleted"):
        log.ask(None, at(0.5), 1000)
    with pytest.raises(StoreError, match=r"a\.db-wal"):  # a new file must not take up what was left of the old one
        open_store(tmp_path / "a.db")
    assert sorted(os.listdir(tmp_path)) == ["a.db-shm", "a.db-turns", "a.db-wal"]


def test_a_full_disk(tmp_path):
    store = store_at(tmp_path / "a.db")
    log = store.create("a", "{}")
    asked = log.ask("k", at(0.5), 1000)
    before = everything(log)[1]
    pragma(store, f"max_page_count = {pragma(store, 'page_count')}")
    written = 0

    def write_on():
        nonlocal written
        for i in range(1000):
            log.observe((0.0,) * 50, Outcome(1.0), None, f"key-{i}")
            written += 1

    with pytest.raises(StoreError, match="disk is full"):
        write_on()
    assert everything(log)[0].told == written
    assert everything(log)[1] == before
    pragma(store, "max_page_count = 1000000")  # somebody makes room
    assert log.tell(asked.id, Outcome(1.0)).new


def test_a_disk_that_refuses_to_write(tmp_path):
    """Under a limit on the size of files a write fails in the kernel; what was acknowledged before is there after."""
    script = """
        import resource, signal, sys
        from driftwise.errors import StoreError
        from driftwise.log import Outcome, open_store
        log = open_store(sys.argv[1]).create("a", "{}")
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
        acknowledged = 0
        try:
            for i in range(1000):
                log.observe((0.5,), Outcome(1.0))
                acknowledged += 1
        except StoreError as error:
            assert "disk" in str(error), error
            for _ in range(3):
                try:
                    log.observe((0.5,), Outcome(1.0))
                    acknowledged += 1
                except StoreError:
                    pass
            print(acknowledged)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "a.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    acknowledged = int(done.stdout)
    assert 0 < acknowledged < 1000
    assert len(list(open_store(tmp_path / "a.db").open("a").observations())) == acknowledged


def test_a_lock_that_is_never_let_go(tmp_path, monkeypatch):
    monkeypatch.setattr("driftwise.log.sqlite.LOCK_SECONDS", 0.1)
    log = store_at(tmp_path / "a.db").create("a", "{}")
    holder = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="another process has kept it locked"):
        log.ask("k", at(0.5), 1000)
    holder.execute("ROLLBACK")
    assert log.ask("k", at(0.5), 1000).number == 1
    holder.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_writes_on_after_its_parent_has_gone(tmp_path):
    """With inherited connections the parent, closing last, would delete the log that the child writes into."""
    script = """
        import os, sys
        from driftwise.log import Chosen, open_store
        def half(view): return lambda: (Chosen((0.5,), 1.0),)
        log = open_store(sys.argv[1]).create("a", "{}")
        log.ask(None, half, 1000)
        gone_read, gone_write = os.pipe()
        if os.fork() == 0:
            os.close(gone_write)
            log.ask("child-1", half, 1000)
            os.read(gone_read, 1)      # until the parent has gone
            log.ask("child-2", half, 1000)
            os.write(1, b"done")
            os._exit(0)                # as a kill: nothing is tidied up
        os.close(gone_read)
        log.ask("parent", half, 1000)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "a.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "done"
    pending = open_store(tmp_path / "a.db").open("a").read(lambda view: view.pending(10))
    keys = {asked.key for asked in pending}
    assert {"child-1", "child-2", "parent"} <= keys

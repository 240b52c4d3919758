"""What every journal promises, whatever keeps it."""

from __future__ import annotations

import hypothesis.extra.numpy as arrays_of
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftwise.errors import InvalidInput, StoreError
from driftwise.fleet.frames import JournalEntry
from driftwise.fleet.journal import open_journal


def tell(number: int, size: int = 3) -> JournalEntry:
    """An entry that is a function of its number."""
    rows = np.arange(size) * 7 + number
    return JournalEntry("tell", {"row": rows, "reward": rows / 3, "step": np.array(number)})


def alike(entry: JournalEntry, other: JournalEntry) -> bool:
    """The same kind and arrays: names, types up to the order of bytes, shapes and bits."""
    return (
        entry.kind == other.kind
        and list(entry.arrays) == list(other.arrays)
        and all(same(entry.arrays[name], other.arrays[name]) for name in entry.arrays)
    )


def same(array: np.ndarray, other: np.ndarray) -> bool:
    little = [np.ascontiguousarray(a, dtype=a.dtype.newbyteorder("<")).tobytes() for a in (array, other)]
    return array.dtype.newbyteorder("<") == other.dtype.newbyteorder("<") and (
        array.shape == other.shape and little[0] == little[1]
    )


def steps(journal) -> list[int]:
    """The numbers of the entries, each of which is proved to be as it was written."""
    found = list(journal.entries())
    numbers = [int(entry.arrays["step"]) for entry in found]
    assert all(alike(entry, tell(n, len(entry.arrays["row"]))) for n, entry in zip(numbers, found, strict=True))
    return numbers


@pytest.fixture(params=["files", "postgres"])
def reopen(request, tmp_path):
    """Opens the journal; given the one from before, as it is found after that was closed."""

    address = request.getfixturevalue("address") if request.param == "postgres" else None

    def opened(before=None):
        if before is not None:
            before.close()
        if address is not None:
            return open_journal(address, "journal")
        return open_journal(tmp_path / "folder", "journal")

    return opened


def test_entries_come_back_in_order(reopen):
    journal = reopen()
    for number in range(20):
        journal.append(tell(number))
        assert steps(journal) == list(range(number + 1))
    journal = reopen(journal)
    assert steps(journal) == list(range(20))
    journal.append(tell(20), tell(21))
    assert steps(reopen(journal)) == list(range(22))


def test_a_snapshot_stands_for_what_is_before_it(reopen):
    journal = reopen()
    assert journal.latest() is None
    for number in range(9):
        journal.append(tell(number))
        if number % 3 == 2:
            journal.snapshot({"sum": np.array(number), "x": np.arange(number)})
            assert steps(journal) == []
            assert journal.latest()["x"].tolist() == list(range(number))
    journal.append(tell(9))
    journal.snapshot({"sum": np.array(90)})
    journal.snapshot({"sum": np.array(91)})  # without an entry in between
    journal.append(tell(10))
    journal = reopen(journal)
    assert (journal.latest()["sum"], steps(journal)) == (91, [10])


def test_what_was_given_may_change_afterwards(reopen):
    journal, given = reopen(), np.zeros(3)
    journal.append(JournalEntry("a", {"x": given}))
    journal.snapshot({"x": given})
    journal.append(JournalEntry("a", {"x": given}))
    given += 1
    assert journal.latest()["x"].tolist() == next(journal.entries()).arrays["x"].tolist() == [0, 0, 0]


def test_what_comes_back_cannot_be_changed(reopen):
    journal = reopen()
    journal.append(tell(1))
    journal.snapshot(tell(1).arrays)
    journal.append(tell(1))
    for found in (journal.latest(), next(journal.entries()).arrays):
        with pytest.raises(ValueError, match="read-only"):
            found["row"][0] = 1


def test_entries_may_be_appended_while_others_are_read(reopen):
    journal = reopen()
    journal.append(tell(0), tell(1))
    found = []
    for entry in journal.entries():
        found.append(int(entry.arrays["step"]))
        for number in range(2, 12):
            journal.append(tell(number))
    assert found == [0, 1]


def test_no_entries_are_nothing(reopen):
    journal = reopen()
    journal.append()
    assert list(journal.entries()) == []


KINDS = arrays_of.boolean_dtypes() | arrays_of.integer_dtypes() | arrays_of.unsigned_integer_dtypes()
KINDS |= arrays_of.floating_dtypes(sizes=(16, 32, 64)) | arrays_of.complex_number_dtypes(sizes=(64, 128))
KINDS |= arrays_of.unicode_string_dtypes() | arrays_of.byte_string_dtypes()
ARRAYS = arrays_of.arrays(KINDS, arrays_of.array_shapes(min_dims=0, min_side=0))
ENTRIES = st.builds(JournalEntry, st.text(), st.dictionaries(st.text(), ARRAYS, max_size=3))


@pytest.fixture(scope="module")
def journal(tmp_path_factory):
    """One in a folder, which all examples share. They are not about what lasts: nothing is synced."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("driftwise.log.sqlite.SYNCHRONOUS", "OFF")
        yield open_journal(tmp_path_factory.mktemp("a"), "a")


@given(st.lists(ENTRIES, min_size=1, max_size=3), st.dictionaries(st.text(), ARRAYS, max_size=3))
def test_every_type_and_shape_comes_back(journal, entries, arrays):
    journal.snapshot(arrays)
    found = journal.latest()
    assert list(found) == list(arrays)
    assert all(same(found[name], arrays[name]) for name in arrays)
    journal.append(*entries)
    assert all(map(alike, journal.entries(), entries))
    assert len(list(journal.entries())) == len(entries)


def test_views_are_stored_as_what_they_show(reopen):
    journal, x = reopen(), np.arange(24.0).reshape(4, 6)
    given = {"t": x.T, "every": x[::2, ::3], "back": x[::-1], "f": np.asfortranarray(x), "big": x.astype(">f8")}
    journal.append(JournalEntry("a", given))
    (found,) = journal.entries()
    assert {name: array.tolist() for name, array in found.arrays.items()} == {n: a.tolist() for n, a in given.items()}
    assert all(array.flags.aligned and array.flags.c_contiguous for array in found.arrays.values())


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (JournalEntry("a", {"x": np.array([object()])}), "got object in 'x'"),
        (JournalEntry("a", {"x": np.zeros(2, dtype=[("a", "f8")])}), "got .* in 'x'"),
        (JournalEntry("a", {"x": np.zeros(2, dtype="M8[s]")}), "got datetime64"),
    ],
)
def test_what_cannot_be_stored_is_refused_and_nothing_with_it(reopen, entry, said):
    journal = reopen()
    with pytest.raises(InvalidInput, match=said):
        journal.append(tell(1), entry)
    journal.append(tell(2))
    assert steps(reopen(journal)) == [2]


@pytest.mark.parametrize("name", ["", ".", "..", ".a", "a/b", "a" * 101, "é", None])
def test_a_bad_name_is_refused(tmp_path, name):
    with pytest.raises(InvalidInput, match="name of a journal"):
        open_journal(tmp_path, name)


def test_a_path_is_a_folder(tmp_path):
    open_journal(tmp_path / "fleet", "shard-0").append(tell(1))
    names = {path.name for path in (tmp_path / "fleet").iterdir()}
    assert {"shard-0.db", "shard-0.db.lock"} <= names
    with pytest.raises(StoreError, match="there is no folder"):
        open_journal(tmp_path / "no" / "fleet", "a")
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="no folder"):
        open_journal(tmp_path / "file", "a")

"""A results folder: nothing written is lost, and all can be read back."""

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from driftwise import Float, Study
from driftwise.errors import ConflictError, InvalidInput, NotFoundError, StoreError
from driftwise.lab.results import Folder, failures, manifest, pairs, read
from driftwise.lab.trials import Result, Timing, checkpoints

TIMING = Timing("", mean=1e-4, median=9e-5, wall=0.1, policy=0.05, environment=0.03, rest=0.02)


def result(policy="a", seed=0, case="c", horizon=400, regret=1.5):
    return Result(
        key=f"s/{case} T={horizon} {policy} seed={seed:04d}",
        suite="s",
        case=case,
        policy=policy,
        seed=seed,
        horizon=horizon,
        regret=regret + seed,
        integrated=regret,
        within=(0.1, 0.2, 0.3),
        variation=None if seed else 2.5,
        changes=(100, 200),
        recovery=(3, None),
        restarts=None,
        curve=tuple((regret + seed) * t / horizon for t in checkpoints(horizon)),
    )


def put(folder, *results):
    for r in results:
        folder.append(r, replace(TIMING, key=r.key))


def test_what_was_written_is_read_back(tmp_path):
    with Folder(tmp_path) as folder:
        put(folder, result(seed=1), result("b"), result(seed=0))
    found = read(tmp_path)
    assert found.key == ["s/c T=400 a seed=0000", "s/c T=400 a seed=0001", "s/c T=400 b seed=0000"]
    assert found.regret.tolist() == [1.5, 2.5, 1.5]
    assert (found.regret / found.horizon).tolist() == [1.5 / 400, 2.5 / 400, 1.5 / 400]
    assert np.isnan(found.variation).tolist() == [False, True, False]
    assert np.isnan(found.restarts).all()
    assert found.within[0].tolist() == [0.1, 0.2, 0.3]
    assert found.recovery[0] == (3, None)
    assert found.seconds.tolist() == [1e-4] * 3
    assert found.cpu[0].tolist() == [0.05, 0.03, 0.02]
    assert found.curves([1])[0] == pytest.approx(result(seed=1).curve, rel=1e-15)


def test_cells_and_the_seeds_that_all_have_run(tmp_path):
    with Folder(tmp_path) as folder:
        put(folder, *(result(seed=s) for s in (2, 0, 1)), *(result("b", seed=s) for s in (1, 2)), result(horizon=50))
    found = read(tmp_path)
    assert list(found.cells) == [("s", "c", 50), ("s", "c", 400)]
    policies, rows = found.common(("s", "c", 400))
    assert policies == ["a", "b"]
    assert found.seed[rows].tolist() == [[1, 1], [2, 2]]
    assert found.policy[rows].tolist() == [["a", "b"], ["a", "b"]]


def test_what_is_read_does_not_depend_on_who_came_first(tmp_path):
    results = [result(p, seed=s) for p in "ab" for s in range(3)]
    for name, order in (("x", results), ("y", results[::-1])):
        with Folder(tmp_path / name) as folder:
            put(folder, *order)
    assert list(pairs(tmp_path / "x")) == list(pairs(tmp_path / "y"))
    assert [found for found, _ in pairs(tmp_path / "x")] == results
    assert [spent.key for _, spent in pairs(tmp_path / "x")] == sorted(r.key for r in results)


def test_what_is_written_while_somebody_reads_is_seen(tmp_path):
    with Folder(tmp_path) as folder:
        put(folder, result(seed=0))
        assert len(read(tmp_path)) == 1
        put(folder, result(seed=1))
        assert len(read(tmp_path)) == 2
    assert {file.name for file in tmp_path.iterdir()} <= {"results.db", ".lock"}  # no log is left beside it


def test_a_newer_result_of_a_trial_takes_the_place_of_an_older_one(tmp_path):
    old, new = (replace(result(), key=f"{result().key} code={code}") for code in ("0" * 12, "1" * 12))
    with Folder(tmp_path) as folder:
        put(folder, old, new)
        assert read(tmp_path).key == [new.key]
        assert folder.drop_other_code([new.key]) == 1
        assert read(tmp_path).key == [new.key]
        assert folder.drop_other_code([f"{result().key} code=2"]) == 1
    with pytest.raises(NotFoundError, match="no run in"):
        read(tmp_path)


def test_a_trial_is_kept_once(tmp_path):
    with Folder(tmp_path) as folder:
        put(folder, result(), result())
    with Folder(tmp_path) as folder:
        put(folder, result())
    assert len(list(pairs(tmp_path))) == 1


@pytest.mark.parametrize("content", ["not ours\n", "a database of others"])
def test_a_file_of_others_is_named_and_left_alone(tmp_path, content):
    path = tmp_path / "results.db"
    if content == "not ours\n":
        path.write_text(content)
    else:
        Study("s", {"x": Float(0, 1)}, path=path).close()
    before = path.read_bytes()
    for use in (Folder, read):
        with pytest.raises(InvalidInput, match=r"results\.db must be a file of results"):
            use(tmp_path)
    assert path.read_bytes() == before


def test_failures_are_kept_until_they_are_made_good(tmp_path):
    with Folder(tmp_path) as folder:
        folder.failed("s/c T=400 a seed=0000", "ValueError: no")
        folder.failed("s/c T=400 b seed=0000", "ValueError: never")
    assert failures(tmp_path) == {
        "s/c T=400 a seed=0000": "ValueError: no",
        "s/c T=400 b seed=0000": "ValueError: never",
    }
    with Folder(tmp_path) as folder:
        put(folder, result())
    assert list(failures(tmp_path)) == ["s/c T=400 b seed=0000"]
    with Folder(tmp_path) as folder:
        put(folder, result("b"))
    assert not failures(tmp_path)


def test_one_writer_at_a_time(tmp_path):
    with Folder(tmp_path), pytest.raises(ConflictError, match="another run is writing"):
        Folder(tmp_path)
    Folder(tmp_path).close()


def test_what_is_no_results_folder(tmp_path):
    with pytest.raises(NotFoundError, match="no results in"):
        read(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="is a file"):
        Folder(tmp_path / "file")
    assert manifest(tmp_path) == {}


def test_a_full_disk_is_said_and_what_was_written_stays(tmp_path):
    with Folder(tmp_path) as folder:
        put(folder, result(seed=0))
        folder._file.execute("PRAGMA max_page_count = 12")
        with pytest.raises(StoreError, match="disk is full"):
            put(folder, *(result(seed=seed) for seed in range(1, 50)))
        there = len(folder.done)
    assert len(read(tmp_path)) == there > 0


def test_names_are_what_they_are(tmp_path):
    odd = replace(result(), key="s/\"c'; DROP TABLE trials; \\ é T=1")
    with Folder(tmp_path) as folder:
        put(folder, odd)
    assert read(tmp_path).key == [odd.key]


def test_a_folder_whose_first_run_has_not_ended_says_so(tmp_path):
    with Folder(tmp_path), pytest.raises(NotFoundError, match=r"no run in .* has ended yet"):
        read(tmp_path)


WRITER = """
import sys
sys.path[:0] = sys.argv[2:]
from driftwise.lab.results import Folder
from lab.test_results import put, result
with Folder(sys.argv[1]) as folder:
    print("open", flush=True)
    for seed in range(len(folder.done), 10**6):
        put(folder, result(seed=seed))
        print(result(seed=seed).key, flush=True)
"""


@pytest.mark.slow
def test_what_was_acknowledged_outlives_a_kill(tmp_path):
    """Whenever it comes; and the next run goes on."""
    told, here = set(), Path(__file__).parents[1]
    for wait in np.random.default_rng(5).uniform(0, 0.3, 5):
        command = [sys.executable, "-c", WRITER, str(tmp_path), str(here), str(here.parent)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout.readline() == "open\n"
            time.sleep(wait)
            writer.kill()
            lines = writer.stdout.read().splitlines(keepends=True)
        told |= {line.strip() for line in lines if line.endswith("\n")}
        found = read(tmp_path) if told else None
        assert told <= set(found.key if found else ())
    with Folder(tmp_path) as folder:
        assert len(folder.done) <= len(told) + 5  # one that was written at the kill and not told, at the most

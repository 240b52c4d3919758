"""A results folder: nothing written is lost, whatever happens to the end of the file, and all can be read back."""

import json
from dataclasses import replace

import numpy as np
import pytest

from driftwise.errors import ConflictError, InvalidInput, NotFoundError
from driftwise.lab.results import Folder, failures, key_of, line, manifest, read
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


def test_the_file_is_sorted_and_does_not_depend_on_who_came_first(tmp_path):
    results = [result(p, seed=s) for p in "ab" for s in range(3)]
    for name, order in (("x", results), ("y", results[::-1])):
        with Folder(tmp_path / name) as folder:
            put(folder, *order)
    assert (tmp_path / "x" / "results.jsonl").read_bytes() == (tmp_path / "y" / "results.jsonl").read_bytes()
    keys = [json.loads(written)["key"] for written in (tmp_path / "x" / "results.jsonl").read_text().splitlines()]
    assert keys == sorted(keys)


@pytest.mark.parametrize("cut", [1, 20, 1400])
def test_a_torn_last_line_is_dropped_and_the_rest_stays(tmp_path, cut):
    with Folder(tmp_path) as folder:
        put(folder, result(seed=0), result(seed=1))
    path = tmp_path / "results.jsonl"
    whole = path.read_bytes()
    assert cut < len(whole.splitlines(keepends=True)[1])
    path.write_bytes(whole[:-cut])
    assert len(read(tmp_path)) == 1  # reading changes nothing
    assert path.read_bytes() == whole[:-cut]
    with Folder(tmp_path) as folder:
        assert folder.done == {result(seed=0).key}
        put(folder, result(seed=1))
    assert path.read_bytes() == whole


def test_a_trial_is_kept_once(tmp_path):
    with Folder(tmp_path) as folder:
        put(folder, result(), result())
    with Folder(tmp_path) as folder:
        put(folder, result())
    assert len((tmp_path / "results.jsonl").read_bytes().splitlines()) == 1


def test_a_damaged_file_is_named(tmp_path):
    with Folder(tmp_path) as folder:
        put(folder, result())
    path = tmp_path / "results.jsonl"
    path.write_bytes(b"not ours\n" + path.read_bytes())
    before = path.read_bytes()
    for use in (Folder, read):
        with pytest.raises(InvalidInput, match=r"results\.jsonl, line 1"):
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
    assert not (tmp_path / "failures.jsonl").exists()


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


def test_keys_are_found_without_reading_the_line():
    odd = replace(result(), key='s/"c" \\ é T=1')
    assert key_of(line(odd)) == odd.key


def test_a_folder_whose_first_run_has_not_ended_says_so(tmp_path):
    (tmp_path / "results.jsonl").touch()
    with pytest.raises(NotFoundError, match=r"no run in .* has ended yet"):
        read(tmp_path)

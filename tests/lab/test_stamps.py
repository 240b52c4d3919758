"""A stored result is found again as long as its code and its defaults are what they were, and no longer."""

import importlib
import json
import subprocess
import sys
from dataclasses import replace
from functools import partial

import pytest
from typer.testing import CliRunner

import driftwise as dw
from driftwise.cli.app import app
from driftwise.lab import stamps
from driftwise.lab.engine import Done, Reply
from driftwise.lab.experiment import ELSEWHERE, conduct
from driftwise.lab.named import environments
from driftwise.lab.results import Folder, failures, pairs, read
from driftwise.lab.stamps import is_sent, stamp
from driftwise.lab.trials import Contender, Trial, TrialOutcome, name_of
from own import SOURCE, command

POLICY = """
from dataclasses import dataclass
from driftwise.policies import Random
from helper import PLACE

@dataclass(frozen=True)
class Mine(Random):
    name = "mine"
    place: float = 0.25

    @classmethod
    def of(cls, space, *, place: float = 0.25):
        return cls(space, place=place)

    def choose(self, state, ask):
        return self.space.points[int(PLACE * 40)]
"""
WORLD = """
from drift_extras.tide import Hill as Base
from dataclasses import dataclass

@dataclass(frozen=True)
class Hill(Base):
    height: float = 1.0

    def value(self, t, X):
        return self.height * super().value(t, X)
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "helper.py").write_text("PLACE = 0.5\n")
    (tmp_path / "mine.py").write_text(POLICY)
    (tmp_path / "hills.py").write_text(WORLD)
    return tmp_path


NAN = "super().value(t, X) / (t < 15 or self.seed != 1 or float('nan'))"
RUN = ("run", "--env", "hills:Hill", "--policy", "mine:Mine", "--policy", "random", "--horizon", "20", "--seeds", "3")
RUN = (*RUN, "--engine", "serial", "--out", "out")


def lab(folder, *words):
    answer = command("lab", *words, path=(SOURCE, folder), cwd=folder)
    assert answer.returncode in (0, 1), answer.stderr
    return answer.stdout + answer.stderr


def edited(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_results_of_changed_code_are_removed_and_made_again(folder):
    """One seed alone takes the others of the old code with it, and leaves the other policy as it is."""
    assert "6 runs in" in lab(folder, *RUN)
    edited(folder / "helper.py", "0.5", "0.75")
    said = lab(folder, *RUN, "--seeds", "1")
    assert "1 runs in" in said
    assert "1 were there already" in said
    assert "3 older results of other code or defaults were removed" in said
    found = read(folder / "out")
    assert found.policy.tolist() == ["mine:Mine", "random", "random", "random"]
    assert name_of(found.key[0]) == "environments/hills:Hill T=20 mine:Mine seed=0000"


def test_a_number_that_is_none_fails_its_trial_and_the_run_goes_on(folder):
    edited(folder / "hills.py", "super().value(t, X)", NAN)
    said = lab(folder, *RUN)
    assert "4 runs in" in said
    assert "2 of 6 runs failed" in said
    problem, _ = failures(folder / "out").values()
    assert "environments/hills:Hill, seed 1, step 15: the" in problem
    assert "must be finite, got nan" in problem
    assert len(read(folder / "out")) == 4
    out = folder / "out"
    for words in (("table", out), ("table", out, "--of", "mine*")):
        output = CliRunner().invoke(app, ["lab", *map(str, words)]).output
        assert "2 runs failed and are in no table" in output
        assert json.loads(CliRunner().invoke(app, ["lab", *map(str, words), "--json"]).output)["failed"] == 2
    page = folder / "report.html"
    CliRunner().invoke(app, ["lab", "report", str(out), "-o", str(page), "--no-pictures"])
    assert "2 runs failed and are not in it" in page.read_text()
    edited(folder / "hills.py", "seed != 1", "seed != 9")  # mended: all are run, and nothing has failed any more
    assert "6 runs in" in lab(folder, *RUN)
    assert failures(out) == {}


def test_a_result_of_other_code_than_was_asked_for_is_a_failure(tmp_path):
    """As where a file is edited while it runs, or another one lies on a machine of a cluster."""
    trial = Trial(Contender("it", "random"), "s", environments([("still", {})]).cases[0], 20, 0)
    result, timing, _ = trial.perform()

    def other(work):
        number, _ = work.take()
        outcome = TrialOutcome(replace(result, key=f"{trial.name} code=0"), timing)
        yield Reply((Done(number, outcome, 0.1),), 0.1)

    with Folder(tmp_path) as folder:
        account = conduct([trial], folder, other)
    assert (account.done, account.failed) == (0, 1)
    assert failures(tmp_path) == {trial.key: ELSEWHERE}


SCRIPT = """
from dataclasses import dataclass
import driftwise as dw
from driftwise.lab.cases import Case, Suite
from driftwise.lab.engine import engine
from driftwise.lab.experiment import conduct, plan
from driftwise.lab.results import Folder
from driftwise.lab.trials import Contender

@dataclass(frozen=True)
class Mine(Contender):
    pass

def world(*, seed, horizon):
    return dw.environment("still", seed=seed)

if __name__ == "__main__":
    trials = plan([Suite("s", "", "", "", (Case("c", world, 5, 2),))], [Mine("r", "random")])
    for name in ("serial", "joblib"):
        with Folder(name) as folder:
            account = conduct(trials, folder, engine(name, jobs=2))
        print(account.done, account.failed)
"""


def test_code_of_a_script_is_the_same_in_other_processes(tmp_path):
    """They cannot import it, and so have it from the script as it is there."""
    (tmp_path / "mine.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "mine.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "2 0\n2 0\n", done.stderr
    one, two = ([result for result, _ in pairs(tmp_path / name)] for name in ("serial", "joblib"))
    assert one == two


def test_what_was_sent_is_told_apart_from_what_has_a_name():
    def local(): ...

    made = partial(dw.environment, name="still")
    assert not is_sent(dw.RBF(0.2), sorted, str.upper, made, Contender("it", "sw-gp-ucb"), None, 3)
    for code in (local, partial(local), (dw.RBF, local), partial(dw.environment, name=local), type("A", (), {})()):
        assert is_sent(code)


def test_where_all_runs_failed_the_table_says_so(tmp_path):
    with Folder(tmp_path) as out:
        out.failed("s/c T=1 p seed=0000 code=0", "why")
    answer = CliRunner().invoke(app, ["lab", "table", str(tmp_path)])
    assert answer.exit_code == 2
    assert "all 1 runs in" in answer.output
    assert "driftwise lab failures" in answer.output


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("mine.py", "PLACE * 40", "PLACE * 20"),
        ("helper.py", "0.5", "0.75"),
        ("mine.py", "place: float = 0.25", "place: float = 0.75"),
        ("hills.py", "height: float = 1.0", "height: float = 2.0"),
    ],
    ids=["the policy", "what it imports", "a default", "the environment"],
)
def test_changed_code_changes_the_key(folder, monkeypatch, file, old, new):
    monkeypatch.syspath_prepend(folder)
    monkeypatch.syspath_prepend(SOURCE)
    keys = []
    for _ in range(2):
        again = fresh("mine:Mine", "hills:Hill")
        assert again == fresh("mine:Mine", "hills:Hill")
        keys.append(again)
        if len(keys) == 1:
            edited(folder / file, old, new)
    assert keys[0] != keys[1]


def fresh(policy, world):
    """The key, of modules that are imported anew."""
    for module in ("mine", "helper", "hills"):
        sys.modules.pop(module, None)
    importlib.invalidate_caches()
    return key(policy, world)


def key(policy="sw-gp-ucb", world="still"):
    (case,) = environments([(world, {})]).cases
    return Trial(Contender("it", policy), "s", case, 20, 0).key


def test_a_changed_default_and_another_version_change_the_key(monkeypatch):
    before, of = key(), dw.policies.REGISTRY["sw-gp-ucb"]
    assert key() == before
    monkeypatch.setattr(stamps, "version", lambda name: "9.9")
    stamps._source.cache_clear()
    stamps._code.cache_clear()
    assert key() != before
    monkeypatch.undo()
    stamps._source.cache_clear()
    stamps._code.cache_clear()
    assert key() == before

    class Wider(of):
        @classmethod
        def of(cls, space, *, window=7, **options):
            return super().of(space, window=window, **options)

    monkeypatch.setitem(dw.policies.REGISTRY, "sw-gp-ucb", Wider)
    assert key() != before


def test_a_stamp_is_the_same_in_every_process_and_told_apart_by_values():
    def world(*, seed, size=3): ...

    one = stamp(partial(world, size=4), dw.RBF(0.2))
    assert one == stamp(partial(world, size=4), dw.RBF(0.2))
    assert len({one, stamp(partial(world, size=5), dw.RBF(0.2)), stamp(partial(world, size=4), dw.RBF(0.3))}) == 3
    assert stamp(object()) == stamp(object())  # its address is not in it
    assert stamp(("ab", "c")) != stamp(("a", "bc"))
    script = (
        "from driftwise.lab import stamps; import driftwise as dw; print(stamps.stamp(dw.RBF(0.2), sorted, {1: 2}))"
    )
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout
    assert said == stamp(dw.RBF(0.2), sorted, {1: 2}) + "\n"

"""Policies and environments of one's own: by module:Name and entry points, in files, workers and commands."""

from __future__ import annotations

import ast
import json
import sys
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import pytest
from tests.own import HILL, POLICY, SOURCE, WORLD, command, installed, python

import driftwise as dw
from driftwise.environments import ENVIRONMENTS, Gaussian
from driftwise.errors import DriftwiseError, InvalidInput, NotFoundError, StoreError
from driftwise.lab.engine import Joblib, perform_all, replies, serial
from driftwise.lab.named import environments
from driftwise.lab.results import pairs
from driftwise.lab.trials import Contender, Trial
from driftwise.log import codec
from driftwise.lookup import Catalogue
from driftwise.policies import POLICIES, options_of

LINE = {"x": dw.Float(0, 1)}


@pytest.fixture(autouse=True)
def _on_the_path(monkeypatch):
    monkeypatch.syspath_prepend(str(SOURCE))


@pytest.fixture
def module(monkeypatch):
    """A module that can be imported, as one that a test fills."""
    made = ModuleType("my_module")
    monkeypatch.setitem(sys.modules, "my_module", made)
    return made


def own(module, **members):
    """A class in the module, with what a policy needs but for what is given as None."""
    whole = {name: lambda *_, **__: None for name in ("memory", "start", "choose", "update", "belief", "remembers")}
    kept = {name: member for name, member in (whole | {"name": "mine"} | members).items() if member is not None}
    cls = type("Mine", (), kept | {"__annotations__": {"space": object}, "__module__": module.__name__})
    module.Mine = dataclass(frozen=True)(cls)
    return module.Mine


# --- by module:Name ---------------------------------------------------------------------------------------------------


def test_a_policy_by_its_class_takes_its_fields_as_options():
    made = dw.policy(POLICY, LINE, epsilon=0.3)
    assert (type(made).__name__, made.epsilon, made.window) == ("EpsilonGreedy", 0.3, 60)
    assert list(options_of(POLICY)) == ["window", "epsilon", "kernel"]
    assert options_of(POLICY)["epsilon"].meaning == "probability of a choice at random"
    with pytest.raises(InvalidInput, match="has no option 'speed'; it has window, epsilon, kernel"):
        dw.policy(POLICY, LINE, speed=1)


def test_a_policy_by_its_class_may_be_inside_another():
    outer = dw.policy("tgp-ucb", LINE, inner=POLICY, window=7)
    assert outer.inner.window == 7
    assert codec.loads(codec.dumps(outer)) == outer


BAD = {
    5: (NotFoundError, "no policy is called 5"),
    "": (NotFoundError, "no policy is called ''"),
    "nope": (NotFoundError, "no policy is called 'nope'; there are ada-opkb, .*auto, .*written module:Name"),
    "no_such_module:Mine": (NotFoundError, "no module is called 'no_such_module'; install .* PYTHONPATH"),
    "drift_extras.none:Mine": (NotFoundError, "no module is called 'drift_extras.none'"),
    "drift_extras.greedy:Nothing": (NotFoundError, "drift_extras.greedy has no 'Nothing'"),
    "drift_extras.greedy:": (NotFoundError, "no policy is called"),
    ":EpsilonGreedy": (NotFoundError, "no policy is called"),
    "drift extras:Mine": (NotFoundError, "no policy is called"),
    "../greedy:EpsilonGreedy": (NotFoundError, "no policy is called"),
    "drift_extras.greedy:Mean": (InvalidInput, "is not a policy: it has no name, no space, no memory, no start"),
    "subprocess:Popen": (InvalidInput, "must be a dataclass with frozen=True"),
    "math:pi": (InvalidInput, "must be the class of a policy, got 3.14"),
    WORLD: (InvalidInput, "must be the class of a policy, got <function tide"),
}


@pytest.mark.parametrize("name", BAD, ids=str)
def test_a_bad_name_of_a_policy_is_refused(name):
    kind, why = BAD[name]
    with pytest.raises(kind, match=why):
        dw.policy(name, LINE)
    if isinstance(name, str):
        with pytest.raises(kind, match=why):
            dw.Study("s", LINE, policy=name)


def test_what_a_policy_lacks_is_said(module):
    own(module, belief=None)
    with pytest.raises(InvalidInput, match=r"is not a policy: it has no belief; docs/adding-a-policy.md"):
        dw.policy("my_module:Mine", LINE)
    own(module, name=7)
    with pytest.raises(InvalidInput, match="needs a text as its name"):
        dw.policy("my_module:Mine", LINE)


def test_a_module_that_cannot_be_imported_is_named(tmp_path, monkeypatch):
    (tmp_path / "broken_one.py").write_text("1 / 0\n")
    (tmp_path / "needy_one.py").write_text("import no_such_thing\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(InvalidInput, match="importing broken_one failed with ZeroDivisionError"):
        dw.policy("broken_one:Mine", LINE)
    with pytest.raises(InvalidInput, match="needy_one needs the module no_such_thing; install it"):
        dw.policy("needy_one:Mine", LINE)


def test_environments_by_function_and_by_class():
    assert dw.environment(WORLD, seed=3, noise_std=0.2).noise == Gaussian(0.2)
    hill = dw.environment(HILL, seed=3)
    assert hill.value(5, hill.space.points).max() == hill.best(5)
    with pytest.raises(InvalidInput, match="has no option 'speed'; it has period, noise_std, horizon"):
        dw.environment(WORLD, speed=1)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (None, "no environment is called None"),
        ("nope", "no environment is called 'nope'; there are bogunovic, .*written module:Name"),
        ("no_such_module:world", "no module is called 'no_such_module'"),
        ("drift_extras.tide:nothing", "has no 'nothing'"),
        ("math:pi", "must be a function or a class that makes a world"),
        ("math:sin", "must take the keyword seed"),
        (POLICY, "must take the keyword seed"),
        ("random:Random", "must take the keyword seed"),
        ("driftwise:generator", "made Generator.*, a world without name, space, kernel"),
    ],
)
def test_a_bad_name_of_an_environment_is_refused(name, why):
    with pytest.raises(DriftwiseError, match=why):
        dw.environment(name)


# --- in a file --------------------------------------------------------------------------------------------------------


def test_a_study_in_a_file_is_opened_by_another_process(tmp_path):
    file = tmp_path / "own.study"
    study = dw.Study("s", LINE, policy=POLICY, epsilon=0.25, path=file)
    for reward in (1.0, 3.0, 2.0):
        study.tell(study.ask(), reward)
    asked = study.ask()
    code = (
        f"import driftwise as dw; s = dw.Study.open('s', path={str(file)!r}); print(s.policy.epsilon, s.pending()[0].x)"
    )
    again = python("-c", code)
    assert again.stdout.split(" ", 1) == ["0.25", f"{asked.x}\n"], again.stderr
    fresh = dw.Study("s", LINE, policy=POLICY, epsilon=0.25, path=file)
    assert fresh.policy == study.policy
    told = command("study", "show", "s", "--path", str(file))
    assert told.returncode == 0, told.stderr


@pytest.mark.slow
def test_a_study_whose_module_is_missing_says_so(tmp_path):
    file = tmp_path / "own.study"
    dw.Study("s", LINE, policy=POLICY, path=file)
    lost = command("study", "ask", "s", "--path", str(file), path=())
    assert lost.returncode == 1
    assert "no module is called 'drift_extras'; install the package that has it" in lost.stderr
    assert "study 's'" in lost.stderr


def test_an_object_of_ones_own_class_is_stored_with_its_parts():
    from drift_extras.greedy import EpsilonGreedy, Mean

    made = EpsilonGreedy(dw.policy("random", LINE).space, kernel=Mean(dw.RBF(0.3)))  # any frozen part will do
    data = codec.encode(made)
    assert (data["type"], data["kernel"]["type"]) == (POLICY, "drift_extras.greedy:Mean")
    assert codec.decode(data) == made
    dw.Study("s", policy=EpsilonGreedy(made.space))


@pytest.mark.parametrize("kind", ["drift_extras.greedy:Mean", "subprocess:Popen", "os:system", "no_such:Thing"])
def test_only_policies_and_their_own_parts_are_made(kind):
    with pytest.raises(InvalidInput):
        codec.decode({"type": kind, "posterior": 1})
    inside = codec.encode(dw.policy("sw-gp-ucb", LINE)) | {"width": {"type": kind, "posterior": 1}}
    with pytest.raises(InvalidInput):
        codec.decode(inside)


def test_a_class_that_no_other_process_can_import_is_refused(module):
    mine = own(module)(dw.policy("random", LINE).space)
    assert codec.decode(codec.encode(mine)) == mine
    del module.Mine
    with pytest.raises(InvalidInput, match="Mine cannot be imported from the module my_module; define the class in"):
        codec.encode(mine)


def test_a_stored_class_that_is_gone_is_named(tmp_path, module):
    file = tmp_path / "own.study"
    dw.Study("s", policy=own(module)(dw.policy("random", LINE).space), path=file)
    del module.Mine
    with pytest.raises(StoreError, match=r"study 's' .*my_module has no 'Mine'"):
        dw.Study.open("s", path=file)


# --- in every worker --------------------------------------------------------------------------------------------------


def trials():
    suite = environments([(HILL, {}), (WORLD, {"period": 20.0, "horizon": 12})])
    contenders = [Contender("mine", POLICY, (("epsilon", 0.3),)), Contender("random", "random")]
    return [Trial(c, suite.name, case, 12, seed) for case in suite.cases for c in contenders for seed in (0, 1)]


def results(engine):
    answers = [answer for reply in replies(trials(), engine) for answer in reply.answers]
    return [answer.value.result for answer in sorted(answers, key=lambda answer: answer.number)]


@pytest.mark.slow
def test_joblib_workers_find_them():
    assert results(Joblib(2)) == results(serial)
    assert [o.result for o in perform_all(trials(), workers=2)] == results(serial)


def test_ray_workers_find_them():
    pytest.importorskip("ray")
    run = "from tests.test_own import results; from driftwise.lab.cluster import Ray; print(repr(results(Ray(2))))"
    done = python("-c", f"import sys; sys.path[:0] = [{str(SOURCE)!r}, {str(SOURCE.parents[2])!r}]; {run}", path=())
    assert done.stdout == f"{results(serial)!r}\n", done.stderr


@pytest.mark.slow
def test_compare_and_lab_run_take_them_from_the_current_folder(tmp_path):
    folder = SOURCE / "drift_extras"  # its files are modules of the current folder
    chosen = ["--policy", "greedy:EpsilonGreedy:epsilon=0.3,window=9", "--policy", "random", "--horizon", "12"]
    told = command(
        "compare", *chosen, "--env", "tide:Hill", "--seeds", "2", "--jobs", "2", "--json", path=(), cwd=folder
    )
    assert told.returncode == 0, told.stderr
    assert {run["policy"] for run in json.loads(told.stdout)["results"]} == {chosen[1], "random"}
    out = ["--out", str(tmp_path / "results")]
    for engine in ("joblib", "serial"):  # the second finds all of it done
        ran = command(
            *("lab", "run", *chosen, "--env", "tide:tide:period=20", "--env", "still", "--seeds", "2", *out),
            *("--engine", engine, "--jobs", "2" if engine == "joblib" else "1"),
            path=(),
            cwd=folder,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "8 were there already" in ran.stdout
    assert {result.case for result, _ in pairs(tmp_path / "results")} == {"tide:tide:period=20", "still"}


def test_the_command_line_says_what_is_wrong_with_a_name(refused):
    for spec, why in (
        ("no_such:Mine", "no module is called 'no_such'"),
        ("sw-gp-ucb:window", "a policy is written NAME or NAME:KEY=VALUE"),
        (f"{POLICY}:speed=3", "has no option 'speed'"),
    ):
        assert why in " ".join(refused(f"study create s --float x=0:1 --policy {spec}").split())


# --- entry points -----------------------------------------------------------------------------------------------------


def test_entry_points_are_names_like_the_others(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(installed(tmp_path)))
    assert dw.policy("epsilon-greedy", LINE, epsilon=0.2) == dw.policy(POLICY, LINE, epsilon=0.2)
    assert dw.environment("tide", seed=1) == dw.environment(WORLD, seed=1)
    assert {"epsilon-greedy", "sw-gp-ucb"} <= set(POLICIES.names())
    assert POLICIES.problems() == ENVIRONMENTS.problems() == []
    study = dw.Study("s", LINE, policy="epsilon-greedy", epsilon=0.2)
    assert json.loads(study.description.to_json())["policy"]["type"] == POLICY


@pytest.mark.slow
def test_entry_points_are_listed_with_their_package(tmp_path):
    path = (SOURCE, installed(tmp_path))
    listed = command("policies", path=path)
    assert "epsilon-greedy  (from drift-extras 1.0)" in listed.stdout, listed.stderr
    assert "probability of a choice at random" in listed.stdout
    worlds = json.loads(command("environments", "--json", path=path).stdout)["environments"]
    assert {w["name"]: w["package"] for w in worlds}["tide"] == "drift-extras 1.0"
    assert {w["name"]: w["package"] for w in worlds}["still"] == "driftwise"


@pytest.mark.slow
def test_a_broken_entry_point_is_named_and_the_rest_works(tmp_path):
    points = {
        "gone": "no_such_module:Mine",
        "auto": POLICY,
        "wrong": "math:pi",
        "whole": "drift_extras",
        "a b": POLICY,
        "good": POLICY,
    }
    path = (SOURCE, installed(tmp_path, {"driftwise.policies": points}))
    listed = command("policies", path=path)
    assert listed.returncode == 0
    assert "good  (from drift-extras 1.0)" in listed.stdout
    assert "auto\n  auto: the policy without settings" in listed.stdout
    for why in (
        "'gone' of drift-extras 1.0 cannot be used: 'no_such_module:Mine': no module is called 'no_such_module'",
        "'auto' of drift-extras 1.0 has the name of a built-in policy and is not used",
        "'wrong' of drift-extras 1.0 cannot be used: 'wrong' must be the class of a policy, got 3.14",
        "'whole' of drift-extras 1.0 cannot be used: an object of a module is written module:Name",
        "'a b' of drift-extras 1.0 needs a name of letters",
    ):
        assert why in listed.stderr
    used = command("study", "create", "s", "--float", "x=0:1", "--policy", "gone", path=path, cwd=tmp_path)
    assert used.returncode == 2
    assert "the entry point 'gone' of drift-extras 1.0 cannot be used" in used.stderr


def test_a_name_that_two_packages_offer_is_refused(tmp_path, monkeypatch):
    for name, target in (("one", POLICY), ("two", "drift_extras.greedy:Mean")):
        monkeypatch.syspath_prepend(str(installed(tmp_path / name, {"driftwise.policies": {"same": target}}, name)))
    with pytest.raises(InvalidInput, match=r"both offer a policy called 'same'; write it as drift_extras.greedy:"):
        dw.policy("same", LINE)


def test_built_in_names_look_at_no_entry_points(monkeypatch):
    monkeypatch.setattr(Catalogue, "_offers", lambda self: pytest.fail("entry points were looked at"))
    dw.policy("sw-gp-ucb", LINE)
    dw.environment("still")


# --- the example itself -----------------------------------------------------------------------------------------------


def test_the_example_replays_to_the_last_bit():
    from driftwise.policies import replay

    world = dw.environment(HILL, seed=1)
    policy = dw.policy(POLICY, world.space, window=20)
    log = [step.seen for step in dw.run(policy, world, horizon=50)]
    again, asked = replay(policy, log[-policy.memory :]), dw.Ask(51, 51.0)
    assert np.array_equal(policy.choose(replay(policy, log), asked), policy.choose(again, asked))


@pytest.mark.parametrize(("page", "file"), [("adding-a-policy", "greedy"), ("adding-an-environment", "tide")])
def test_the_pages_show_the_files_of_the_example(page, file):
    text = (SOURCE.parents[2] / "docs" / f"{page}.md").read_text(encoding="utf-8")
    assert f"```python\n{(SOURCE / 'drift_extras' / f'{file}.py').read_text(encoding='utf-8')}```" in text


def test_the_example_policy_imports_public_names_only():
    tree = ast.parse((SOURCE / "drift_extras" / "greedy.py").read_text(encoding="utf-8"))
    ours = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and "driftwise" in str(node.module)]
    assert [node.module for node in ours] == ["driftwise"]
    assert {name.name for name in ours[0].names} <= set(dw.__all__)

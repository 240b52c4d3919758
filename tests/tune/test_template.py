"""The command with placeholders: what it becomes, and what is refused before anything runs."""

import json
import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftwise.errors import InvalidInput
from driftwise.tune.template import Template, variables, written

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


@given(TEXT)
def test_a_value_is_one_argument_whatever_is_in_it(value):
    assert Template(("run", "{v}", "-o={v}")).filled({"v": value}) == ["run", value, f"-o={value}"]


@given(TEXT)
def test_a_value_is_one_word_for_the_shell(value):
    line = Template(("printf %s {v}",), shell=True).filled({"v": value})
    assert shlex.split(line[2]) == ["printf", "%s", value]


def test_the_shell_runs_no_value():
    line = Template(("printf %s {v} | cat",), shell=True).filled({"v": "$(echo no); echo 'no' # 日本"})
    assert subprocess.run(line, capture_output=True, check=True).stdout.decode() == "$(echo no); echo 'no' # 日本"


@pytest.mark.parametrize(
    ("argument", "made"),
    [("{{x}}", "{x}"), ("{{{x}}}", "{5}"), ('{{"a": {x}}}', '{"a": 5}'), ("}", "}"), ("a{", "a{"), ("{x}{x}", "55")],
)
def test_doubled_braces_are_braces(argument, made):
    assert Template(("run", argument)).filled({"x": 5}) == ["run", made]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_keeps_all_its_digits(value):
    assert float(written(value)) == value


def test_the_environment_has_each_parameter_and_all_of_them():
    found = variables({"x": 0.1, "größe": "very fast", "n": 3})
    assert found["DRIFTWISE_x"], found["DRIFTWISE_größe"] == ("0.1", "very fast")
    assert json.loads(found["DRIFTWISE_PARAMS"]) == {"x": 0.1, "größe": "very fast", "n": 3}


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["sh", "{y}"], r"\{y\} must be a parameter of the study, which has x, n"),
        (["sh", "{x}"], r"\{n\} is missing; add it, or give --env"),
        (["sh", "{x}", "{n}", "{print $1}"], r"\{print \$1\} must be a parameter.*write \{\{ and \}\} for braces"),
        (["./nowhere", "{x}", "{n}"], "'./nowhere' must be a program that can be run; no such program"),
        ([""], "the command is missing"),
        ([], "the command is missing"),
    ],
)
def test_what_cannot_be_run_is_refused(words, problem):
    with pytest.raises(InvalidInput, match=problem):
        Template(tuple(words)).check(["x", "n"])


def test_a_script_without_the_right_to_run_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "measure.sh").write_text("echo 1")
    with pytest.raises(InvalidInput, match=r"chmod \+x"):
        Template(("measure.sh", "{x}")).check(["x"])

"""Every public name, every command and every policy is documented."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

import driftwise
from driftwise.cli.app import app
from driftwise.environments import REGISTRY as ENVIRONMENTS
from driftwise.policies import REGISTRY as POLICIES
from driftwise.policies import options_of

ROOT = Path(__file__).parents[1]


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def rows(text: str) -> str:
    """The first cells of its tables."""
    return "\n".join(re.findall(r"^\| *([^|]*)\|", text, re.MULTILINE))


def commands(command: Any, path: tuple[str, ...] = ("driftwise",)) -> Iterator[str]:
    """The full names of all commands below `command`."""
    for name in command.list_commands(None):
        sub = command.get_command(None, name)
        if hasattr(sub, "list_commands"):
            yield from commands(sub, (*path, name))
        else:
            yield " ".join((*path, name))


COMMANDS = list(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("name", driftwise.__all__)
def test_every_public_name_is_in_the_reference(name):
    assert re.search(rf"`{name}\b", rows(page("docs/reference.md"))), f"give {name} a row in docs/reference.md"
    assert (getattr(driftwise, name).__doc__ or "").strip(), f"{name} has a docstring"


ALIASES = {"Array", "Space"}  # types, which have no docstring of their own; docs/api says what they are
DESCRIBED = [name for name in driftwise.__all__ if name not in ALIASES]


@pytest.mark.parametrize("name", DESCRIBED)
def test_every_public_name_has_an_example(name):
    assert ">>> " in inspect.getdoc(getattr(driftwise, name)), f"give the docstring of {name} an example"


def parameters(name: str) -> list[str]:
    """What a user may give: of a class, what its `__init__` takes."""
    made = getattr(driftwise, name)
    if not inspect.isclass(made):
        return list(inspect.signature(made).parameters)
    if isinstance(made, type) and issubclass(made, Exception | driftwise.BasePolicy):
        return []
    return [p for p in inspect.signature(made.__init__).parameters if p not in ("self", "args", "kwargs")]


@pytest.mark.parametrize("name", DESCRIBED)
def test_every_argument_of_a_public_name_is_explained(name):
    told = inspect.getdoc(getattr(driftwise, name))
    known = set(re.findall(r"^ +\**(\w+): ", told, re.MULTILINE))
    assert [given for given in parameters(name) if given not in known] == [], f"add them to Args: of {name}"


@pytest.mark.parametrize("name", [name for name in DESCRIBED if inspect.isfunction(getattr(driftwise, name))])
def test_every_public_function_says_what_it_returns(name):
    assert re.search(r"^(Returns|Yields):$", inspect.getdoc(getattr(driftwise, name)), re.MULTILINE)


@pytest.mark.parametrize("name", driftwise.__all__)
def test_every_public_name_is_in_the_api_reference(name):
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs/api").glob("*.md"))
    pattern = rf"^\.\. (?:auto\w+|py:data):: {name}$"
    assert re.search(pattern, pages, re.MULTILINE), f"give {name} an entry in a page of docs/api"


def test_every_member_of_a_study_is_in_the_api_reference():
    listed = re.findall(r"^\.\. auto(?:method|property):: Study\.(\w+)$", page("docs/api/study.md"), re.MULTILINE)
    assert sorted(listed) == [name for name in dir(driftwise.Study) if not name.startswith("_")]


@pytest.mark.parametrize("name", [name for name in dir(driftwise.Study) if not name.startswith("_")])
def test_every_member_of_a_study_has_an_example(name):
    assert ">>> " in inspect.getdoc(getattr(driftwise.Study, name)), f"give the docstring of Study.{name} an example"


def test_every_page_is_in_the_contents_of_the_site():
    listed = set()
    for index in (ROOT / "docs/index.md", ROOT / "docs/api/index.md"):
        for block in re.findall(r"^```{toctree}\n([^`]*)^```$", index.read_text(encoding="utf-8"), re.M):
            for entry in re.findall(r"^(?!:)(\S+)$", block, re.MULTILINE):
                listed |= set(index.parent.glob(f"{entry}.md"))
    missing = set((ROOT / "docs").rglob("*.md")) - listed - {ROOT / "docs/index.md"}
    assert sorted(path.name for path in missing) == [], "list these pages in a toctree of docs/index.md"


def test_there_are_about_twenty_public_names():
    assert driftwise.__all__ == sorted(driftwise.__all__, key=lambda n: (not n.isupper(), n))
    assert len(driftwise.__all__) <= 30


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_in_the_reference(command):
    assert f"`{command}`" in rows(page("docs/reference.md")), f"give {command} a row in docs/reference.md"


STUDY = typer.main.get_command(app).get_command(None, "study")
SHARED = {"--path", "--token", "--timeout", "--json", "--help"}  # of nearly every command


@pytest.mark.parametrize("name", STUDY.list_commands(None))
def test_every_option_of_a_study_is_in_the_reference(name):
    row = next(
        line for line in page("docs/reference.md").splitlines() if line.startswith(f"| `driftwise study {name}`")
    )
    options = {p.opts[0] for p in STUDY.get_command(None, name).params if p.opts[0].startswith("--")} - SHARED
    assert {option for option in options if not re.search(rf"{option}(?![\w-])", row)} == set()


def test_the_commands_are_found():
    assert {"driftwise demo", "driftwise study ask"} <= set(COMMANDS)


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_is_in_the_guide(name):
    assert f"`{name}`" in rows(page("docs/choosing-a-policy.md")), f"give {name} a row in docs/choosing-a-policy.md"
    assert (POLICIES[name].__doc__ or "").strip()


@pytest.mark.parametrize("name", POLICIES)
def test_every_option_of_a_policy_has_a_default(name):
    for option in options_of(name).values():
        assert option.default is not option.empty, f"{name}: {option.name}"


@pytest.mark.parametrize("name", POLICIES)
def test_every_option_of_a_policy_has_a_meaning(name):
    for option in options_of(name).values():
        assert 10 < len(option.meaning) <= 100, f"{name}: {option.name}"
        assert "\n" not in option.meaning


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_environment_says_what_it_is(name):
    assert (ENVIRONMENTS[name].__doc__ or "").strip()


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_has_its_rate_and_assumptions_in_the_theory(name):
    rates = page("docs/theory.md").split("## Rates, assumptions and norms of all policies")[1].split("\n## ")[0]
    assert f"`{name}`" in rows(rates), f"give {name} a row among the rates of docs/theory.md, also if none is known"

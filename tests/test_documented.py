"""Every public name, every command and every policy is documented."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

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


def without(text: str, names: Iterable[str]) -> list[str]:
    """The names that stand nowhere in the text as `name`."""
    return [name for name in names if f"`{name}`" not in text]


def undescribed(things: Mapping[str, Any]) -> list[str]:
    return [name for name, thing in things.items() if not (thing.__doc__ or "").strip()]


def test_every_public_name_is_in_the_reference():
    reference = rows(page("docs/reference.md"))
    missing = [name for name in driftwise.__all__ if not re.search(rf"`{name}\b", reference)]
    assert missing == [], "give these a row in docs/reference.md"
    assert undescribed({name: getattr(driftwise, name) for name in driftwise.__all__}) == []


ALIASES = {"Array", "Space"}  # types, which have no docstring of their own; docs/api says what they are
DESCRIBED = [name for name in driftwise.__all__ if name not in ALIASES]
MEMBERS = [name for name in dir(driftwise.Study) if not name.startswith("_")]


def without_example(owner: Any, names: Iterable[str]) -> list[str]:
    return [name for name in names if ">>> " not in inspect.getdoc(getattr(owner, name))]


def test_every_public_name_has_an_example():
    assert without_example(driftwise, DESCRIBED) == [], "give these docstrings an example"
    assert without_example(driftwise.Study, MEMBERS) == [], "and these of Study"


def parameters(name: str) -> list[str]:
    """What a user may give: of a class, what its `__init__` takes."""
    made = getattr(driftwise, name)
    if not inspect.isclass(made):
        return list(inspect.signature(made).parameters)
    if isinstance(made, type) and issubclass(made, Exception | driftwise.BasePolicy):
        return []
    return [p for p in inspect.signature(made.__init__).parameters if p not in ("self", "args", "kwargs")]


def test_every_argument_of_a_public_name_is_explained():
    missing = []
    for name in DESCRIBED:
        known = set(re.findall(r"^ +\**(\w+): ", inspect.getdoc(getattr(driftwise, name)), re.MULTILINE))
        missing += [f"{name}: {given}" for given in parameters(name) if given not in known]
    assert missing == [], "add them to Args:"


def test_every_public_function_says_what_it_returns():
    functions = {name: made for name in DESCRIBED if inspect.isfunction(made := getattr(driftwise, name))}
    said = re.compile(r"^(Returns|Yields):$", re.MULTILINE)
    assert [name for name, made in functions.items() if not said.search(inspect.getdoc(made))] == []


def test_every_public_name_is_in_the_api_reference():
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs/api").glob("*.md"))
    listed = set(re.findall(r"^\.\. (?:auto\w+|py:data):: (\w+)$", pages, re.MULTILINE))
    assert set(driftwise.__all__) - listed == set(), "give these an entry in a page of docs/api"


def test_every_member_of_a_study_is_in_the_api_reference():
    listed = re.findall(r"^\.\. auto(?:method|property):: Study\.(\w+)$", page("docs/api/study.md"), re.MULTILINE)
    assert sorted(listed) == MEMBERS


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


def test_every_command_is_in_the_reference():
    assert without(rows(page("docs/reference.md")), COMMANDS) == [], "give these a row in docs/reference.md"


STUDY = typer.main.get_command(app).get_command(None, "study")
SHARED = {"--path", "--token", "--timeout", "--json", "--help"}  # of nearly every command


def test_every_option_of_a_study_is_in_the_reference():
    lines, missing = page("docs/reference.md").splitlines(), []
    for name in STUDY.list_commands(None):
        row = next(line for line in lines if line.startswith(f"| `driftwise study {name}`"))
        options = {p.opts[0] for p in STUDY.get_command(None, name).params if p.opts[0].startswith("--")} - SHARED
        missing += [f"{name} {option}" for option in sorted(options) if not re.search(rf"{option}(?![\w-])", row)]
    assert missing == []


def test_the_commands_are_found():
    assert {"driftwise demo", "driftwise study ask"} <= set(COMMANDS)


def test_every_policy_is_in_the_guide():
    assert without(rows(page("docs/choosing-a-policy.md")), POLICIES) == [], "give these a row in it"
    assert undescribed(POLICIES) == []


OPTIONS = [(name, option) for name in POLICIES for option in options_of(name).values()]


def test_every_option_of_a_policy_has_a_default():
    assert [f"{name}: {option.name}" for name, option in OPTIONS if option.default is option.empty] == []


def test_every_option_of_a_policy_has_a_meaning_of_one_line():
    fits = re.compile(r".{11,100}")
    assert [f"{name}: {option.name}" for name, option in OPTIONS if not fits.fullmatch(option.meaning)] == []


def test_every_environment_says_what_it_is():
    assert undescribed(ENVIRONMENTS) == []


def test_every_policy_has_its_rate_and_assumptions_in_the_theory():
    rates = page("docs/theory.md").split("## Rates, assumptions and norms of all policies")[1].split("\n## ")[0]
    assert without(rows(rates), POLICIES) == [], "give these a row among the rates, also if none is known"

"""Prints name==version for every lower bound in pyproject.toml: the oldest of everything that we say we work with."""

import re
import sys
import tomllib
from itertools import chain
from pathlib import Path

BOUND = re.compile(r"(?P<name>[\w.-]+)(\[[\w,-]+\])?>=(?P<version>[\w.]+)(,<[\w.]+)?")


def pins(project: dict) -> list[str]:
    wanted = {*project["dependencies"], *chain.from_iterable(project["optional-dependencies"].values())}
    ours = re.compile(rf"{project['name']}\[.*\]")  # driftwise[all] in an extra: its requirements are listed anyway
    return [pin(requirement) for requirement in sorted(wanted) if not ours.fullmatch(requirement)]


def pin(requirement: str) -> str:
    bound = BOUND.fullmatch(requirement)
    if not bound:
        sys.exit(f"a requirement in pyproject.toml is written name>=version, got {requirement!r}; give its lower bound")
    return f"{bound['name']}=={bound['version']}"


if __name__ == "__main__":
    pyproject = Path(__file__).parents[1] / "pyproject.toml"
    print(*pins(tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]), sep="\n")

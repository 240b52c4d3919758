"""What a user gave when a study was made, and what was left to defaults, which a new release may improve.

A study that is opened again is compared with what is given now, never with the defaults of this release. It goes on
with the settings it was made with, and `kept` says which of them are not today's defaults. Descriptions are dicts as in
JSON: {"policy": `codec.encode(policy)`, "direction": ..., further settings by name}.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from driftwise.errors import DriftwiseError, InvalidInput
from driftwise.log import codec
from driftwise.log.config_diff import contrast, difference, differences, joined, short
from driftwise.lookup import is_imported
from driftwise.policies import AnyPolicy, a_policy, options_of
from driftwise.policies import policy as policy_by_name
from driftwise.spaces import as_space

DEFAULT = "auto"
LONGEST = 2000  # characters of a value that is kept as it is; of a longer one the digest is kept
OBJECT, DIGEST = "policy object", "sha256"  # types of entries that stand for something else

Data = Mapping[str, Any]


# --- from what a user gives -------------------------------------------------------------------------------------------


def policy_of(policy: Any, space: Any, options: Data) -> AnyPolicy:
    """The policy of a study: by a name, by a pair of a name and options, or as it is. None is the default policy."""
    policy, options = _unpaired(policy, options)
    if not isinstance(policy, str):
        return _as_given(policy, space, options)
    if space is None:
        raise InvalidInput('a study needs a space, for example space={"price": Float(5, 20)}')
    if "standardise" in options_of(policy, inner=options.get("inner")):
        options = {"standardise": True} | options
    return policy_by_name(policy, space, **options)


def given_by(policy: Any = None, options: Data | None = None, space: Any = None, **settings: Any) -> dict[str, Any]:
    """What a user gave, as JSON has it. None stands for what was not given; `settings` are the seed and the like.

    >>> given_by("sw-gp-ucb", {"window": 50}, seed=None, direction="minimize")
    {'policy': 'sw-gp-ucb', 'options': {'window': 50}, 'direction': 'minimize'}
    """
    named, options = _unpaired(policy, options or {})
    found: dict[str, Any] = {}
    if not isinstance(named, str):
        found["policy"] = {"type": OBJECT}
    elif policy is not None or options:
        found["policy"] = named
    if options:
        found["options"] = {name: _written(value) for name, value in options.items()}
    if space is not None:
        found["space"] = _written(as_space(space))
    return found | {name: _written(value) for name, value in settings.items() if value is not None}


def _unpaired(policy: Any, options: Data) -> tuple[Any, dict[str, Any]]:
    if isinstance(policy, tuple) and len(policy) == 2 and isinstance(policy[1], dict):
        return policy[0], policy[1] | dict(options)
    return DEFAULT if policy is None else policy, dict(options)


def _as_given(policy: Any, space: Any, options: Data) -> AnyPolicy:
    a_policy("policy", policy, "a name, a pair of name and options, or a policy")
    if options:
        raise InvalidInput(f"options go with a policy's name; this policy has its own, got {', '.join(options)}")
    if space is not None and as_space(space) != policy.space:
        raise InvalidInput("space and the policy's own space differ; leave space out")
    made: AnyPolicy = policy
    return made


def _written(value: Any) -> Any:
    """A value as JSON has it, or its digest if it is long: the policy's description has its effect anyway."""
    data = codec.encode(_plain(value))
    text = json.dumps(data, sort_keys=True)
    return data if len(text) <= LONGEST else {"type": DIGEST, "value": hashlib.sha256(text.encode()).hexdigest()}


def _plain(value: Any) -> Any:
    """A table of a user, which may be an array, a DataFrame or a dict of columns, as lists of numbers."""
    if hasattr(value, "to_dict"):
        value = value.to_dict("list")
    if isinstance(value, np.ndarray):
        return value.tolist()
    return {name: _plain(item) for name, item in value.items()} if isinstance(value, dict) else value


# --- is it what the study was made with? ------------------------------------------------------------------------------


def conflict(made: Data, stored: Data, given: Data, now: Data) -> str:
    """What a user gives now that is not what the study has, in words; an empty string if there is nothing.

    `made` is `given_by` of the study's creation, `given` that of now.
    `stored` and `now` are the descriptions of the study and of a study that would be made now.
    """
    return joined(list(_conflicts(made, stored, given, now)))


def _conflicts(made: Data, stored: Data, given: Data, now: Data) -> Iterator[str]:
    if OBJECT in (_kind(made), _kind(given)):
        if "policy" in given and (found := difference(stored["policy"], now["policy"])):
            yield found
    elif "policy" in given and stored["policy"]["type"] != now["policy"]["type"]:
        yield contrast("policy", made.get("policy", codec.decode(stored["policy"]).name), given["policy"])
    else:
        yield from _options(made, stored, given, now)
    if "space" in given:
        yield from _spaces(made, stored, given, now)
    for name in [name for name in given if name not in ("policy", "options", "space")]:
        found = difference({name: stored[name]}, {name: now[name]})
        if found:
            yield found


def _kind(given: Data) -> Any:
    policy = given.get("policy")
    return policy.get("type") if isinstance(policy, dict) else None


def _spaces(made: Data, stored: Data, given: Data, now: Data) -> Iterator[str]:
    if "space" in made and made["space"] == given["space"]:
        return
    spaces = [codec.encode(codec.decode(description["policy"]).space) for description in (stored, now)]
    found = difference({"space": spaces[0]}, {"space": spaces[1]})
    if found or "space" in made:
        yield found or contrast("space", made["space"], given["space"])


def _options(made: Data, stored: Data, given: Data, now: Data) -> Iterator[str]:
    """Options are compared as they were given; where one was not, by what it changes in the policy."""
    before = made.get("options", {})
    for name, value in given.get("options", {}).items():
        if name in before:
            if not _same(before[name], value):
                yield contrast(name, before[name], value)
        elif any(_field(stored["policy"], path) != _field(now["policy"], path) for path in _paths(name, given, now)):
            yield _unlike(name, value, stored["policy"])


def _unlike(name: str, value: Any, policy: Data) -> str:
    values = [there for path, there in _leaves(policy) if path[-1] == name]
    if values:
        return contrast(name, values[0], value)
    return f"the study was made without {name}, {short(value)} was given"


def _paths(name: str, given: Data, now: Data) -> set[tuple[Any, ...]]:
    """The fields of the policy that an option decides: those that change without it, and those of its name.

    An option that is a name, as inner="sw-gp-ucb", does not decide what else is inside.
    """
    deep = not isinstance(given["options"][name], str)
    own = {path for path, _ in _leaves(now["policy"]) if path[-1] == name or (deep and name in path)}
    others = {other: value for other, value in given["options"].items() if other != name}
    without = _remade(given["policy"], now["policy"], others) or {}
    both = {*(path for path, _ in _leaves(now["policy"])), *(path for path, _ in _leaves(without))}
    return own | {path for path in both if _field(without, path) != _field(now["policy"], path)}


def _remade(name: str, policy: Data, options: Data) -> dict[str, Any] | None:
    """The policy of this name on the same space with these options and today's defaults, or None if there is none."""
    if any(isinstance(value, dict) and value.get("type") == DIGEST for value in options.values()):
        return None
    try:
        given = {option: codec.decode(value) for option, value in options.items()}
        made: dict[str, Any] = codec.encode(policy_of(name, codec.decode(policy).space, given))
    except (DriftwiseError, TypeError):
        return None
    return made


def _leaves(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The numbers and texts of a description, each with its path. The space has none: it is compared by itself."""
    items: Any = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else None
    if items is None:
        yield path, data
        return
    for key, item in items:
        if key != "space":
            yield from _leaves(item, (*path, key))


def _field(data: Any, path: tuple[Any, ...]) -> Any:
    """What is at a path; None if there is nothing."""
    for key in path:
        if not ((isinstance(data, dict) and key in data) or (isinstance(data, list) and key in range(len(data)))):
            return None
        data = data[key]
    return data


def _same(a: Any, b: Any) -> bool:
    """Equal, where 2 is 2.0, but 1 is not True."""
    return a == b and isinstance(a, bool) == isinstance(b, bool)


# --- what the study goes on with --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KeptSetting:
    """A setting that a study was made with and that would be another today."""

    name: str
    value: str
    default: str | None  # None: the user gave it then, and does not give it now

    def __str__(self) -> str:
        then = f"made with {self.name}={self.value}"
        return (
            f"{then}, which is not given now" if self.default is None else f"{then}; the default is now {self.default}"
        )


def kept(made: Data, stored: Data, *, given: Data | None = None, defaults: Data | None = None) -> list[KeptSetting]:
    """The settings with which a study goes on though they would be others if it were made now.

    `made`, `stored` and `given` are those of `conflict`, and `defaults` are today's of further settings, as the
    patience.
    """
    found = list[KeptSetting]()
    if given is not None:
        unsaid = made.get("options", {}).keys() - given.get("options", {}).keys()
        found += [KeptSetting(name, short(made["options"][name]), None) for name in sorted(unsaid)]
    if _kind(made) != OBJECT:
        today = _remade(_name(made, stored["policy"]), stored["policy"], made.get("options", {}))
        changed = differences(stored["policy"], today) if today is not None else ()
        found += [
            KeptSetting(path.removeprefix("model."), short(then), short(default)) for path, then, default in changed
        ]
    for name, default in (defaults or {}).items():
        if name not in made and stored[name] != default:
            found.append(KeptSetting(name, short(stored[name]), short(default)))
    return found


def _name(made: Data, policy: Data) -> str:
    """The name by which a policy is made again."""
    kind: str = policy["type"]
    name: str = made.get("policy", kind if is_imported(kind) else codec.decode(policy).name)
    return name

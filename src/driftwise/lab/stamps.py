"""What a result depends on besides what the words of its key say: code and defaults, as a stamp of twelve digits.

Of code that is built in the stamp has the version of driftwise. Its source would make every result of a checkout stale
with every commit, and then nothing could be resumed; a release is where its behaviour changes. Code of a user's own has
no version that must change, so that the stamp has its source: the module of the class or function, those of its bases,
and what they import from the same package or folder. Defaults are in it for both, as they change what a name means.
Code without a source file, as that of a prompt, is not seen.

Code of a script or a prompt has no name that another process could import it by. It is sent there as it is, and has no
stamp there: it is the sender's (`is_sent`).
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import re
import sys
from collections.abc import Hashable, Iterable
from functools import lru_cache, partial
from importlib.metadata import version
from importlib.util import resolve_name
from pathlib import Path
from types import ModuleType
from typing import Any, cast

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")  # in the repr of an object: another one in every process
OURS = "driftwise"


def stamp(*things: Any) -> str:
    """Of classes, functions and their partials, which count by their code and defaults, and of values.

    What has a property `made_of` counts by its class and the things there.
    """
    return hashlib.sha256("\0".join(_parts(things)).encode()).hexdigest()[:12]


def _parts(things: Iterable[Any]) -> Iterable[str]:
    for thing in things:
        if thing is None or isinstance(thing, str | int | float):
            yield repr(thing)
        elif isinstance(thing, partial):
            yield from _parts((thing.func, *thing.args, *sorted(thing.keywords.items())))
        elif isinstance(thing, type) or inspect.isroutine(thing):
            yield _code(cast(Hashable, thing))
        elif isinstance(thing, list | tuple):
            yield str(len(thing))
            yield from _parts(thing)
        else:
            yield _code(cast(Hashable, type(thing)))
            yield from _parts(thing.made_of) if hasattr(thing, "made_of") else (ADDRESS.sub("", repr(thing)),)


def is_sent(*things: Any) -> bool:
    """Whether some of their code is not what its module has under its name, as where another process has sent it."""
    return any(_found(each) is not each for each in _all_code(things))


def _all_code(things: Iterable[Any]) -> Iterable[Any]:
    """The classes, with their bases, and functions that a stamp of these counts."""
    for thing in things:
        if thing is None or isinstance(thing, str | int | float):
            continue
        if isinstance(thing, partial):
            yield from _all_code((thing.func, *thing.args, *thing.keywords.values()))
        elif isinstance(thing, type) or inspect.isroutine(thing):
            yield from getattr(thing, "__mro__", (thing,))
        elif isinstance(thing, list | tuple):
            yield from _all_code(thing)
        else:
            yield from type(thing).__mro__
            yield from _all_code(getattr(thing, "made_of", ()))


def _found(thing: Any) -> Any:
    """What a module of this process has under the name of a class or function; None if there is nothing."""
    found: Any = sys.modules.get(getattr(thing, "__module__", None) or "builtins")  # some written in C have none
    for name in getattr(thing, "__qualname__", "").split("."):
        found = getattr(found, name, None)
    return found


@lru_cache(maxsize=1000)
def _code(thing: Hashable) -> str:
    """The name of a class or function, its defaults, and the source or version of all that it is made of."""
    names = sorted({str(getattr(each, "__module__", "")) for each in getattr(thing, "__mro__", (thing,))})
    sources = [_source(sys.modules[name]) for name in names if name in sys.modules]
    return "\n".join([str(getattr(thing, "__qualname__", "")), _defaults(thing), *names, *sources])


def _defaults(thing: Any) -> str:
    try:
        return ADDRESS.sub("", str(inspect.signature(thing)))
    except (TypeError, ValueError):  # some of those that are written in C
        return ""


@lru_cache(maxsize=1000)
def _source(module: ModuleType) -> str:
    """Of a module of ours the version; of a user's own the source, with that of modules beside it that it imports."""
    top = module.__name__.partition(".")[0]
    if top == OURS:
        return version(OURS)
    if top in sys.stdlib_module_names and top != "__main__":
        return ""
    found, new = dict[str, str](), [module]
    while new:
        one = new.pop()
        found[one.__name__] = _text(one)
        used = _imported(found[one.__name__], one.__package__ or "")
        new += [sys.modules[name] for name in used - found.keys() if _beside(name, one)]
    return "\n".join(f"{name}\n{text}" for name, text in sorted(found.items()))


def _imported(text: str, package: str) -> set[str]:
    """The names of what a module imports when it is imported itself: what a function imports may not be there yet."""
    names, nodes = set[str](), list[ast.AST](ast.parse(text).body)
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), package or None)
            names |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            nodes += ast.iter_child_nodes(node)
    return names


def _beside(name: str, module: ModuleType) -> bool:
    """Whether a module is of the same package, or a file of the same folder."""
    file = getattr(sys.modules.get(name), "__file__", None)
    if not file or name.partition(".")[0] == OURS:
        return False
    here = getattr(module, "__file__", None)
    same = name.partition(".")[0] == module.__name__.partition(".")[0]
    return same or (here is not None and Path(file).parent == Path(here).parent)


def _text(module: ModuleType) -> str:
    try:
        return Path(inspect.getsourcefile(module) or "").read_text(encoding="utf-8")
    except (OSError, TypeError, UnicodeDecodeError):
        return ""

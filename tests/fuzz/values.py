"""What is typed for a parameter: plausible and nasty values, by its type, and by its name where that says more."""

from __future__ import annotations

import re
from random import Random
from typing import Any

from driftwise import environments
from driftwise.policies import REGISTRY, options_of

NAMES = (
    *("x", "live", "", " ", "-", "--", "a b", "../x", "'; drop table studies", "=cmd|' /C calc'!A0", "+1", "@x", "-x"),
    *("\x1b[31mred", "\x1b]0;title\x07", "a\rb", "a\nb", "a\tb", "\x9b2J", "a\0b", "\ud800", "\udcff", "\u202eltr"),
    *(
        "[red]x",
        "[/]",
        "[/red]",
        "[link=x]",
        ":smile:",
        "\\",
        "[bold]\\",
        "$\\foo$",
        "$x",
        "\\$",
        "日本語",
        "שלום",
        "🙂",
    ),
    *("<img src=x onerror=alert(1)>", "</script><!--<script>", '"><b>', "`x`", "**x**", "\u2028", "x" * 10_000, "%s{}"),
)
INTEGERS = ("0", "-1", "1e308", "nan", "inf", str(10**12), str(10**30), "text", "", "1_000", " 5", "٣", "99999", "1.5")
FLOATS = (
    *("0", "-1", "1e308", "-1e308", "1e-320", "nan", "inf", "-inf", "1e400", str(10**30), "text", "", "0x10", "1e100"),
    *("1e12", "1e-12", "true"),
)
STUDY = ("st.db", "./st.db", "st.link", "st.hard", "st.db-wal", "st.db-shm")
PATHS = (
    *("st.db", "./st.db", "st.link", "st.hard", "st.db-wal", "st.db-shm", "st.db-journal", "r.csv", "p.csv", "bad.csv"),
    *("missing", "missing/x", "folder", "folder/x", "readonly.csv", "loop", "loop/x", "~nosuchuser/x", "~", "a\0b", ""),
    *(
        ".",
        "/",
        "/dev/null",
        "/dev/full",
        "results",
        "results/results.db",
        "n" * 300,
        "n/" * 3000,
        "\ud800",
        "\udcff",
    ),
    *(
        '"><img src=x onerror=alert(9)>.html',
        "<!--<script>.csv",
        "\x1b[31m.csv",
        "[red].csv",
        "[bold.csv",
        "$\\foo$.csv",
    ),
    *(
        "out.html",
        "out.md",
        "out.csv",
        "out.json",
        "out.png",
        "st.html",
        "empty",
        "日本.csv",
        ":memory:",
        "-",
        "r.csv/x",
    ),
)
KERNELS = (
    *(
        "rbf",
        "rbf:0.2",
        "rbf:0.2x0.5",
        "matern",
        "matern:2.5:0.2",
        "matern:0.5",
        "linear",
        "rbf:0",
        "rbf:nan",
        "rbf:1e308",
    ),
    *("rbf:1e-308", "matern:3:1", "matern:inf:1", "linear:1", "x", "", ":", "rbf:a", "rbf:0.1x", "\x1b[31m", "rbf:-1"),
)
RANGES = (
    *("0:1", "5:20", "1:1000:log", "1:10", "1:1", "2:1", "0:1:log", "nan:1", "0:inf", "-1e308:1e308", "1:1e308", "a:b"),
    *("0", ":", "", "1:2:3", f"0:{10**30}", "0:1:LOG", "1e-320:1", "1:5000", "0:9223372036854775807"),
)
CHOICES = (
    "a,b",
    "a",
    "a,a",
    "1,2,3",
    "1,1.0,true",
    ",",
    "",
    "=cmd,b",
    "\x1b[31m,b",
    "[/],b",
    "$\\foo$,b",
    "日本,b",
    "a\nb,c",
)
RULES = (
    *("price < 10", "price * n <= 50", "mode != 'a' or n < 3", "price + n != 7", "abs(price - 7) <= 3", "a < 0.5"),
    *(
        "price <",
        "price < 0",
        "price == 7",
        "x < 1",
        "price < mode",
        "__import__('os')",
        "(" * 200,
        "price ** 9999",
        "",
    ),
    *("price < 1e400", "not price", "price and n", "n / 0 < 1", "n % 0 == 1", "1 < 2", "a" * 5000, "price ** 9999"),
)
LOGS = ("log.csv", "log.jsonl", "log.json", "context.csv", "-")
SUITES = ("deng", "bogunovic", "cheung", "wdbo", "drift-zoo", "real", "none", "*")


def value(rng: Random, kind: str, name: str, nasty: float) -> str:
    """One value for a parameter of this kind and name; with probability `nasty` it is not what one would type."""
    hard = rng.random() < nasty
    if name in BY_NAME and rng.random() < 0.9:
        return BY_NAME[name](rng, hard)
    if "int" in kind:
        return rng.choice(INTEGERS if hard else ("1", "2", "3", "5", "12"))
    if "float" in kind:
        return rng.choice(FLOATS if hard else ("0.01", "0.1", "0.5", "1", "3"))
    if re.search("path|file|directory", kind, re.IGNORECASE):
        return rng.choice(
            (*PATHS, *4 * STUDY) if hard else ("out.html", "out.md", "out.csv", "out.json", "out.png", "folder")
        )
    return rng.choice(NAMES if hard else ("x", "price", "n"))


def _spec(rng: Random, hard: bool, name: str, options: Any) -> str:
    chosen = rng.sample(sorted(options), k=min(len(options), rng.choice((1, 1, 2, 3) if hard else (0, 0, 1))))
    return f"{name}:{','.join(f'{o}={_option(rng, hard, o)}' for o in chosen)}" if chosen else name


def _option(rng: Random, hard: bool, name: str) -> str:
    if name.endswith("kernel"):
        return rng.choice(KERNELS if hard else KERNELS[:7])
    if name == "inner":
        return rng.choice((*REGISTRY, "abc", "1"))
    plausible = ("1", "2", "5", "0.1", "0.5", "true", "10")
    return rng.choice((*FLOATS, *INTEGERS, *NAMES, *plausible) if hard else plausible)


def _policy(rng: Random, hard: bool) -> str:
    name = rng.choice(sorted(REGISTRY))
    return (
        rng.choice((*NAMES, "gp-ucb:", "gp-ucb:x")) if rng.random() < 0.05 else _spec(rng, hard, name, options_of(name))
    )


def _environment(rng: Random, hard: bool) -> str:
    name = rng.choice(sorted(environments.REGISTRY))
    known = environments.options_of(name)
    return rng.choice(NAMES) if rng.random() < 0.05 else _spec(rng, hard, name, known)


def _parameter(plain: tuple[str, ...], nasty: tuple[str, ...]) -> Any:
    def made(rng: Random, hard: bool) -> str:
        name = rng.choice(NAMES if hard and rng.random() < 0.4 else ("a", "b", "price", "number"))
        return f"{name}={rng.choice(nasty if hard else plain)}" if rng.random() < 0.97 else rng.choice(NAMES)

    return made


def _setting(rng: Random, hard: bool) -> str:
    name = rng.choice(("price", "mode", "n", "x"))
    plain = {"price": "10", "mode": "b", "n": "3", "x": "1"}[name]
    return f"{name}={rng.choice(('1e308', 'nan', *NAMES)) if hard else plain}"


def _context(rng: Random, hard: bool) -> str:
    name = rng.choice(("traffic", "day") if not hard else ("traffic", "day", "price", "x"))
    plain = {"traffic": "0.5", "day": "mon"}.get(name, "1")
    return f"{name}={rng.choice(('1e308', 'nan', *NAMES)) if hard else plain}"


def _measure(rng: Random, hard: bool) -> str:
    name = rng.choice((*NAMES, "ms", "p99") if hard else ("ms", "p99"))
    return f"{name}={rng.choice(FLOATS if hard else ('1', '180.5', '-3'))}"


def _limit(rng: Random, hard: bool) -> str:
    name, sign = rng.choice(NAMES if hard else ("ms", "p99")), rng.choice(("<=", ">=", "<", "=", " <= "))
    return f"{name}{sign if hard else '<='}{rng.choice(FLOATS if hard else ('200', '0.5'))}"


def _belief(rng: Random, hard: bool) -> str:
    if not hard:
        return "gp-ucb@deng/abrupt#0"
    case, seed = rng.choice(("abrupt", "slow", "B=1", "x")), rng.choice(("0", "1", "99", "x", "-1"))
    return f"{_policy(rng, hard)}@{rng.choice(SUITES)}/{case}#{seed}"


def _either(plain: tuple[str, ...], nasty: tuple[str, ...]) -> Any:
    return lambda rng, hard: rng.choice(nasty if hard else plain)


BY_NAME: dict[str, Any] = {
    "policy": _policy,
    "env": _environment,
    "kernel": _either(KERNELS[:7], KERNELS),
    "floats": _parameter(("0:1", "5:20", "1:1000:log"), RANGES),
    "ints": _parameter(("1:10", "1:1000:log"), RANGES),
    "choices": _parameter(("a,b", "1,2,3"), CHOICES),
    "context_floats": _parameter(("0:1", "5:20"), RANGES),
    "context_ints": _parameter(("1:10", "0:23"), RANGES),
    "context_choices": _parameter(("mon,tue", "1,2,3"), CHOICES),
    "setting": _setting,
    "start": _setting,
    "fixed": _setting,
    "context": _context,
    "measures": _measure,
    "limits": _limit,
    "rules": _either(RULES[:5], (*RULES, *NAMES)),
    "which": _either(("1", "2", "3"), (*INTEGERS, *NAMES)),
    "n": _either(("1", "2", "3"), (*INTEGERS, "1000", "1001")),
    "new": _either(("new", "newer"), ("live", *NAMES)),
    "to": _either(("new.db", "st.db"), PATHS),
    "file": _either(LOGS, (*LOGS, *PATHS)),
    "key_column": _either(("number", "key"), ("reward", "price", *NAMES)),
    "since": _either(("0", "3", "10"), INTEGERS),
    "belief": _belief,
    "suite": _either(("deng",), SUITES),
    "case": _either(("*", "abrupt"), ("slow", "a*", "[", "B=1", *NAMES)),
    "name": _either(("live", "auto", "other", "shop"), NAMES),
    "path": _either(("st.db",), PATHS),
    "folder": _either(("results",), PATHS),
    "rewards": _either(("r.csv",), PATHS),
    "points": _either(("p.csv", "12", "50"), (*INTEGERS, *PATHS)),
    "horizon": _either(("2", "3", "12"), INTEGERS),
    "seeds": _either(("1", "2"), INTEGERS),
    "jobs": _either(("1", "1", "1", "2"), ("99999", "0", str(10**30), "x")),
    "engine": _either(("serial", "joblib"), ("x", "\x1b")),
}

"""The policies, one a file, and the explicit registry of their names."""

from __future__ import annotations

from typing import Any

from driftwise import checks
from driftwise.errors import NotFoundError
from driftwise.policies.base import AnyPolicy, Decision, Policy, a_policy, decision, replay
from driftwise.policies.gp_ucb import GpUcb
from driftwise.policies.random import Random
from driftwise.policies.registry import Home, Registry
from driftwise.policies.restart import Restart
from driftwise.policies.setup import Options, check_options, options_in
from driftwise.policies.window import Window

HOMES = {
    "gp-ucb": ("policies.gp_ucb", "GpUcb"),
    "igp-ucb": ("policies.igp_ucb", "IgpUcb"),
    "r-gp-ucb": ("policies.restart", "Restart"),
    "sw-gp-ucb": ("policies.window", "Window"),
    "random": ("policies.random", "Random"),
    "auto": ("auto.policy", "Auto"),
    "tv-gp-ucb": ("policies.tv_gp_ucb", "TvGpUcb"),
    "tv-r-gp-ucb": ("policies.tv_r_gp_ucb", "TvRestart"),
    "smooth-gp-ucb": ("policies.smooth_gp_ucb", "SmoothGpUcb"),
    "ui-gp-ucb": ("policies.ui_gp_ucb", "UiGpUcb"),
    "pe-gp-ucb": ("policies.pe_gp_ucb", "PeGpUcb"),
    "wgp-ucb": ("policies.wgp_ucb", "WgpUcb"),
    "drift-aware": ("policies.drift_aware", "DriftAwareUcb"),
    "et-gp-ucb": ("policies.et_gp_ucb", "EtGpUcb"),
    "bob-gp-ucb": ("policies.bob_gp_ucb", "BobGpUcb"),
    "sw-linucb": ("policies.sw_linucb", "SwLinUcb"),
    "d-linucb": ("policies.d_linucb", "DLinUcb"),
    "restart-linucb": ("policies.restart_linucb", "RestartLinUcb"),
    "master-gp-ucb": ("policies.master", "Master"),
    "ada-opkb": ("policies.ada_opkb", "AdaOpkb"),
    "r-perp": ("policies.r_perp", "RPerp"),
    "w-dbo": ("policies.w_dbo", "WDbo"),
    "tgp-ucb": ("policies.tgp_ucb", "TgpUcb"),
    "ldp": ("policies.ldp", "Ldp"),
}
REGISTRY = Registry({name: Home(f"driftwise.{module}", cls) for name, (module, cls) in HOMES.items()})

__all__ = [
    "REGISTRY",
    "AnyPolicy",
    "Decision",
    "GpUcb",
    "Policy",
    "Random",
    "Restart",
    "Window",
    "a_policy",
    "checked",
    "decision",
    "options_of",
    "policy",
    "replay",
]


def policy(name: str, space: Any, **options: Any) -> AnyPolicy:
    """A policy by name, on a dict of parameters or on Candidates.

    >>> from driftwise import Float
    >>> policy("sw-gp-ucb", {"price": Float(5, 20)}, window=50).window
    50
    """
    options = checked(name, options)
    made: AnyPolicy = REGISTRY[name].of(space, **options)
    return made


def checked(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options, if there is a policy of this name that takes them."""
    if not isinstance(name, str) or name not in REGISTRY:
        raise NotFoundError(f"no policy is called {checks.shown(name)}; there are {', '.join(sorted(REGISTRY))}")
    known = options_of(name, inner=options.get("inner"))
    check_options(name, options, known)
    flags = [option for option in options if isinstance(known[option].default, bool)]
    return options | {option: checks.flag(option, options[option]) for option in flags}


def options_of(name: str, *, inner: Any = None) -> Options:
    """The options that a policy takes by keyword, each with its `default` and its `meaning`.

    Of a policy around another one, also those of the `inner` policy.

    >>> window = options_of("sw-gp-ucb")["window"]
    >>> window.default, window.meaning
    (None, 'number of newest samples in use')
    >>> {"moment", "window"} <= options_of("tgp-ucb").keys(), "epsilon" in options_of("tgp-ucb", inner="tv-gp-ucb")
    (True, True)
    """
    cls = REGISTRY[name]
    own = options_in(cls.of)
    own |= {option: given for option, given in getattr(cls, "shared", {}).items() if option not in own}
    if "inner" not in own:
        return own
    within = own["inner"].default if inner is None else inner
    return options_of(within) | own if isinstance(within, str) and within in REGISTRY else own

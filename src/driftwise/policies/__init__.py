"""The policies, one a file, and the explicit registry of their names."""

from __future__ import annotations

from typing import Any

from driftwise import checks
from driftwise.auto.policy import Auto
from driftwise.errors import NotFoundError
from driftwise.policies.ada_opkb import AdaOpkb
from driftwise.policies.base import AnyPolicy, Decision, Policy, check_restrictable, decision, replay, restrictable
from driftwise.policies.bob_gp_ucb import BobGpUcb
from driftwise.policies.d_linucb import DLinUcb
from driftwise.policies.drift_aware import DriftAwareUcb
from driftwise.policies.et_gp_ucb import EtGpUcb
from driftwise.policies.gp_ucb import GpUcb
from driftwise.policies.igp_ucb import IgpUcb
from driftwise.policies.ldp import Ldp
from driftwise.policies.master import Master
from driftwise.policies.pe_gp_ucb import PeGpUcb
from driftwise.policies.r_perp import RPerp
from driftwise.policies.random import Random
from driftwise.policies.restart import Restart
from driftwise.policies.restart_linucb import RestartLinUcb
from driftwise.policies.setup import Options, check_options, options_in
from driftwise.policies.smooth_gp_ucb import SmoothGpUcb
from driftwise.policies.sw_linucb import SwLinUcb
from driftwise.policies.tgp_ucb import TgpUcb
from driftwise.policies.tv_gp_ucb import TvGpUcb
from driftwise.policies.tv_r_gp_ucb import TvRestart
from driftwise.policies.ui_gp_ucb import UiGpUcb
from driftwise.policies.w_dbo import WDbo
from driftwise.policies.wgp_ucb import WgpUcb
from driftwise.policies.window import Window

REGISTRY: dict[str, Any] = {
    cls.name: cls
    for cls in (
        *(GpUcb, IgpUcb, Restart, Window, Random, Auto),
        *(TvGpUcb, TvRestart, SmoothGpUcb, UiGpUcb, PeGpUcb),
        *(WgpUcb, DriftAwareUcb, EtGpUcb, BobGpUcb),
        *(SwLinUcb, DLinUcb, RestartLinUcb),
        *(Master, AdaOpkb, RPerp, WDbo),
        *(TgpUcb, Ldp),
    )
}

__all__ = [
    "REGISTRY",
    "AnyPolicy",
    "Decision",
    "GpUcb",
    "Policy",
    "Random",
    "Restart",
    "Window",
    "check_restrictable",
    "checked",
    "decision",
    "options_of",
    "policy",
    "replay",
    "restrictable",
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

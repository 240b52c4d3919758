"""The policies, one a file, the registry of the built-in ones, and `POLICIES`, which finds any policy by its name."""

from __future__ import annotations

from typing import Any

from driftwise import checks
from driftwise.lookup import Catalogue
from driftwise.policies.base import (
    AnyPolicy,
    BasePolicy,
    Decision,
    Policy,
    a_policy,
    check_restrictable,
    decision,
    replay,
    restrictable,
)
from driftwise.policies.gp_ucb import GpUcb
from driftwise.policies.own import a_policy_class, fields_in, made_from
from driftwise.policies.random import Random
from driftwise.policies.registry import ORACLE, Home, Registry
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
    "auto-lean": ("policies.auto_lean", "AutoLean"),
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
    "dal": ("policies.dal", "Dal"),
    "ada-opkb": ("policies.ada_opkb", "AdaOpkb"),
    "r-perp": ("policies.r_perp", "RPerp"),
    "w-dbo": ("policies.w_dbo", "WDbo"),
    "tgp-ucb": ("policies.tgp_ucb", "TgpUcb"),
    "ata-gp-ucb": ("policies.ata_gp_ucb", "AtaGpUcb"),
    "moma-gp-ucb": ("policies.moma_gp_ucb", "MomaGpUcb"),
    "ldp": ("policies.ldp", "Ldp"),
}
REGISTRY = Registry({name: Home(f"driftwise.{module}", cls) for name, (module, cls) in HOMES.items()})

NO_POLICY = {
    ORACLE: f"{ORACLE} is no policy but a reference of the lab, which is told what a simulated world truly is; "
    "use auto, or driftwise lab run --policy oracle"
}
POLICIES = Catalogue("policy", "driftwise.policies", REGISTRY, a_policy_class, NO_POLICY)

__all__ = [
    "POLICIES",
    "REGISTRY",
    "AnyPolicy",
    "BasePolicy",
    "Decision",
    "GpUcb",
    "Policy",
    "Random",
    "Restart",
    "Window",
    "a_policy",
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

    Args:
        name: the name of a built-in policy or of an entry point, or "module:Class".
        space: a dict of parameters by name, or `Candidates`.
        **options: the options of the policy; `driftwise policies NAME` lists them.

    Returns:
        The policy, a frozen description.

    >>> from driftwise import Float
    >>> policy("sw-gp-ucb", {"price": Float(5, 20)}, window=50).window
    50
    """
    options = checked(name, options)
    return made_from(POLICIES.find(name), space, options)


def checked(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """The options, if there is a policy of this name that takes them."""
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
    cls = POLICIES.find(name)
    own = options_in(cls.of) if hasattr(cls, "of") else fields_in(cls)
    own |= {option: given for option, given in getattr(cls, "shared", {}).items() if option not in own}
    if "inner" not in own:
        return own
    within = own["inner"].default if inner is None else inner
    return options_of(within) | own if isinstance(within, str) else own

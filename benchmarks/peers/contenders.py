"""Who is compared, and what each is told: nothing of the kernel, the noise or the drift, to anyone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

from benchmarks.peers.adapter import Adapted
from driftwise.environments.world import SeededEnvironment
from driftwise.errors import InvalidInput
from driftwise.gp.kernels import Matern
from driftwise.lab.trials import Contender
from driftwise.policies import REGISTRY, AnyPolicy, options_of

MODULES = {  # imported in the peers' environment only
    "botorch": ("benchmarks.peers.botorch_peer", "BoTorch"),
    "optuna": ("benchmarks.peers.optuna_peer", "Optuna"),
    "wdbo-algo": ("benchmarks.peers.wdbo_peer", "Wdbo"),
    "bayesian-optimization": ("benchmarks.peers.bayes_opt_peer", "BayesOpt"),
    "xopt": ("benchmarks.peers.xopt_peer", "XoptInTime"),
    "turbo": ("benchmarks.peers.turbo_peer", "Turbo"),
}


@dataclass(frozen=True)
class Rival:
    """A peer with its options, as `lab.trials.Entrant`; `told` is what we decided for it."""

    label: str
    name: str
    options: tuple[tuple[str, Any], ...] = ()
    told: str = ""

    def on(self, world: SeededEnvironment) -> AnyPolicy:
        """The peer on this world's box. The world's kernel and noise stay with us."""
        return Adapted(world.space, partial(self.load(), **dict(self.options)))

    def load(self) -> Any:
        """The class of the peer; the first time takes seconds, and they are not the peer's."""
        module, kind = MODULES[self.name]
        return getattr(import_module(module), kind)


PEERS = {
    rival.label: rival
    for rival in (
        Rival("botorch", "botorch", (), "all data; β = 2; 5 Sobol' points first (2d where that is more)"),
        Rival("botorch-window", "botorch", (("window", 50),), "the same on the last 50 observations"),
        Rival("botorch-time", "botorch", (("time", True),), "the same with time as one more input, scaled to [0, 1]"),
        Rival("optuna-gp", "optuna", (("sampler", "gp"),), "its defaults"),
        Rival("optuna-tpe", "optuna", (("sampler", "tpe"),), "its defaults"),
        Rival("wdbo-algo", "wdbo-algo", (("unit", 0.02),), "its defaults; 50 steps are one unit of its time"),
        Rival("bayesian-optimization", "bayesian-optimization", (("alpha", 0.01),), "its defaults but alpha = 0.01"),
        Rival("turbo", "turbo", (), "TuRBO-1 with the paper's constants on BoTorch's model; 2d random points first"),
        Rival("xopt-time", "xopt", (), "its time-dependent UCB with its defaults; a step is a second; 5 random points"),
    )
}

# What ours assume where nothing is known: each policy's default, written out so that the lab does not tell it more.
UNTOLD = {"kernel": Matern(2.5, 0.2), "noise": 0.01, "standardise": True}
LENGTHS = {"sw-gp-ucb": {"window": 50}, "r-gp-ucb": {"interval": 50}}
OURS = ("random", "gp-ucb", "r-gp-ucb", "sw-gp-ucb", "tv-gp-ucb", "w-dbo", "auto")


def ours(names: Iterable[str]) -> list[Contender]:
    """Policies of this library, told nothing. Those of OURS that are not there yet are passed over."""
    return [untold(name) for name in names if name in REGISTRY or name not in OURS]


def untold(name: str) -> Contender:
    """One of ours with its defaults, rewards standardised, and a memory of 50 where it has one to be chosen."""
    if name not in REGISTRY:
        raise InvalidInput(f"no policy is called {name!r:.80}; there are {', '.join(REGISTRY)}")
    known = options_of(name)
    options = {key: value for key, value in UNTOLD.items() if key in known} | LENGTHS.get(name, {})
    return Contender(name, name, tuple(options.items()))


def peers(names: Iterable[str]) -> list[Rival]:
    """Peers by name."""
    unknown = [name for name in names if name not in PEERS]
    if unknown:
        raise InvalidInput(f"no peer is called {unknown[0]!r:.80}; there are {', '.join(PEERS)}")
    return [PEERS[name] for name in names]

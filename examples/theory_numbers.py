"""The quantities of the paper as numbers, in one of its environments: γ, H and w, β and the bounds of its theorems."""

import driftwise as dw
from driftwise.theory.bounds import Problem
from driftwise.theory.information import MaximumGain
from driftwise.theory.promises import promises

T, delta = 500, 0.1
world = dw.environment("deng-abrupt", seed=0)
noise = world.noise.variance
gain = MaximumGain(world.kernel, noise, world.space.coordinates)
P_T, B = world.variation(T), world.bound(T)
print(f"P_T = {P_T:.1f}, B = {B:.1f}, γ_T from {gain(T):.1f} to {gain.upper(T):.1f}")

problem = Problem(gain.upper, T, P_T, B=B, R=world.noise.R, noise=noise, delta=delta)
for promise in promises(problem, estimate=gain):
    known = "known" if promise.budget_known else "unknown"
    word = "vacuous" if promise.bound.vacuous else "below 2BT"
    print(f"{promise.policy:9} P_T {known:7}  remember {promise.memory:3}  β = {promise.beta:.1f}  {word}")

"""Data sold under a contract: the buyers may only fit linear models to it.

A statistics office releases twelve monthly totals with Laplace noise. Its contract says that users may
compute linear functions of the totals and nothing else. What does the contract buy, and what does it not?
"""

import numpy as np

from indistinct import (
    Budget,
    Gaussian,
    Laplace,
    Linear,
    Polynomial,
    Unrestricted,
    calibrate,
    generalization_gap,
)
from indistinct.adversaries import AffineMap, PolynomialMap, estimate

ORDER = 4

# 1. One total. A record moves it by at most 1.
one = Laplace(scale=2)
print(f"One total, Laplace noise of scale 2, Rényi divergence of order {ORDER}:")
for adversary in (Linear(), Polynomial(2), Polynomial(3), Unrestricted()):
    print(f"  {adversary!s:<24}{one.guarantee().against(adversary).renyi(ORDER):.4f}")

# 2. Twelve totals, all decided on before the first was published: the library asks for that, because a later
#    query could otherwise carry any function of an earlier answer.
year = 12 * Laplace(scale=8)
reading = year.guarantee().against(Linear(), adaptive=False)
print(
    f"\nTwelve totals, scale 8: linear {reading.renyi(ORDER):.4f}, anyone {year.guarantee().renyi(ORDER):.4f}"
)

# 3. What the contract saves in noise.
limited = calibrate(Laplace, Budget(renyi=0.1, order=ORDER), against=Linear())
everyone = calibrate(Laplace, Budget(renyi=0.1, order=ORDER))
print(
    f"\nNoise for divergence 0.1: {limited.parameter:.3f} with the contract, {everyone.parameter:.3f} without"
)

# 4. Averages and differences of the totals stay within the contract; squares do not.
print(f"\nafter an affine map: {reading.after(AffineMap()).renyi(ORDER):.4f}")
try:
    reading.after(PolynomialMap(2))
except ValueError as refused:
    print(f"after squaring: refused ({refused})")

# 5. Linear queries chosen from the noisy totals do not overfit much.
gap = generalization_gap(Gaussian(scale=50).guarantee(), Linear())
print(f"\na linear query picked from Gaussian noise of scale 50 overfits by at most {gap:.4f}")

# 6. An auditor who can only run the mechanism sees the same.
rng = np.random.default_rng(0)
seen = estimate(rng.laplace(1, 2, 100_000), rng.laplace(0, 2, 100_000), Linear(), order=ORDER)
print(f"\nfrom 100,000 runs: between {seen.low:.4f} and {seen.high:.4f} (95 %)")

"""Publishing counts: how much noise, and what does an attacker learn?

A city publishes how many people live in each of 50 districts, and how many of them are in each of 4 age
groups. Every person is in one district and in one age group.
"""

import numpy as np

from indistinct import Budget, Gaussian, Laplace, calibrate, parallel
from indistinct.report import explain

rng = np.random.default_rng(7)
districts = rng.integers(2_000, 40_000, size=50)

# 1. One person changes one of the 50 district counts by one. The counts are parts of the data that do not
#    overlap, so each is released with its own noise and a person is touched by one of them only.
noise = Laplace(scale=2, sensitivity=1)
published = districts + rng.laplace(scale=noise.scale, size=districts.size)
by_district = parallel(*(noise.guarantee() for _ in districts))
error = np.abs(published - districts).mean()
print(f"50 counts, Laplace noise of scale 2: error {error:.1f} people, epsilon {by_district.pure():g}")

# 2. The age groups are a second release about the same people: the two add up.
both = by_district + noise.guarantee()
print(f"with the age groups too: epsilon {both.pure():g}")

# 3. What an attacker who knows everyone else learns about one person's being in the data.
print(f"\n{'false alarms':>14}{'missed, at least':>20}{'found, at most':>18}")
for fpr in (0.01, 0.05, 0.1, 0.2):
    missed = both.tradeoff(fpr)
    print(f"{fpr:>14.0%}{missed:>20.1%}{1 - missed:>18.1%}")

# 4. Someone with three homes is three records that change together.
print(f"\nfor three records of one person: epsilon {both.group(3).pure():g}")

# 5. For many statistics about the same people, Gaussian noise is the better choice. 200 overlapping counts:
budget = Budget(epsilon=1, delta=1e-6)
laplace = calibrate(lambda scale: 200 * Laplace(scale=scale), budget)
gaussian = calibrate(lambda scale: 200 * Gaussian(scale=scale), budget)
print("\n200 overlapping counts at epsilon = 1, delta = 1e-6: standard error of each count")
print(f"  Laplace:  {laplace.parameter * 2**0.5:.1f} people")
print(f"  Gaussian: {gaussian.parameter:.1f} people")

print("\nThe whole report on the second choice:\n")
print(explain(gaussian.mechanism, delta=1e-6))

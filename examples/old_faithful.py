"""How long people wait for Old Faithful, as a private curve: one release, then only post-processing."""

import numpy as np

from indistinct import Budget
from indistinct.data import Numbers
from indistinct.functions import release_density

# Stand-in for the well-known 272 waiting times between eruptions, in minutes: two kinds of eruptions.
draw = np.random.default_rng(0)
short = draw.random(272) < 0.36
waiting = np.where(short, draw.normal(54.6, 5.9, 272), draw.normal(80.1, 5.9, 272)).round()

density = release_density({"minutes": waiting}, {"minutes": Numbers(30, 110)}, Budget(epsilon=2, delta=1e-5))
epsilon = density.guarantee().epsilon(delta=1e-5)
print(f"epsilon {epsilon:.2f} at delta 1e-5, {len(density.released.values)} counts with noise were released")
print(f"{density.records:.0f} waits, about; between 70 and 90 minutes: {density.probability(70, 90):.0%}")
print("beside it the truth, which is not private and is here to compare with:")
for minute in range(35, 110, 5):
    private = density([minute])[0]
    true = np.mean(np.abs(waiting - minute) <= 2.5) / 5
    print(f"{minute:4d} min {'#' * round(700 * private):45} (true {true:.3f}, private {private:.3f})")

"""A vendor's claims and your own releases, composed honestly.

You buy a service that claims (epsilon = 0.1, delta = 1e-8) for each weekly report, another that claims
Gaussian DP with mu = 0.3, and you publish two statistics of your own about the same people. What holds for
all of it together?
"""

from indistinct import ApproxDP, Gaussian, GaussianDP, Laplace, PureDP, ZeroConcentratedDP

DELTA = 1e-5

# 1. Fifty-two weekly reports. Adding up the epsilons is valid but wasteful.
week = ApproxDP(0.1, 1e-8)
year = 52 * week
print("52 weekly reports, each claimed to be (0.1, 1e-8):")
print("  adding up:                  epsilon 5.2000 at delta 5.2e-07")
print(f"  best bound from the claims: epsilon {year.epsilon(DELTA):.4f} at delta 1e-05")

# 2. What you know exactly is worth more than what is claimed about it. Laplace noise of scale 10 is 0.1-DP,
#    but 52 Laplace releases tell less than 52 releases of which only "0.1-DP" is known.
print("\n52 releases with Laplace noise of scale 10:")
print(f"  known as a mechanism: epsilon {(52 * Laplace(scale=10)).guarantee().epsilon(DELTA):.4f}")
print(f"  known as 0.1-DP only: epsilon {(52 * PureDP(0.1)).epsilon(DELTA):.4f}")

# 3. Guarantees add up, whoever states them; your own mechanisms give theirs. What is added must be about the
#    same neighbours, and the library refuses it otherwise.
own = (Gaussian(scale=10) + Laplace(scale=5)).guarantee()
service = GaussianDP(0.3)
print(f"\n{'what':<42}{'epsilon at delta = 1e-5':>25}")
for name, guarantee in (
    ("your two statistics", own),
    ("the vendor's year", year),
    ("the Gaussian DP service", service),
    ("all three", own + year + service),
    ("their epsilons added up, for comparison", None),
):
    parts = own.epsilon(DELTA) + year.epsilon(DELTA) + service.epsilon(DELTA)
    print(f"{name:<42}{parts if guarantee is None else guarantee.epsilon(DELTA):>25.4f}")

# 4. The form of a claim matters: the same Gaussian noise, stated in three ways, composed 100 times.
print("\nGaussian noise of scale 20, a hundred times, as it is claimed:")
for name, guarantee in (
    ("the mechanism itself, or mu = 0.05", 100 * GaussianDP(1 / 20)),
    ("zero-concentrated DP, rho = 1/800", 100 * ZeroConcentratedDP(1 / 800)),
    ("(epsilon, delta) at delta = 1e-8", 100 * ApproxDP(GaussianDP(1 / 20).epsilon(1e-8), 1e-8)),
):
    print(f"  {name:<40}epsilon {guarantee.epsilon(DELTA):.4f}")

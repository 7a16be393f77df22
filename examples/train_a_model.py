"""What does it cost, in privacy, to train a model with DP-SGD?

The setting is a usual one: 60,000 training examples, batches of 256 on average, 60 epochs. In each step
every example takes part with probability 256/60000; its gradient is clipped to length 1; Gaussian noise of
standard deviation 1.1 is added to the sum. I draw out/demo.png.
"""

from pathlib import Path

from indistinct import Budget, Gaussian, Mechanism, calibrate
from indistinct.report import explain

EXAMPLES, BATCH, EPOCHS = 60_000, 256, 60
RATE = BATCH / EXAMPLES
STEPS = EPOCHS * EXAMPLES // BATCH
DELTA = 1e-5  # below 1/60,000: a mechanism that publishes one random record should not pass


def training(scale: float) -> Mechanism:
    """The whole run. `scale` is the noise in units of the clipping length (the "noise multiplier")."""
    return STEPS * Gaussian(scale=scale, sensitivity=1).subsample(RATE)


# 1. What does the run cost? The report says it in words, then as a table.
run = training(scale=1.1)
report = explain(run, delta=DELTA)
print(report)

# 2. Which noise would give epsilon = 1, and what does each choice mean to an attacker?
at_one = calibrate(training, Budget(epsilon=1, delta=DELTA))
print(f"\n{'run':<26}{'epsilon':>10}{'missed at 5 % false alarms':>30}{'advantage':>12}")
for name, mechanism in (
    ("noise 0.7", training(0.7)),
    ("noise 1.1", run),
    ("noise 2.0", training(2.0)),
    ("calibrated to epsilon = 1", at_one),
):
    g = mechanism.guarantee()
    print(f"{name:<26}{g.epsilon(DELTA):>10.4f}{g.tradeoff(0.05):>30.4f}{g.advantage():>12.4f}")
print(f"\nThe least noise for epsilon = 1: {at_one.parameter:.4f}")

# 3. With the noise kept at 1.1, how many steps stay below epsilon = 2?
longest = calibrate(Gaussian(scale=1.1).subsample(RATE), Budget(epsilon=2, delta=DELTA))
print(f"Steps with noise 1.1 below epsilon = 2: {longest.parameter} ({longest.parameter * RATE:.1f} epochs)")

picture = Path("out") / "demo.png"
picture.parent.mkdir(exist_ok=True)
report.plot(picture)
print(f"\nThe picture is in {picture.resolve()}")

"""Draws the pictures of the documentation: `make docs`."""

from pathlib import Path

from indistinct import Gaussian
from indistinct.report import explain

PICTURES = Path(__file__).parent / "pictures"


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    run = 14062 * Gaussian(scale=1.1).subsample(0.004267)
    explain(run, delta=1e-5).plot(PICTURES / "training_run.png")


if __name__ == "__main__":
    main()

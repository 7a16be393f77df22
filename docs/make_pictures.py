"""Draws the pictures of the documentation: `make docs`."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from indistinct import Gaussian
from indistinct.report import explain
from indistinct.reproduce import claims, reproduce

PICTURES = Path(__file__).parent / "pictures"
PAGE = Path(__file__).parent / "reproduce.md"


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    run = 14062 * Gaussian(scale=1.1).subsample(0.004267)
    explain(run, delta=1e-5).plot(PICTURES / "training_run.png")
    draw_papers()


def draw_papers() -> None:
    """The figures of the papers, and the table of claims in the page that shows them."""
    with TemporaryDirectory() as folder:
        figures = reproduce(["all"], Path(folder))
        for picture in Path(folder).glob("*.png"):
            shutil.copy(picture, PICTURES)
    start, end = "<!-- claims -->\n", "<!-- end of claims -->"
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(start)
    after = rest.partition(end)[2]
    PAGE.write_text(f"{before}{start}\n{claims(figures)}\n\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()

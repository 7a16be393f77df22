"""Write the examples of README.md and of each page as a script, for mypy: `make lint` does."""

import doctest
import sys
from pathlib import Path

OUT = Path(sys.argv[1])
OUT.mkdir(parents=True, exist_ok=True)
for page in [Path("README.md"), *sorted(Path("docs").glob("*.md"))]:
    script = doctest.script_from_examples(page.read_text(encoding="utf-8"))
    (OUT / f"{page.stem.lower()}_page.py").write_text(script, encoding="utf-8")

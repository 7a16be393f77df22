"""A page as PDF: printed by a browser without a window where there is one, else its text by matplotlib."""

import importlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import wrap

_BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
    "microsoft-edge",
)
_SECONDS = 120
_WIDE, _LINES = 96, 66
"""Letters in a line and lines on a page of plain text."""


def browser() -> str | None:
    """A browser that prints without a window, if there is one."""
    found = next(filter(None, map(shutil.which, _BROWSERS)), None)
    return found or next(_of_playwright(), None)


def print_page(page: Path, pdf: Path) -> bool:
    """The page as a browser prints it; False where there is none, or it does not."""
    program = browser()
    if program is None:
        return False
    with TemporaryDirectory() as profile:
        made = Path(profile, "page.pdf")
        command = [program, "--headless", "--disable-gpu", "--no-first-run", "--disable-extensions"]
        command += [f"--user-data-dir={profile}", "--no-pdf-header-footer", f"--print-to-pdf={made}"]
        if getattr(os, "geteuid", lambda: 1)() == 0:  # its sandbox refuses root; the page has no script
            command.append("--no-sandbox")
        with suppress(OSError, subprocess.SubprocessError):
            ended = subprocess.run(
                [*command, page.resolve().as_uri()], capture_output=True, timeout=_SECONDS, check=False
            )
            if ended.returncode == 0 and made.exists() and made.read_bytes()[:5] == b"%PDF-":
                shutil.copyfile(made, pdf)
                return True
    return False


def print_text(text: str, pdf: Path) -> bool:
    """Plain text on pages, by matplotlib; False where it is not installed."""
    try:
        from matplotlib.backends.backend_pdf import PdfPages
        from matplotlib.figure import Figure
    except ImportError:
        return False
    lines = [piece for line in text.splitlines() for piece in (wrap(line, _WIDE) or [""])]
    with PdfPages(pdf) as pages:
        for start in range(0, len(lines), _LINES):
            figure = Figure(figsize=(8.27, 11.69))
            shown = "\n".join(lines[start : start + _LINES]).replace("$", r"\$")
            figure.text(0.08, 0.95, shown, va="top", family="monospace", fontsize=8, linespacing=1.25)
            figure.text(0.92, 0.03, str(start // _LINES + 1), ha="right", fontsize=8)
            pages.savefig(figure)
    return True


def _of_playwright() -> Iterator[str]:
    """The browser that Playwright has installed."""
    with suppress(Exception):
        started_by = importlib.import_module("playwright.sync_api")
        with started_by.sync_playwright() as started:
            path = started.chromium.executable_path
            if os.path.exists(path):
                yield path

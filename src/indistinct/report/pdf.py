"""A page as PDF: printed by a browser without a window where there is one, else by matplotlib."""

import importlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from indistinct.report.blocks import blocks
from indistinct.report.pdf_pages import print_blocks

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


def print_without_browser(page: str, pdf: Path) -> bool:
    """The same page with its tables and pictures, laid out more simply, by matplotlib; False where that is
    not installed."""
    return print_blocks(blocks(page), pdf)


def _of_playwright() -> Iterator[str]:
    """The browser that Playwright has installed."""
    with suppress(Exception):
        started_by = importlib.import_module("playwright.sync_api")
        with started_by.sync_playwright() as started:
            path = started.chromium.executable_path
            if os.path.exists(path):
                yield path

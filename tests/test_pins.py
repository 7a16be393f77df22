"""The versions of requirements/: whole, hashed, from no index in particular, and those that are installed."""

import re
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
ENTRY = re.compile(r"[a-z0-9.-]+==\S+(?: ; [^\\]+)?(?: \\\n    --hash=sha256:[0-9a-f]{64})+\n")


def entries(text: str) -> dict[str, Requirement]:
    """What a file pins. What is not a version with hashes is a mistake: an option, an address, a range."""
    assert not (rest := ENTRY.sub("", text)), f"neither a version nor its hashes: {rest[:80]!r}"
    lines = (entry.group().split("\\")[0] for entry in ENTRY.finditer(text))
    return {canonicalize_name(one.name): one for one in map(Requirement, lines)}


def pins(name: str) -> dict[str, Requirement]:
    return entries((ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8"))


def pinned(requirement: Requirement) -> Version:
    return Version(str(requirement.specifier).removeprefix("=="))


def asked(extra: str) -> list[Requirement]:
    """What an extra needs, with the core and the extras that it names."""
    needs: list[Requirement] = [Requirement(one) for one in PROJECT["project"]["dependencies"]]
    for one in map(Requirement, EXTRAS[extra]):
        needs += (
            [need for other in one.extras for need in asked(other)] if one.name == "indistinct" else [one]
        )
    return needs


@pytest.mark.parametrize(("file", "extra"), [("demo", "demo"), ("test", "dev"), ("spark", "spark")])
def test_pins_are_what_the_project_asks_for(file: str, extra: str) -> None:
    chosen = pins(file)
    for need in asked(extra):
        assert need.specifier.contains(pinned(chosen[canonicalize_name(need.name)])), need


def test_the_build_is_pinned_too() -> None:
    chosen, named = pins("build"), PROJECT["dependency-groups"]["build"]
    assert set(PROJECT["build-system"]["requires"]) <= set(named)
    for need in map(Requirement, named):
        assert need.specifier.contains(pinned(chosen[canonicalize_name(need.name)])), need


@pytest.mark.parametrize("file", ["build", "demo", "spark"])
def test_files_agree(file: str) -> None:
    chosen = pins("test")
    assert not {name for name, one in pins(file).items() if name in chosen and chosen[name] != one}


def test_both_builds_of_torch_are_of_one_version() -> None:
    assert pinned(pins("torch_cpu")["torch"]).public == str(pinned(pins("test")["torch"]))


@pytest.mark.parametrize(
    "line",
    [
        "--index-url https://example.org/simple",
        "numpy>=2",
        "numpy==2.4.6",
        "numpy @ https://example.org/numpy.whl",
        f"numpy==2.4.6 \\\n    --hash=md5:{'0' * 32}",
    ],
)
def test_planted_line_is_found(line: str) -> None:
    with pytest.raises(AssertionError):
        entries(line + "\n")


def test_installed_versions_are_the_pinned_ones() -> None:
    if not ((ROOT / ".venv" / ".installed").exists() and Path(sys.prefix).samefile(ROOT / ".venv")):
        pytest.skip("not in the environment of `make test`")
    chosen = pins("build") | pins("test")
    here = {name: one for name, one in chosen.items() if one.marker is None or one.marker.evaluate()}
    assert not {
        f"{one} (here {version(name)})" for name, one in here.items() if version(name) not in one.specifier
    }


def test_citation_has_the_version() -> None:
    import indistinct

    assert f"\nversion: {indistinct.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")

"""Rules of the house: what may import what, how long a module may be, what a user can reach."""

import ast
import importlib
import inspect
import re
import runpy
import subprocess
import sys
from abc import ABC
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import indistinct

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src"
MODULES = sorted(SOURCE.rglob("*.py"))
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
SOONER = {"synthetic_digits.py": ["6"]}
"""Arguments with which an example has less to do."""

ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
LAYERS = [
    set(line.split(", "))
    for line in ARCHITECTURE.partition("## Direction of imports")[2].split("```")[1].strip().split("\n")
]
"""A module may import from its own layer and from those above it in the list that the docs show. The public
namespace (`indistinct` itself) is what the command line and the web page are users of."""
LEVEL = {package: level for level, layer in enumerate(LAYERS) for package in layer}
CORE = {"indistinct", "numpy", "scipy"} | sys.stdlib_module_names
MAX_LINES = 400


def dotted_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_of(module: str) -> str:
    """`mechanisms` for `indistinct.mechanisms.laplace`; `indistinct` for the public namespace."""
    return module.split(".")[1] if "." in module else module


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def nodes(tree: ast.AST, *, run_on_import: bool) -> Iterator[ast.AST]:
    """All nodes of a module, or only those that run when it is imported."""
    for node in ast.iter_child_nodes(tree):
        if run_on_import and (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) or is_type_checking(node)
        ):
            continue
        yield node
        yield from nodes(node, run_on_import=run_on_import)


def imported(code: str, module: str, *, is_package: bool, run_on_import: bool) -> Iterator[str]:
    """Absolute dotted names that a module's code imports, `from a import b` giving `a.b`."""
    here = module.split(".") if is_package else module.split(".")[:-1]
    for node in nodes(ast.parse(code), run_on_import=run_on_import):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = here[: len(here) - node.level + 1] if node.level else []
            base = [*base, node.module] if node.module else base
            yield from (".".join([*base, alias.name]) for alias in node.names)


@cache
def imports_of(path: Path, *, run_on_import: bool = False) -> set[str]:
    return set(
        imported(
            path.read_text(encoding="utf-8"),
            dotted_name(path),
            is_package=path.name == "__init__.py",
            run_on_import=run_on_import,
        )
    )


def wrong_directions(module: str, imports: set[str]) -> list[str]:
    """What is wrong with a module's place in the layers, one sentence for each mistake."""
    package = package_of(module)
    if package not in LEVEL:
        return [f"{module}: give {package!r} a place in LAYERS"]
    mistakes = []
    for name in sorted(imports):
        if name.split(".")[0] != "indistinct":
            continue
        # `from indistinct import Gaussian` names no package: it asks the public namespace.
        target = package_of(name) if package_of(name) in LEVEL else "indistinct"
        if package in {"numerics", "noise"}:
            allowed = target in {package, "numerics", "errors"}
        else:
            allowed = LEVEL[target] <= LEVEL[package]
        if not allowed:
            mistakes.append(f"{module}: may not import {name}")
    return mistakes


@cache
def classes() -> dict[type, Path]:
    found: dict[type, Path] = {}
    for path in MODULES:
        if path.name != "__main__.py":
            module = importlib.import_module(dotted_name(path))
            found |= {
                c: path
                for c in vars(module).values()
                if inspect.isclass(c) and c.__module__ == module.__name__
            }
    return found


def test_no_two_classes_share_a_name() -> None:
    names = Counter(one.__name__ for one in classes())
    assert [name for name, count in names.items() if count > 1] == []


def test_every_class_is_abstract_or_final() -> None:
    """What others inherit from says so: an error, an abstract class or a protocol."""
    parents = {parent for one in classes() for parent in one.__bases__ if parent in classes()}
    concrete = [
        parent.__name__
        for parent in parents
        if not (ABC in parent.__bases__ or inspect.isabstract(parent) or issubclass(parent, BaseException))
        and not getattr(parent, "_is_protocol", False)
    ]
    assert concrete == []


def test_imports_point_down() -> None:
    mistakes: list[str] = []
    for path in MODULES:
        mistakes += wrong_directions(dotted_name(path), imports_of(path))
    assert not mistakes, "\n".join(mistakes)


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("indistinct.guarantees.gaussian", "from indistinct.mechanisms import Gaussian"),
        ("indistinct.guarantees.gaussian", "from ..mechanisms.gaussian import Gaussian"),
        ("indistinct.guarantees.gaussian", "from .. import mechanisms"),
        ("indistinct.guarantees.gaussian", "def f():\n    import indistinct.mechanisms"),
        ("indistinct.numerics.contour", "from indistinct.adjacency import Adjacency"),
        ("indistinct.mechanisms.laplace", "from indistinct import Gaussian"),
        ("indistinct.report", "from .cli import main"),
        ("indistinct.helpers", ""),
    ],
)
def test_planted_wrong_direction_is_found(module: str, code: str) -> None:
    imports = set(imported(code, module, is_package=False, run_on_import=False))
    assert wrong_directions(module, imports)


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("indistinct.mechanisms.laplace", "from ..guarantees import LaplacePair"),
        ("indistinct.mechanisms.laplace", "from .gaussian import Gaussian"),
        ("indistinct.numerics.contour", "from ..errors import NotConverged"),
        ("indistinct.cli", "from indistinct import __version__"),
    ],
)
def test_right_direction_is_let_through(module: str, code: str) -> None:
    imports = set(imported(code, module, is_package=False, run_on_import=False))
    assert not wrong_directions(module, imports)


def test_tests_lie_where_their_subjects_do() -> None:
    packages = {path.parent.name for path in (SOURCE / "indistinct").glob("*/__init__.py")}
    folders = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")}
    assert folders and folders <= packages


def test_modules_are_short() -> None:
    lengths = {dotted_name(p): len(p.read_text(encoding="utf-8").splitlines()) for p in MODULES}
    assert not {module: lines for module, lines in lengths.items() if lines > MAX_LINES}


EXTENDED = {
    "indistinct.functions.estimators": "sklearn",
    "indistinct.interop.dp_accounting": "dp_accounting",
    "indistinct.interop.opacus": "opacus",
}
"""Modules that extend the classes of another library, and so import it; nothing else imports them."""


def extended(name: str) -> str | None:
    """The library that a module extends."""
    return next((EXTENDED[one] for one in EXTENDED if f"{name}.".startswith(f"{one}.")), None)


def test_core_needs_only_numpy_and_scipy() -> None:
    extras = {
        dotted_name(path): outside
        for path in MODULES
        if (outside := {n.split(".")[0] for n in imports_of(path, run_on_import=True)} - CORE)
        and outside != {extended(dotted_name(path))}
    }
    assert not extras, f"import extras inside the function that uses them: {extras}"
    users = {
        dotted_name(path): name
        for path in MODULES
        for name in imports_of(path, run_on_import=True)
        if (library := extended(name)) and library != extended(dotted_name(path))
    }
    assert not users


def test_scipy_stats_is_not_used() -> None:
    # It takes longer to import than all the rest together.
    users = [
        dotted_name(path)
        for path in MODULES
        if any(f"{name}.".startswith("scipy.stats.") for name in imports_of(path))
    ]
    assert not users


def test_only_one_place_draws_noise() -> None:
    # `estimate` samples two laws that its caller wrote down: no data, no release
    # `public_randomness` chooses public features from a seed: everyone may know them, and noise comes after
    allowed = {
        "indistinct.noise.source",
        "indistinct.adversaries.estimate",
        "indistinct.functions.public_randomness",
    }
    draws = re.compile(r"\bnp\.random\b|\burandom\b|\bsecrets\b|^\s*(?:import|from) random\b", re.MULTILINE)
    shown = re.compile(r"^\s*(?:>>>|\.\.\.) .*$", re.MULTILINE)  # examples make up data
    users = {dotted_name(p) for p in MODULES if draws.search(shown.sub("", p.read_text(encoding="utf-8")))}
    assert users <= allowed


def test_tests_ask_nothing_that_differs_from_run_to_run() -> None:
    """But for noise, which `conftest.py` repeats."""
    differs = re.compile(r"\bdefault_rng\(\)|\burandom\(|\buuid[14]\(|\b(?:now|today)\(|\btime\.\w+\(")
    paths = [path for path in (ROOT / "tests").rglob("*.py") if "reference" not in path.parts]
    paths += [ROOT / "README.md", *ROOT.glob("docs/*.md")]
    assert not [path for path in paths if differs.search(path.read_text(encoding="utf-8"))]


def test_import_is_lean() -> None:
    code = "import sys, indistinct; print(*{'scipy.stats', 'matplotlib'} & sys.modules.keys())"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == []


def test_public_names_are_sorted_and_exist() -> None:
    assert list(indistinct.__all__) == sorted(indistinct.__all__)
    assert not [name for name in indistinct.__all__ if not hasattr(indistinct, name)]


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(
    example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small_model: None
) -> None:
    """In this process, where the libraries are loaded: so it must name what it takes from which module."""
    assert not re.search(r"^\s*import indistinct", example.read_text(encoding="utf-8"), flags=re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(example), *SOONER.get(example.name, [])])
    try:
        runpy.run_path(str(example), run_name="__main__")
    except SystemExit as done:
        assert not done.code


@pytest.mark.xdist_group("together")
def test_groups_stay_together(request: pytest.FixtureRequest) -> None:
    """pytest-xdist writes the group into a test's name. Where that fails it says nothing, and every worker
    starts Spark, draws all figures and reads all cases for itself."""
    grouped = getattr(request.config.option, "loadgroup", False)
    assert request.node.nodeid.endswith("@together") == grouped


def test_no_path_of_one_machine() -> None:
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    pattern = re.compile(rb"(?<![\w.])/(?:work|root|home)/")
    files = [ROOT / name for name in listed.stdout.split("\0") if name]
    found = [str(f.relative_to(ROOT)) for f in files if f.is_file() and is_text_with(pattern, f)]
    assert not found


def is_text_with(pattern: re.Pattern[bytes], path: Path) -> bool:
    content = path.read_bytes()
    return b"\0" not in content and pattern.search(content) is not None

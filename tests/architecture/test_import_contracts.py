"""The layers hold, and each contract really catches the wrong import that it is there for."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.source import PACKAGES, ROOT

# (contract, module to plant, what it must not import)
PLANTED = [
    ("Apps depend downwards only", "artifacts.selectors_planted", "threads.models"),
    ("Apps depend downwards only", "threads.planted", "learning.apps"),
    ("Apps depend downwards only", "learning.planted", "feedback.apps"),
    ("Apps depend downwards only", "feedback.planted", "artifactr_site.settings"),
    ("Inside an app", "artifacts.core.planted_layer", "artifacts.models"),
    ("Inside an app", "artifacts.models.planted", "artifacts.workspace"),
    ("Inside an app", "artifacts.api.planted", "artifacts.tasks"),
    ("Inside an app", "artifacts.store.planted", "artifacts.surfaces"),
    ("Inside an app", "threads.agent.planted", "threads.tasks"),
    ("Leaves import", "artifacts.conf.planted", "artifacts.models"),
    ("Rules reach no framework", "artifacts.core.planted_clock", "time"),
    ("Rules reach no framework", "artifacts.core.planted_chance", "random"),
    ("Rules reach no framework", "artifacts.core.planted_django", "django"),
    ("artifacts.store is the workspace's own", "artifacts.api.planted_store", "artifacts.store"),
    ("Stores belong to their services", "threads.agent.planted_store", "threads.store"),
    ("Surfaces are mounted by the site only", "threads.services.planted", "artifacts.api"),
]


def _lint(project: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(project), "COLUMNS": "400"},
        capture_output=True,
        text=True,
        check=False,
    )


def _plant(project: Path, module: str, imported: str) -> None:
    path = project.joinpath(*module.split(".")).with_suffix(".py")
    package = path.parent
    if not package.is_dir() and package.with_suffix(".py").exists():
        path = package.with_suffix(".py")  # the rule is about this very module
    else:
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").touch()
    with path.open("a") as file:
        file.write(f"\nimport {imported}\n")


def _sections(report: str) -> list[tuple[str, str]]:
    """Split the report into its broken contracts: name, findings."""
    parts = re.split(r"\n\n([^\n]+)\n-+\n", report.partition("Broken contracts")[2])
    return list(zip(parts[1::2], parts[2::2], strict=True))


@pytest.fixture(scope="module")
def planted_report(tmp_path_factory: pytest.TempPathFactory) -> str:
    project = tmp_path_factory.mktemp("planted")
    shutil.copy(ROOT / "pyproject.toml", project)
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package, project / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    for _contract, module, imported in PLANTED:
        _plant(project, module, imported)
    result = _lint(project)
    assert result.returncode == 1, result.stdout + result.stderr
    return result.stdout


def test_the_layers_hold() -> None:
    result = _lint(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(("contract", "module", "imported"), PLANTED)
def test_a_planted_import_is_caught(
    planted_report: str, contract: str, module: str, imported: str
) -> None:
    section = next(text for name, text in _sections(planted_report) if name.startswith(contract))
    # What is planted in a single-file module is that file's own import.
    importer = module.removesuffix(".planted") if module.startswith("artifacts.conf.") else module
    assert f"{importer} -> {imported} (l." in section

"""The lock names versions and no place to fetch them from, and covers what the project asks for."""

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.architecture.source import ROOT

LOCK = (ROOT / "requirements.lock").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WANTED = [
    Requirement(line)
    for lines in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values())
    for line in lines
]


def _locked() -> dict[str, list[str]]:
    versions: dict[str, list[str]] = {}
    for line in LOCK.splitlines():
        requirement = Requirement(line)
        (pin,) = requirement.specifier
        assert pin.operator == "==", line
        versions.setdefault(canonicalize_name(requirement.name), []).append(pin.version)
    return versions


def test_the_lock_holds_no_address() -> None:
    found = [line for line in LOCK.splitlines() if re.search(r"://| @ |^\s*--|\bfile:|\.whl", line)]
    assert not found, "write the lock with `make lock`"


@pytest.mark.parametrize("wanted", WANTED, ids=str)
def test_the_lock_satisfies_the_project(wanted: Requirement) -> None:
    name = canonicalize_name(wanted.name)
    if name == canonicalize_name(PROJECT["name"]):
        return
    versions = _locked().get(name)
    assert versions, f"{name} is not in the lock: run `make lock`"
    assert all(wanted.specifier.contains(version) for version in versions)


def test_the_oldest_python_gets_the_django_that_runs_on_it() -> None:
    versions = _locked()["django"]
    assert any(version.startswith("5.2.") for version in versions)
    assert any(version.startswith("6.") for version in versions)

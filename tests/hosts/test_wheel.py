"""The wheel holds exactly the four apps, and works in a project that is not ours."""

import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.architecture.source import ROOT
from tests.hosts.installed import UV, install

HERE = Path(__file__).parent
APPS = ("artifacts", "threads", "learning", "feedback")
# One worker builds once for all of them.
pytestmark = pytest.mark.xdist_group("wheel")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    # uv carries the build back end of its own version, so nothing is fetched.
    command = [UV, "build", "--wheel", "--offline", "--quiet", "--out-dir", folder, ROOT]
    subprocess.run(command, check=True)
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(wheel, tmp_path_factory.mktemp("environment") / "venv")


def test_the_wheel_holds_the_four_apps_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    top = {name.split("/")[0] for name in names}
    assert top == {*APPS, "django_artifactr-0.1.0.dist-info"}
    files = {
        path.relative_to(ROOT).as_posix()
        for app in APPS
        for path in (ROOT / app).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert files <= names, "templates, static files and migrations ride in their app"
    assert "django_artifactr-0.1.0.dist-info/licenses/LICENSE" in names


@pytest.mark.parametrize(
    ("host", "apps"),
    [
        ("full_host", APPS),
        ("artifacts_only", APPS[:1]),
        ("learning_only", ("artifacts", "learning")),
    ],
)
def test_a_host_migrates_writes_and_reviews(
    python: Path, tmp_path: Path, host: str, apps: tuple[str, ...]
) -> None:
    project = tmp_path / host
    shutil.copytree(HERE / host, project)
    shutil.copy(HERE / "journey.py", project)
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ}
    run = subprocess.run(
        [python, "journey.py"], cwd=project, env=kept, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    places = json.loads(run.stdout.splitlines()[-1])
    assert set(places) == set(apps)
    inside = python.parent.parent
    assert all(Path(place).is_relative_to(inside) for place in places.values()), places

"""`manage.py apply_catalog`: from a folder, from an installed app, or only as a check."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from artifacts.workspace import Workspace
from learning.models import Definition
from tests.learning.catalogs import catalog, files
from tests.support.cast import make_cast

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace() -> Workspace:
    return make_cast().ana


def written(folder: Path, made: dict[str, str]) -> str:
    for name, text in made.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(folder)


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("apply_catalog", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_a_folder_is_applied(workspace: Workspace, tmp_path: Path) -> None:
    folder = written(tmp_path, {**files(catalog()), "README.md": "not a part of it"})
    checked = run(folder, "--workspace", workspace.id, "--check")
    assert "nothing was changed" in checked
    assert not Definition.objects.exists()
    said = run(folder, "--workspace", workspace.id)
    assert said.splitlines()[0].startswith("desk@1 ")
    assert "created   artifact prompt@1" in said
    assert "unchanged artifact prompt@1" in run(folder, "--workspace", workspace.id)


def test_every_problem_is_a_line(workspace: Workspace, tmp_path: Path) -> None:
    changed = catalog()
    changed["artifacts"][0]["learning"] = {"target_block": "history", "artifact": "skill"}
    folder = written(tmp_path, files(changed))
    err = StringIO()
    with pytest.raises(CommandError, match="3 problem"):
        call_command("apply_catalog", folder, "--workspace", workspace.id, stderr=err)
    lines = err.getvalue().splitlines()
    assert len(lines) == 3
    assert all(line.startswith("artifacts/all.yaml:") and line.endswith("]") for line in lines)
    assert not Definition.objects.exists()


def test_a_shipped_package_is_applied(workspace: Workspace) -> None:
    assert run("--list").startswith("skills\t")
    assert run("--package", "skills", "--workspace", workspace.id).startswith("skills@1 ")
    assert Definition.objects.filter(type="artifact", name="daily_agent_prompt").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--package", "nothing"], "no package"),
        ([], "name either"),
        (["somewhere", "--package", "skills"], "name either"),
        (["/no/such/folder"], "is no folder"),
    ],
)
def test_what_is_missing_is_said(workspace: Workspace, arguments: list[str], words: str) -> None:
    with pytest.raises(CommandError, match=words):
        run(*arguments, "--workspace", workspace.id)


def test_an_unknown_workspace_is_said(workspace: Workspace) -> None:
    with pytest.raises(CommandError, match="no workspace"):
        run("--package", "skills", "--workspace", "wsp_none")
    with pytest.raises(CommandError, match="--workspace"):
        run("--package", "skills")


def test_bytes_that_are_no_text(workspace: Workspace, tmp_path: Path) -> None:
    folder = written(tmp_path, files(catalog()))
    (tmp_path / "views" / "odd.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(CommandError, match="1 problem"):
        run(folder, "--workspace", workspace.id)

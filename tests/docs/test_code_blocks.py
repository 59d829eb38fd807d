"""Every code block of the README and of docs/ runs, or names something that exists."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.core.management import get_commands, load_command_class
from django.core.wsgi import get_wsgi_application

from artifacts.core import SystemActor
from artifacts.keys import create_key
from artifacts.models import Role, Tenant, Workspace

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", *sorted(f"docs/{page.name}" for page in ROOT.glob("docs/*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(page: str, language: str) -> list[str]:
    return [body for found, body in BLOCK.findall((ROOT / page).read_text()) if found == language]


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_of_a_kind_that_is_checked(page: str) -> None:
    kinds = {language for language, _ in BLOCK.findall((ROOT / page).read_text())}
    assert kinds <= {"python", "console", "text"}


@pytest.fixture
def workspace() -> Workspace:
    tenant = Tenant.objects.create(name="Docs")
    return Workspace.objects.create(tenant=tenant, name="Docs")


@pytest.fixture
def client(workspace: Workspace) -> Iterator[httpx.Client]:
    _, key = create_key(
        tenant=workspace.tenant,
        workspace=workspace,
        name="docs",
        role=Role.EDITOR,
        actor=SystemActor(name="docs"),
    )
    transport = httpx.WSGITransport(app=get_wsgi_application())
    base = f"http://localhost/api/v1/workspaces/{workspace.public_id}/"
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(transport=transport, base_url=base, headers=headers) as client:
        yield client


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("page", PAGES)
def test_python_blocks_run_in_order(page: str, workspace: Workspace, client: httpx.Client) -> None:
    if page != "docs/guide.md":  # the other pages use the kinds that the guide defines
        run("docs/guide.md", blocks("docs/guide.md", "python")[:1], {})
    run(page, blocks(page, "python"), {"workspace_id": workspace.public_id, "client": client})


def run(page: str, bodies: list[str], names: dict[str, Any]) -> None:
    names["__name__"] = "documentation"
    for body in bodies:
        exec(compile(body, page, "exec", dont_inherit=True), names)


@pytest.mark.parametrize("page", PAGES)
def test_commands_exist_and_take_these_arguments(page: str) -> None:
    makefile = (ROOT / "Makefile").read_text()
    for line in "".join(blocks(page, "console")).splitlines():
        words = shlex.split(line)
        if words[0] == "make":
            assert re.search(rf"^{words[1]}:", makefile, re.MULTILINE), line
        elif words[:2] == [".venv/bin/python", "manage.py"]:
            command = load_command_class(get_commands()[words[2]], words[2])
            command.create_parser("manage.py", words[2]).parse_args(words[3:])
        else:
            assert words[0] in {".venv/bin/daphne", ".venv/bin/celery"}, line

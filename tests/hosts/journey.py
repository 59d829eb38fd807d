"""Run inside a host project: migrate, check, write, propose, review. Prints where our code lies."""

import importlib
import json
import os
from typing import Any

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
django.setup()

from django.apps import apps  # noqa: E402
from django.conf import settings  # noqa: E402
from django.contrib.auth import get_user_model  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.test import Client  # noqa: E402

from artifacts.core import ExternalAgentActor  # noqa: E402
from artifacts.keys import create_key  # noqa: E402
from artifacts.models import Membership, Tenant, Workspace  # noqa: E402

PREFIX = f"/{settings.MOUNTED_AT}/workspaces/ws_host"


def main() -> None:
    call_command("migrate", verbosity=0)
    call_command("check", databases=["default"], fail_level="ERROR")
    call_command("makemigrations", check_changes=True, dry_run=True, verbosity=0)
    person, agent = people()
    outcome = send(person, type="create_artifact", artifact_id="art_1", kind="note", data={})
    assert (outcome["type"], outcome["version"], outcome["seq"]) == ("applied", 1, 1), outcome
    review(person, agent)
    if apps.is_installed("threads"):
        send(person, type="create_thread", thread_id="thr_1", title="Lunch")
    if apps.is_installed("learning"):
        learn(person)
    call_command("verify_log")
    names = ("artifacts", "threads", "learning", "feedback")
    installed = [name for name in names if apps.is_installed(name)]
    print(json.dumps({name: importlib.import_module(name).__file__ for name in installed}))


def people() -> tuple[Client, Client]:
    """A reviewer with a session, and an outside agent with a key."""
    tenant = Tenant.objects.create(name="Host")
    workspace = Workspace.objects.create(tenant=tenant, public_id="ws_host", name="Host")
    user = get_user_model().objects.create_superuser(**settings.REVIEWER)
    Membership.objects.create(workspace=workspace, user=user, role="reviewer")
    _key, text = create_key(
        tenant=tenant,
        workspace=workspace,
        name="agent",
        role="editor",
        actor=ExternalAgentActor(client_id="helper"),
    )
    person = Client()
    person.force_login(user)
    return person, Client(headers={"Authorization": f"Bearer {text}"})


def review(person: Client, agent: Client) -> None:
    """The agent proposes, the person finds it in the admin and accepts it."""
    change = {
        "type": "edit_artifact",
        "artifact_id": "art_1",
        "base_version": 1,
        "patch": {"kind": "text_edits", "edits": [{"old": "", "new": "Soup"}]},
    }
    proposed = send(agent, type="propose_change", proposal_id="prp_1", change=change)
    assert proposed["type"] == "proposed", proposed
    queue = person.get("/admin/artifactr/proposal/")
    assert (queue.status_code, b"helper" in queue.content) == (200, True), queue
    answer = {"type": "respond_to_proposal", "proposal_id": "prp_1", "decision": "accept"}
    resolved = send(person, **answer)
    assert (resolved["decision"], resolved["version"]) == ("accept", 2), resolved
    stored = person.get(f"{PREFIX}/artifacts/art_1/").json()
    assert stored["data"]["text"] == "Soup", stored


def learn(person: Client) -> None:
    """The shipped package is applied; a skill and an outcome are kept, found and shown."""
    call_command("apply_catalog", package="skills", workspace="ws_host", verbosity=0)
    skill = {"collection": "skills", "entity": "agent:ada", "key": "steps", "text": "Ask first."}
    outcome = {"collection": "outcomes", "entity": "agent:ada", "type": "failure",
               "text": "Nobody asked.", "content": {"kind": "failure"}}  # fmt: skip
    answer = person.post(
        f"{PREFIX}/records/", {"records": [skill, outcome]}, content_type="application/json"
    )
    assert answer.status_code == 201, answer.content
    found = person.get(f"{PREFIX}/records/search/?q=asked").json()["results"]
    assert [each["text"] for each in found] == ["Nobody asked."], found
    shown = person.get("/admin/artifactr_learning/record/")
    assert (shown.status_code, b"Nobody asked." in shown.content) == (200, True), shown


def send(client: Client, **command: Any) -> dict[str, Any]:
    body = {"command_id": f"cmd_{command['type']}", "command": command}
    answer = client.post(f"{PREFIX}/commands/", body, content_type="application/json")
    assert answer.status_code == 200, answer.content
    outcome: dict[str, Any] = answer.json()["outcome"]
    return outcome


if __name__ == "__main__":
    main()

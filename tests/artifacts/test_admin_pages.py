"""Artifacts, threads, runs, events and change sets as pages to read."""

from __future__ import annotations

import pytest
from django.urls import reverse

from artifacts import models
from artifacts.core import (
    ArchiveArtifact,
    CreateArtifact,
    PostMessage,
    ProposeChange,
    RespondToProposal,
    RunEnded,
    ToolCalled,
)
from tests.support.builders import edit_text, make_artifact, make_board, make_run
from tests.support.desk import THREAD, Desk, make_desk
from tests.support.kinds import Paper

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def desk(transactional_db: None) -> Desk:
    return make_desk()


def by_id(desk: Desk, model: str, public_id: str, query: str = "", name: str = "vera") -> str:
    url = reverse(f"admin:artifactr_{model}_by_id", args=[desk.row.public_id, public_id])
    page = desk.client(name).get(url)
    assert page.status_code == 302, url
    shown = desk.client(name).get(page.headers["Location"] + query, follow=True)
    assert shown.status_code == 200
    return shown.content.decode()


def test_an_artifact_with_its_versions(desk: Desk) -> None:
    id = make_artifact(desk.door(), Paper(text=f"one {SCRIPT}"))
    change = ProposeChange(change=edit_text(id, 1, "one", "two"))
    desk.scribe().commit(change)
    desk.door("ana").commit(RespondToProposal(proposal_id=change.proposal_id, decision="accept"))
    desk.door().commit(edit_text(id, 2, "two", "three"))
    text = by_id(desk, "artifact", id)
    assert "three &lt;script&gt;" in text
    assert SCRIPT not in text
    assert change.proposal_id in text
    assert 'href="?version=1"' in text
    old = by_id(desk, "artifact", id, "?version=1")
    assert "one &lt;script&gt;" in old
    assert "1 of 3" in old
    compared = by_id(desk, "artifact", id, "?from=1&to=3")
    assert "<mark>one</mark>" in compared
    assert "<mark>three</mark>" in compared


@pytest.mark.parametrize("query", ["version=9", "from=0&to=1", "from=x", "version=-1", "before=1"])
def test_a_version_that_is_not_there(desk: Desk, query: str) -> None:
    row = models.Artifact.objects.get(public_id=make_artifact(desk.door(), Paper(text="one")))
    url = reverse("admin:artifactr_artifact_change", args=[row.pk])
    assert desk.client("vera").get(f"{url}?{query}").status_code == 404


def test_many_versions_come_in_pages(desk: Desk) -> None:
    id = make_artifact(desk.door(), Paper(text="v1."))
    for version in range(1, 60):
        desk.door().commit(edit_text(id, version, f"v{version}.", f"v{version + 1}."))
    newest = by_id(desk, "artifact", id)
    assert 'href="?version=60"' in newest
    assert 'href="?version=10"' not in newest
    assert 'href="?before=11#versions-title"' in newest
    assert 'href="?version=1"' in by_id(desk, "artifact", id, "?before=11")


def test_data_is_shown_as_tables_and_fields(desk: Desk) -> None:
    id = make_board(desk.door(), jobs=2)
    text = by_id(desk, "artifact", id)
    assert '<th scope="col">status</th>' in text
    assert "Job 1" in text
    desk.door().commit(ArchiveArtifact(artifact_id=id, base_version=1))
    assert "archived" in by_id(desk, "artifact", id)


def test_a_thread_is_a_conversation(desk: Desk) -> None:
    scribe = desk.scribe()
    desk.door().commit(PostMessage(thread_id=THREAD, content=f"please {SCRIPT}"))
    run_id = make_run(scribe, THREAD)
    agent = desk.scribe(run_id=run_id)
    call = {"run_id": run_id, "thread_id": THREAD, "tool_call_id": "c1", "tool_name": "read"}
    agent.record(ToolCalled(**call, args_summary="all of it"))
    agent.commit(PostMessage(thread_id=THREAD, content="done"))
    agent.record(RunEnded(run_id=run_id, thread_id=THREAD, status="failed", error="it broke"))
    text = by_id(desk, "thread", THREAD)
    for told in (
        "Planning &lt;b&gt;it&lt;/b&gt;", "please &lt;script&gt;", "called read all of it",
        "done", run_id, "run failed: it broke",
    ):  # fmt: skip
        assert told in text, told
    assert SCRIPT not in text
    run = by_id(desk, "run", run_id)
    assert "called read all of it" in run
    assert "is-failed" in run


def test_a_long_thread_comes_in_pages(desk: Desk) -> None:
    for start in (0, 100):
        said = [f"no {number}!" for number in range(start, start + 100)]
        desk.door().commit_all([PostMessage(thread_id=THREAD, content=each) for each in said])
    text = by_id(desk, "thread", THREAD)
    assert "no 199!" in text
    assert "opened" not in text
    assert "no 0!" in by_id(desk, "thread", THREAD, "?before=3")
    row_url = reverse("admin:artifactr_thread_by_id", args=[desk.row.public_id, THREAD])
    page = desk.client("vera").get(row_url).headers["Location"]
    assert desk.client("vera").get(f"{page}?before=x").status_code == 404


def test_an_event_and_its_envelope(desk: Desk) -> None:
    id = make_artifact(desk.door(), Paper(text=SCRIPT))
    url = reverse("admin:artifactr_event_by_seq", args=[desk.row.public_id, 2])
    text = desk.client("vera").get(url, follow=True).content.decode()
    assert "artifact_created" in text
    assert id in text
    assert SCRIPT not in text
    assert "&quot;seq&quot;: 2" in text
    far = reverse("admin:artifactr_event_by_seq", args=[desk.row.public_id, 10**30])
    assert desk.client("vera").get(far).status_code == 404


def test_a_change_set_names_what_was_written_together(desk: Desk) -> None:
    creates = [CreateArtifact(kind="paper", data={"text": "one"}) for _ in range(2)]
    batch = desk.door().commit_all(creates)
    assert batch.change_set_id is not None
    text = by_id(desk, "changeset", batch.change_set_id)
    assert all(create.artifact_id in text for create in creates)
    assert "Batch" in text


@pytest.mark.parametrize("model", ["artifact", "thread", "run", "event", "changeset", "proposal"])
def test_an_unknown_id(desk: Desk, model: str) -> None:
    for place in (desk.row.public_id, "nowhere", "é"):
        url = reverse(f"admin:artifactr_{model}_by_id", args=[place, "none"])
        assert desk.client("vera").get(url).status_code == 404

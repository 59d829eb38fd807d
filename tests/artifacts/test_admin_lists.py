"""The lists: what waits first, filters, search, words for humans, and a fixed number of queries."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib import admin
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from artifacts import models
from artifacts.core import (
    AgentActor,
    CreateArtifact,
    CreateThread,
    ProposeChange,
    RespondToProposal,
    RunEnded,
    RunStarted,
    new_id,
)
from tests.support.builders import edit_text, make_artifact, make_board, set_job
from tests.support.desk import THREAD, Desk, make_desk
from tests.support.kinds import Paper

QUEUE = "artifactr_proposal"
OURS = [m for m in admin.site._registry if m._meta.app_label.startswith("artifactr")]
SIZES = (10, 100, 1_000)


@pytest.fixture
def desk(transactional_db: None) -> Desk:
    return make_desk()


def rows(desk: Desk, query: str = "", name: str = "ana", model: str = QUEUE) -> list[Any]:
    page = desk.client(name).get(reverse(f"admin:{model}_changelist") + query)
    assert page.status_code == 200, page
    return list(page.context["cl"].result_list)


def propose(desk: Desk, paper: str, word: str, *, by: str = "scribe", version: int = 1) -> str:
    door = desk.scribe() if by == "scribe" else desk.door(by)
    command = ProposeChange(change=edit_text(paper, version, word, word.upper()))
    door.commit(command)
    return command.proposal_id


def test_what_waits_comes_first_and_oldest_first(desk: Desk) -> None:
    paper = make_artifact(desk.door(), Paper(text="one two three four"))
    ids = [propose(desk, paper, word) for word in ("one", "two", "three", "four")]
    for id in (ids[0], ids[2]):
        desk.door("ana").commit(RespondToProposal(proposal_id=id, decision="reject"))
    assert [row.public_id for row in rows(desk)] == [ids[1], ids[3], ids[2], ids[0]]


def test_filters(desk: Desk) -> None:
    paper, board = make_artifact(desk.door(), Paper(text="one two")), make_board(desk.door())
    mine = propose(desk, paper, "one", by="ben")
    theirs = propose(desk, paper, "two")
    change = ProposeChange(change=set_job(board, 1, "job1", "done"))
    desk.scribe().commit(change)
    desk.door("ana").commit(RespondToProposal(proposal_id=theirs, decision="accept"))

    def found(query: str) -> set[str]:
        return {row.public_id for row in rows(desk, query)}

    assert found("?kind=board") == {change.proposal_id}
    assert found(f"?proposer_key=user:{desk.users['ben'].pk}") == {mine}
    assert found("?status__exact=accepted") == {theirs}
    assert found("?stale=yes") == {mine}
    assert found("?stale=no") == {change.proposal_id}
    assert found(f"?workspace={desk.row.public_id}") == {mine, theirs, change.proposal_id}
    assert found(f"?workspace={desk.elsewhere.public_id}") == set()
    assert found(f"?q={mine}") == {mine}
    assert found(f"?q={paper}") == {mine, theirs}


def test_a_row_says_what_who_and_whether_it_is_stale(desk: Desk) -> None:
    paper = make_artifact(desk.door(), Paper(text="# Launch <b>plan</b>\n\none two"))
    propose(desk, paper, "two")
    desk.door().commit(edit_text(paper, 1, "one", "1"))
    text = desk.client("ana").get(reverse(f"admin:{QUEUE}_changelist")).content.decode()
    for told in (
        "Launch &lt;b&gt;plan&lt;/b&gt;", "edited text", "scribe for Ben",
        "made on version 1, now at 2", f'title="{THREAD}"', "Review queue", "scribe (agent)",
    ):  # fmt: skip
        assert told in text, told


def test_proposers_of_one_name_are_told_apart(desk: Desk) -> None:
    paper = make_artifact(desk.door(), Paper(text="one two three"))
    propose(desk, paper, "one")
    propose(desk, paper, "two", by="ben")
    for thread_id in ("thr_x", "thr_y"):
        desk.door().commit(CreateThread(thread_id=thread_id, title="Another"))
        other = desk.door().as_actor(AgentActor(thread_id=thread_id, name="helper"))
        other.commit(ProposeChange(change=edit_text(paper, 1, "three", thread_id)))
    text = desk.client("ana").get(reverse(f"admin:{QUEUE}_changelist")).content.decode()
    for told in ("scribe (agent)", "Ben (user)", "helper (agent thr_x)", "helper (agent thr_y)"):
        assert told in text, told


def test_a_thing_is_named_by_itself_and_not_by_its_parts(desk: Desk) -> None:
    jobs = {"job1": {"title": "Find a kitchen"}, "job2": {"title": "Tell everybody"}}
    board = CreateArtifact(kind="board", data={"goal": "Lunch {for", "jobs": jobs})
    nameless = CreateArtifact(artifact_id="art_none", kind="board", data={"jobs": jobs})
    for command in (board, nameless):
        desk.door().commit(command)
    desk.scribe().commit(ProposeChange(change=board.model_copy(update={"artifact_id": "art_new"})))
    for page, named in (
        (QUEUE, ["Lunch {for"]),
        ("artifactr_artifact", ["Lunch {for", "untitled"]),
    ):
        text = desk.client("ana").get(reverse(f"admin:{page}_changelist")).content.decode()
        assert "Find a kitchen" not in text
        for name in named:
            assert name in text


def test_a_very_large_change_has_a_short_line(desk: Desk) -> None:
    command = CreateArtifact(kind="paper", data={"text": "word " * 100_000})
    desk.scribe().commit(ProposeChange(change=command))
    text = desk.client("ana").get(reverse(f"admin:{QUEUE}_changelist")).content.decode()
    assert "create artifact (500," in text
    assert len(text) < 60_000


def test_the_log_is_filtered_by_type_actor_and_thread(desk: Desk) -> None:
    paper = make_artifact(desk.door(), Paper(text="one"))
    propose(desk, paper, "one")

    def seqs(query: str) -> list[int]:
        return [row.seq for row in rows(desk, query, model="artifactr_event")]

    assert seqs("") == [3, 2, 1]
    assert seqs("?type=artifact_created") == [2]
    assert seqs("?actor=agent") == [3]
    assert seqs(f"?thread_id={THREAD}") == [3, 1]
    assert seqs(f"?thread_id={THREAD}&actor=user") == [1]
    assert seqs(f"?q={paper}") == [3, 2]
    assert seqs("?thread_id=nonsense") == []


def test_a_very_large_event_has_a_short_line(desk: Desk) -> None:
    make_artifact(desk.door(), Paper(text="word " * 100_000))
    text = desk.client("ana").get(reverse("admin:artifactr_event_changelist")).content.decode()
    assert "characters" in text
    assert len(text) < 60_000


def test_lists_ask_the_database_equally_often_at_any_size(desk: Desk) -> None:
    """The number of queries of every list, with as many rows of everything."""
    counts: dict[str, list[int]] = {model.__name__: [] for model in OURS}
    made = 0
    for size in SIZES:
        grow(desk, size - made)
        made = size
        for model in OURS:
            counts[model.__name__].append(queries_of(desk, model))
    assert models.Proposal.objects.count() >= SIZES[-1]
    for name, found in counts.items():
        assert len(set(found)) == 1, (name, found)


def test_pages_ask_equally_often_at_any_size(desk: Desk) -> None:
    """One decision and one artifact page, with ever more versions, proposals and events."""
    paper = make_artifact(desk.door(), Paper(text="one two " + "x" * 1_100))
    proposal = propose(desk, paper, "one")
    row = models.Artifact.objects.get(public_id=paper)
    urls = [
        desk.page(proposal),
        reverse("admin:artifactr_artifact_change", args=[row.pk]) + "?from=1&to=2",
        reverse("admin:artifactr_threads_thread_changelist"),
    ]
    counts: list[list[int]] = []
    version = 1
    for size in (10, 100, 300):
        while version < size:
            change = edit_text(
                paper, version, f"two {'y' * (version - 1)}x", f"two {'y' * version}"
            )
            desk.door().commit(change)
            version += 1
        counts.append([count(desk, url) for url in urls])
    assert counts[0] == counts[1] == counts[2]


def queries_of(desk: Desk, model: Any) -> int:
    return count(desk, reverse(f"admin:{model._meta.label_lower.replace('.', '_')}_changelist"))


def count(desk: Desk, url: str) -> int:
    client = desk.client("root")
    client.get(url)  # what a process learns once, content types and the like, is not the list's
    with CaptureQueriesContext(connection) as captured:
        page = client.get(url)
    assert page.status_code == 200
    return len(captured)


def grow(desk: Desk, more: int) -> None:
    """So many further artifacts, proposals, threads and runs, through the door; and members."""
    run_ids = [new_id("run") for _ in range(more)]
    for start in range(0, more, 50):
        size = min(50, more - start)
        creates = [CreateArtifact(kind="paper", data={"text": "one"}) for _ in range(size)]
        changes = [edit_text(create.artifact_id, 1, "one", "two") for create in creates]
        desk.door().commit_all([*creates, *(ProposeChange(change=each) for each in changes)])
        desk.door().commit_all([CreateThread(title="More") for _ in range(size)])
        desk.scribe().commit_all(
            [
                fact
                for run_id in run_ids[start : start + size]
                for fact in (
                    RunStarted(run_id=run_id, thread_id=THREAD),
                    RunEnded(run_id=run_id, thread_id=THREAD, status="completed"),
                )
            ]
        )
    tenants = models.Tenant.objects.bulk_create(models.Tenant(name="t") for _ in range(more))
    places = models.Workspace.objects.bulk_create(
        models.Workspace(tenant=tenant, name="w") for tenant in tenants
    )
    models.Membership.objects.bulk_create(
        models.Membership(workspace=place, user=desk.users["otto"], role="viewer")
        for place in places
    )
    actor = json.dumps({"kind": "system", "name": "x"})
    models.ApiKey.objects.bulk_create(
        models.ApiKey(
            key_id=new_id("k")[2:10], secret_sha256="", tenant=place.tenant, workspace=place,
            name="k", role="viewer", actor=actor,
        )
        for place in places
    )  # fmt: skip

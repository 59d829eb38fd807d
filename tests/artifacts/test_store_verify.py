"""The log explains the state, for every command; and whatever was tampered with is named."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import Any, get_args

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from artifacts.core import (
    AnswerDeferred,
    AnyCommand,
    AppEvent,
    ArchiveArtifact,
    ArtifactTarget,
    CreateArtifact,
    CreateThread,
    DeferredRequest,
    Envelope,
    GiveFeedback,
    PostMessage,
    ProposeChange,
    PutArtifact,
    ResolveGroup,
    RespondToProposal,
    RevertArtifact,
    RunEnded,
    RunPaused,
    RunStarted,
    SetFocus,
    SetThreadMode,
    ToolCalled,
    ToolReturned,
)
from artifacts.core.artifact import Address
from artifacts.core.patches import TextEdit, TextEdits
from artifacts.store import verify
from artifacts.store.log import json_text
from tests.support.builders import (
    edit_text,
    make_artifact,
    make_proposal,
    make_run,
    make_thread,
    post,
)
from tests.support.cast import Cast
from tests.support.racing import Background
from tests.support.tampering import unguarded
from tests.support.verify import assert_whole, verify_commit


def all_commands(cast: Cast) -> list[Any]:
    """One of each command in a story, each verified; gives those that were sent."""
    sent: list[Any] = []

    def send(command: Any, who: Any = None) -> None:
        verify_commit(who or cast.ana, command)
        sent.append(command)

    thread = CreateThread(title="Planning")
    send(thread)
    paper = CreateArtifact(kind="paper", data={"text": "one two three"})
    send(paper)
    agent = cast.scribe(thread.thread_id)
    send(edit_text(paper.artifact_id, 1, "two", "2", thread_id=thread.thread_id), agent)
    send(ArchiveArtifact(artifact_id=paper.artifact_id, base_version=2))
    send(RevertArtifact(artifact_id=paper.artifact_id, base_version=3, to_version=1))
    address = Address(collection="skills", entity="agent:scribe", key="tone")
    kept = PutArtifact.model_validate(
        {"kind": "paper", "data": {"text": "calm"}, "base_version": 0, "address": address.wire()}
    )
    send(kept)
    send(kept.model_copy(update={"base_version": 1, "data": {"text": "calm"}}))
    proposal = ProposeChange(change=edit_text(paper.artifact_id, 4, "two", "2"), rationale="r")
    send(proposal, cast.ben)
    mine = TextEdits(edits=(TextEdit(old="2", new="zwei"),))
    send(
        RespondToProposal(
            proposal_id=proposal.proposal_id, decision="accept", changes=mine, remainder="keep"
        )
    )
    for number in range(2):
        edit = edit_text(paper.artifact_id, 5, "one" if number else "three", "x")
        make_proposal(cast.ben, edit, group_id="grp_1")
    send(ResolveGroup(group_id="grp_1", decision="reject", reason="no"))
    send(PostMessage(thread_id=thread.thread_id, content="hello"))
    send(SetFocus(thread_id=thread.thread_id, artifact_ids=(paper.artifact_id,)))
    send(SetThreadMode(thread_id=thread.thread_id, mode="suggest"))
    run_id = make_run(agent, thread.thread_id)
    request = DeferredRequest(tool_call_id="call_1", tool_name="ask_user", kind="question")
    agent.record(RunPaused(run_id=run_id, thread_id=thread.thread_id, requests=(request,)))
    send(AnswerDeferred(run_id=run_id, tool_call_id="call_1", answer={"a": None}))
    target = ArtifactTarget(artifact_id=paper.artifact_id, version=1)
    send(GiveFeedback(feedback_type="fit", target=target, value={"fits": True}))
    return sent


def test_every_command_leaves_a_log_that_explains_the_state(cast: Cast) -> None:
    sent = all_commands(cast)
    assert {type(command) for command in sent} == set(get_args(AnyCommand))
    for text in cast.ana.read_text():
        assert json_text(Envelope.model_validate_json(text)) == text


def test_every_fact_leaves_a_log_that_explains_the_state(cast: Cast) -> None:
    thread_id = make_thread(cast.ana)
    run = {"run_id": "run_1", "thread_id": thread_id}
    call = {**run, "tool_call_id": "call_1", "tool_name": "ask_user"}
    request = DeferredRequest(tool_call_id="call_1", tool_name="ask_user", kind="question")
    agent = cast.scribe(thread_id, run_id="run_1")
    facts: list[Any] = [
        RunStarted(**run, trace_id="a" * 32),
        ToolCalled(**call),
        ToolReturned(**call, summary="fine"),
        RunPaused(**run, requests=(request,)),
        AnswerDeferred(run_id="run_1", tool_call_id="call_1", answer="yes"),
        RunStarted(**run, trigger="resume", trace_id="b" * 32),
        AppEvent(name="progress", data={"half": None}, thread_id=thread_id),
        RunEnded(**run, status="completed"),
    ]
    for fact in facts:
        if isinstance(fact, AnswerDeferred):
            cast.ana.commit(fact)
        else:
            agent.record(fact)
        assert_whole(cast.ana)


# What was tampered with, and what is said about it.
CRIMES: list[tuple[str, str]] = [
    ("DELETE FROM artifactr_event WHERE seq = 2", "event 2 is missing"),
    ("DELETE FROM artifactr_event WHERE seq = 4", "head_seq is 4, the last event is 3"),
    (
        "UPDATE artifactr_event SET text = replace(text, 'Ana', 'Eve') WHERE seq = 1",
        "event 1: its text is not the one that was written",
    ),
    (
        "UPDATE artifactr_event SET digest = salt WHERE seq = 2",
        "event 2: its chain does not follow",
    ),
    ("UPDATE artifactr_event SET text = '{}' WHERE seq = 3", "event 3: it cannot be replayed"),
    ("UPDATE artifactr_workspace SET head_seq = 9", "head_seq is 9, the last event is 4"),
    ("UPDATE artifactr_workspace SET head_chain = {nothing}", "head_chain is not the chain"),
    (
        "UPDATE artifactr_revision SET data = replace(data, 'one', 'two') WHERE version = 1",
        "revision art_1@1: its data is not what was written",
    ),
    ("DELETE FROM artifactr_revision WHERE version = 1", "revision art_1@1: it is missing"),
    (
        "UPDATE artifactr_revision SET proposal_id = 'prp_0' WHERE version = 2",
        "revision art_1@2: it is not what its event says",
    ),
    ("UPDATE artifactr_artifact SET kind = 'board'", "artifact art_1: its row is not"),
    ("UPDATE artifactr_artifact SET public_id = 'art_2'", "artifact art_2: no event created it"),
    (
        "UPDATE artifactr_proposal SET status = 'accepted'",
        "proposal prp_1: it is not what the log says",
    ),
    ("DELETE FROM artifactr_proposal", "proposal prp_1: it is missing"),
    ("UPDATE artifactr_threads_thread SET title = 'other'", "threads thr_1: what is stored"),
]


@pytest.fixture
def written(cast: Cast) -> Cast:
    make_artifact(cast.ana, artifact_id="art_1")
    cast.ana.commit(edit_text("art_1", 1, "two", "2"))
    cast.ben.commit(ProposeChange(proposal_id="prp_1", change=edit_text("art_1", 2, "2", "zwei")))
    cast.ana.commit(CreateThread(thread_id="thr_1", title="Planning"))
    return cast


def verified(*ids: str) -> tuple[int, str]:
    """Exit code and what is written where."""
    out = StringIO()
    try:
        call_command("verify_log", *ids, stdout=out, stderr=out)
    except CommandError as error:
        return error.returncode, out.getvalue()
    return 0, out.getvalue()


@pytest.mark.parametrize(("crime", "said"), CRIMES, ids=[said for _, said in CRIMES])
def test_tampering_is_named(written: Cast, crime: str, said: str) -> None:
    assert verified() == (
        0,
        f"{written.ana.id}: 4 events, as written\n{written.otto.id}: 0 events, as written\n",
    )
    nothing = "''::bytea" if connection.vendor == "postgresql" else "x''"
    with unguarded() as cursor:
        cursor.execute(crime.format(nothing=nothing) if "{nothing}" in crime else crime)
    code, text = verified(written.ana.id)
    assert code == 1
    assert f"{written.ana.id}: {said}" in text


def test_a_missing_trigger_is_named(written: Cast) -> None:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "ALTER TABLE artifactr_event DISABLE TRIGGER artifactr_event_append_only"
            )
        else:
            cursor.execute("DROP TRIGGER artifactr_event_append_only_update")
        try:
            code, text = verified(written.ana.id)
        finally:
            if connection.vendor == "postgresql":
                cursor.execute(
                    "ALTER TABLE artifactr_event ENABLE TRIGGER artifactr_event_append_only"
                )
    assert code == 1
    assert "trigger artifactr_event_append_only" in text


def test_an_unknown_workspace_fails(written: Cast) -> None:
    code, text = verified("wsp_none")
    assert code == 1
    assert "wsp_none: there is no workspace" in text


def test_verifying_holds_up_no_writer(written: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Any] = []
    plain: Callable[..., Any] = verify.differences

    def differences(*args: Any) -> Any:
        looked.append(Background(post, written.ana, "thr_1").result())
        return plain(*args)

    monkeypatch.setattr(verify, "differences", differences)
    # What is written meanwhile is not looked at: one moment is.
    assert written.ana.verify() == []
    assert looked
    assert written.ana.head_seq() == 5

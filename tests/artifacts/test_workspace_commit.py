"""The write path as its callers see it: what is written, answered, refused and left alone."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import override_settings
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from artifacts import extensions, models
from artifacts.core import (
    AppEvent,
    Applied,
    ArchiveArtifact,
    CreateArtifact,
    EditArtifact,
    Forbidden,
    InvalidState,
    JsonPatch,
    NotFound,
    PatchFailed,
    ProposeChange,
    Recorded,
    Rejection,
    Resolved,
    ResolveGroup,
    RespondToProposal,
    RevertArtifact,
    ValidationFailed,
    VersionConflict,
)
from artifacts.extensions import Committed, Transaction
from artifacts.workspace import open_workspace
from tests.support.builders import (
    append_text,
    edit_text,
    make_artifact,
    make_board,
    make_proposal,
    make_thread,
    post,
    set_job,
)
from tests.support.cast import ANA, BEN, Cast
from tests.support.kinds import Board, Card, Paper
from tests.support.verify import assert_whole, envelopes_of, log_of, verify_commit


def test_a_change_is_a_revision_an_event_and_an_outcome_with_its_number(cast: Cast) -> None:
    paper = make_artifact(cast.ben)
    outcome = verify_commit(cast.ben, edit_text(paper, 1, "two", "2"))

    assert outcome == Applied(artifact_id=paper, version=2, seq=2)
    revision = cast.ben.revision(paper, 2)
    assert revision.data == {"text": "one 2 three"}
    assert revision.actor == BEN
    assert revision.patch is not None
    assert cast.ben.change_set(revision.change_set_id).last_seq == 2
    assert log_of(cast.ben) == [(1, "artifact_created"), (2, "artifact_changed")]
    assert envelopes_of(cast.ben)[1].actor == BEN


def test_a_proposal_is_made_decided_and_explained_by_the_log(cast: Cast) -> None:
    paper = make_artifact(cast.ben)
    command = ProposeChange(change=edit_text(paper, 1, "two", "2"), rationale="shorter")
    proposed = verify_commit(cast.ben, command)
    assert cast.ana.get(Paper, paper).data.text == "one two three"  # pending is not live

    verify_commit(cast.ana, edit_text(paper, 1, "one", "1"))
    answer = RespondToProposal(proposal_id=command.proposal_id, decision="accept", reason="yes")
    outcome = verify_commit(cast.ana, answer)

    assert proposed.seq == 2
    assert outcome == Resolved(proposal_id=command.proposal_id, decision="accept", version=3, seq=5)
    assert cast.ana.get(Paper, paper).data.text == "1 2 three"
    row = models.Proposal.objects.get(public_id=command.proposal_id)
    assert (row.status, row.reason, row.resolved_version) == ("accepted", "yes", 3)
    with pytest.raises(InvalidState):
        verify_commit(cast.ana, answer)


def test_a_stale_edit_is_refused_with_the_changes_since(cast: Cast) -> None:
    paper = make_artifact(cast.ben)
    cast.ana.commit(edit_text(paper, 1, "one", "1"))
    with pytest.raises(VersionConflict) as caught:
        verify_commit(cast.ben, edit_text(paper, 1, "two", "2"))
    assert (caught.value.base, caught.value.head) == (1, 2)
    assert [change["version"] for change in caught.value.changes] == [2]


@pytest.mark.parametrize(
    "command",
    [
        CreateArtifact(kind="unheard_of"),
        CreateArtifact(kind="card", data={}),
        EditArtifact(
            artifact_id="art_none", base_version=1, patch=JsonPatch.model_validate({"ops": ()})
        ),
        RespondToProposal(proposal_id="prp_none", decision="accept"),
    ],
)
def test_a_refusal_writes_nothing_and_uses_no_number(cast: Cast, command: Any) -> None:
    make_artifact(cast.ben)
    with pytest.raises(Rejection):
        verify_commit(cast.ben, command)
    assert log_of(cast.ben) == [(1, "artifact_created")]


def test_nulls_of_the_data_stay_in_rows_and_envelopes(cast: Cast) -> None:
    card = make_artifact(cast.ben, Card(title="a", note="because"))
    patch = JsonPatch.model_validate({"ops": [{"op": "replace", "path": "/note", "value": None}]})
    cast.ben.commit(EditArtifact(artifact_id=card, base_version=1, patch=patch))
    created, changed = cast.ben.read_text()
    assert '"note":"because"' in created
    assert '{"op":"replace","path":"/note","value":null}' in changed
    assert '"proposal_id"' not in changed  # members that are None stay out
    assert cast.ben.artifact(card).data["note"] is None
    assert_whole(cast.ben)


def test_archive_and_revert_write_higher_versions(cast: Cast) -> None:
    paper = make_artifact(cast.ben)
    verify_commit(cast.ben, append_text(cast.ben, paper, " four"))
    verify_commit(cast.ben, ArchiveArtifact(artifact_id=paper, base_version=2))
    with pytest.raises(InvalidState):
        cast.ben.commit(edit_text(paper, 3, "one", "1"))
    verify_commit(cast.ben, RevertArtifact(artifact_id=paper, base_version=3, to_version=1))
    found = cast.ben.get(Paper, paper)
    assert (found.version, found.archived, found.data.text) == (4, False, "one two three")


def test_a_handle_keeps_its_actor(cast: Cast) -> None:
    thread_id = make_thread(cast.ana)
    agent = cast.scribe(thread_id)
    paper = make_artifact(agent)
    make_artifact(cast.ana)
    actors = [each.actor for each in envelopes_of(cast.ana)]
    assert actors == [ANA, agent.actor, ANA]
    assert agent.artifact(paper).updated_by == agent.actor


def test_agents_propose_where_the_kind_says_so(cast: Cast) -> None:
    thread_id = make_thread(cast.ana)
    board = make_board(cast.ana)
    outcome = verify_commit(cast.scribe(thread_id), set_job(board, 1, "job1", "done"))
    assert outcome.type == "proposed"
    assert cast.ana.get(Board, board).version == 1


def test_another_kind_under_an_id_is_a_clear_error(cast: Cast) -> None:
    paper = make_artifact(cast.ben)
    assert cast.ben.get(None, paper).data == Paper(text="one two three")
    with pytest.raises(ValidationFailed, match="no 'board'"):
        cast.ben.get(Board, paper)
    with pytest.raises(NotFound):
        cast.ben.get(Board, "art_none")


def test_a_foreign_workspace_answers_as_an_unknown_one(cast: Cast) -> None:
    paper = make_artifact(cast.otto, artifact_id="art_theirs")
    with pytest.raises(NotFound) as foreign:
        open_workspace(cast.otto.id, actor=ANA, tenant_id=cast.ana.tenant_id)
    with pytest.raises(NotFound) as unknown:
        open_workspace("wsp_none", actor=ANA, tenant_id=cast.ana.tenant_id)
    assert foreign.value.message == unknown.value.message
    with pytest.raises(NotFound):
        cast.ana.artifact(paper)
    with pytest.raises(NotFound):
        cast.ana.commit(edit_text(paper, 1, "one", "1"))
    # The same id is another artifact here.
    make_artifact(cast.ana, artifact_id="art_theirs")


def test_only_allowed_kinds_may_be_created(cast: Cast) -> None:
    make_board(cast.ana)
    models.Workspace.objects.filter(pk=cast.ana.pk).update(kinds=["paper"])
    with pytest.raises(ValidationFailed, match="not allowed in this workspace"):
        verify_commit(cast.ana, CreateArtifact(kind="board"))
    make_artifact(cast.ana)
    with override_settings(ARTIFACTR={"KINDS": ["card"]}), pytest.raises(ValidationFailed):
        cast.otto.commit(CreateArtifact(kind="board"))


def test_application_events_go_through_record(cast: Cast) -> None:
    fact = AppEvent(name="deployed", data={"to": None})
    outcome = cast.system.record(fact)
    assert outcome == Recorded(seq=1)
    assert cast.system.read()[0].event == fact
    with pytest.raises(ValidationFailed):
        cast.system.record(AppEvent(name="artifact_created"))
    with pytest.raises(Forbidden):
        cast.ana.record(fact)
    assert cast.ana.head_seq() == 1


def test_a_batch_is_one_change_set_carried_from_item_to_item(cast: Cast) -> None:
    create = CreateArtifact(kind="paper", data={"text": "one"})
    edit = edit_text(create.artifact_id, 1, "one", "1")
    note = AppEvent(name="imported")
    batch = cast.system.commit_all([create, edit, note])
    assert [outcome.seq for outcome in batch.outcomes] == [1, 2, 3]
    assert batch.last_seq == 3
    assert batch.change_set_id is not None
    assert {each.change_set_id for each in envelopes_of(cast.system)} == {batch.change_set_id}
    written = cast.system.change_set(batch.change_set_id)
    assert [(each.artifact_id, each.version) for each in written.revisions] == [
        (create.artifact_id, 1),
        (create.artifact_id, 2),
    ]
    assert written.origin == "batch"
    assert_whole(cast.system)


def test_a_single_revision_names_its_change_set_in_no_envelope(cast: Cast) -> None:
    make_artifact(cast.ana)
    assert "change_set_id" not in cast.ana.read_text()[0]


def test_a_batch_is_all_or_nothing_and_names_the_first_that_failed(cast: Cast) -> None:
    create = CreateArtifact(kind="paper", data={"text": "one"})
    with pytest.raises(PatchFailed) as caught:
        cast.ana.commit_all([create, edit_text(create.artifact_id, 1, "absent", "x")])
    assert caught.value.index == 1
    assert log_of(cast.ana) == []
    with pytest.raises(ValidationFailed, match="between 1 and 100"):
        cast.ana.commit_all([])
    with pytest.raises(ValidationFailed):
        cast.ana.commit_all([AppEvent(name="x")] * 101)


def test_a_long_batch_keeps_the_order_of_its_events(cast: Cast) -> None:
    items = [AppEvent(name=f"n{number}") for number in range(100)]
    cast.system.commit_all(items)
    assert [each.event for each in envelopes_of(cast.system)] == items
    assert_whole(cast.system)


def test_the_trace_of_the_span_stands_on_revision_and_envelope(cast: Cast) -> None:
    make_artifact(cast.ana, artifact_id="art_untraced")
    context = SpanContext(0xA1, 0xB2, is_remote=False, trace_flags=TraceFlags(1))
    with trace.use_span(NonRecordingSpan(context)):
        make_artifact(cast.ana, artifact_id="art_traced")
    untraced, traced = envelopes_of(cast.ana)
    assert untraced.traceparent is None
    assert "traceparent" not in cast.ana.read_text()[0]
    assert traced.traceparent == f"00-{0xA1:032x}-{0xB2:016x}-01"
    assert cast.ana.revision("art_traced", 1).trace_id == f"{0xA1:032x}"
    assert cast.ana.revision("art_untraced", 1).trace_id is None


def test_a_hosts_own_rows_stay_or_vanish_with_the_commit(cast: Cast) -> None:
    with cast.ana.transaction() as tx:
        outcome = tx.commit(CreateArtifact(kind="paper", data={"text": "one"}))
        models.Tenant.objects.create(name=f"beside {outcome.seq}")
    assert models.Tenant.objects.filter(name="beside 1").exists()
    assert log_of(cast.ana) == [(1, "artifact_created")]

    def fail() -> None:
        with cast.ana.transaction() as tx:
            tx.commit(CreateArtifact(kind="paper"))
            models.Tenant.objects.create(name="gone")
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    assert not models.Tenant.objects.filter(name="gone").exists()
    assert log_of(cast.ana) == [(1, "artifact_created")]


def test_a_refusal_inside_a_block_leaves_the_rest_of_it(cast: Cast) -> None:
    with cast.ana.transaction() as tx:
        tx.commit(CreateArtifact(kind="paper", artifact_id="art_one"))
        with pytest.raises(InvalidState):
            tx.commit(CreateArtifact(kind="paper", artifact_id="art_one"))
        tx.commit(CreateArtifact(kind="paper", artifact_id="art_two"))
    assert log_of(cast.ana) == [(1, "artifact_created"), (2, "artifact_created")]
    assert_whole(cast.ana)


def test_counters_are_right_after_a_refusal_inside_a_block(cast: Cast) -> None:
    paper = make_artifact(cast.ana)
    agent = cast.scribe(make_thread(cast.ana))
    limits = {"LIMITS": {"open_proposals_per_agent": 3}}
    with override_settings(ARTIFACTR=limits), agent.transaction() as tx:
        for number in range(3):
            change = edit_text(paper, 1, "one", f"{number}")
            tx.commit(ProposeChange(change=change))
            with pytest.raises(Rejection):
                tx.commit(ProposeChange(change=edit_text("art_none", 1, "one", "x")))
        with pytest.raises(InvalidState, match="at most 3 open proposals"):
            tx.commit(ProposeChange(change=edit_text(paper, 1, "one", "x")))
    assert len(cast.ana.proposals("pending")) == 3


def test_a_commit_does_not_hide_in_an_outer_transaction(cast: Cast) -> None:
    with pytest.raises(RuntimeError, match="durable"), cast.ana.transaction():
        make_artifact(cast.ana)
    assert log_of(cast.ana) == []


def test_what_goes_along_is_in_the_transaction(cast: Cast) -> None:
    seen: list[tuple[int, bool]] = []

    def look(tx: Transaction) -> None:
        models.Tenant.objects.create(name="along")
        seen.append((tx.head_seq, tx.connection.in_atomic_block))

    def fail(tx: Transaction) -> None:
        raise LookupError

    cast.ana.commit(CreateArtifact(kind="paper"), also=[look])
    assert seen == [(1, True)]
    with pytest.raises(LookupError):
        cast.ana.commit(CreateArtifact(kind="paper"), also=[look, fail])
    assert models.Tenant.objects.filter(name="along").count() == 1
    assert log_of(cast.ana) == [(1, "artifact_created")]


def test_participants_write_in_the_transaction_and_may_refuse_it(cast: Cast) -> None:
    told: list[Committed] = []

    def participate(tx: Transaction, committed: Committed) -> None:
        rows = tx.execute(
            "SELECT count(*) FROM artifactr_event WHERE workspace_id = %s", [tx.workspace_pk]
        )
        assert rows == [(committed.last_seq,)]
        told.append(committed)
        if committed.last_seq == 2:
            raise Forbidden("not this one")

    with extensions.isolated():
        extensions.register_participant(participate)
        make_artifact(cast.ana)
        with pytest.raises(Forbidden):
            make_artifact(cast.ana)
    assert [(each.first_seq, each.last_seq) for each in told] == [(1, 1), (2, 2)]
    assert told[0].envelopes[0].text == cast.ana.read_text()[0]
    assert log_of(cast.ana) == [(1, "artifact_created")]
    assert_whole(cast.ana)


def test_reactions_run_after_commit_each_on_its_own(
    cast: Cast, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[int] = []

    def first(committed: Committed) -> None:
        raise LookupError

    def second(committed: Committed) -> None:
        seen.append(cast.ana.head_seq())

    with extensions.isolated():
        extensions.register_reaction(first)
        extensions.register_reaction(second)
        outcome = cast.ana.commit(CreateArtifact(kind="paper"))
    assert outcome.seq == 1
    assert seen == [1]
    assert "a reaction failed" in caplog.text


def test_registering_twice_is_the_hosts_mistake() -> None:
    def reaction(committed: Committed) -> None: ...

    with extensions.isolated():
        extensions.register_reaction(reaction)
        with pytest.raises(extensions.ConfigurationError, match="already registered"):
            extensions.register_reaction(reaction)
        with pytest.raises(extensions.ConfigurationError, match="no family"):
            extensions.register_family("artifacts", lambda tx, ids: {}, lambda tx, e, r: None)


def test_a_family_that_no_app_keeps_is_absent_and_cannot_be_saved(cast: Cast) -> None:
    with extensions.isolated():
        extensions._families.clear()
        with pytest.raises(InvalidState, match="no installed app keeps threads"):
            make_thread(cast.ana)
        with pytest.raises(NotFound):
            post(cast.ana, "thr_none")
    assert log_of(cast.ana) == []


def test_groups_are_decided_together(cast: Cast) -> None:
    papers = [make_artifact(cast.ben) for _ in range(2)]
    for paper in papers:
        make_proposal(cast.ben, edit_text(paper, 1, "two", "2"), group_id="grp_one")
    assert len(cast.ana.group("grp_one").proposal_ids) == 2
    verify_commit(cast.ana, ResolveGroup(group_id="grp_one", decision="accept"))
    assert [cast.ana.get(Paper, paper).data.text for paper in papers] == ["one 2 three"] * 2
    assert cast.ana.group("grp_one").status == "accepted"
    shown = {each.change_set_id for each in envelopes_of(cast.ana)[-4:]}
    assert len(shown) == 1
    assert None not in shown

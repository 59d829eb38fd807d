"""Whatever stands beside the log is compared with it, column by column; no row stands unsaid."""

from __future__ import annotations

import pytest
from django.db import connection

from artifacts.core import (
    CreateArtifact,
    CreateThread,
    PostMessage,
    ProposeChange,
    ResolveGroup,
    RespondToProposal,
    RunEnded,
    RunStarted,
)
from artifacts.store.log import digest_of
from tests.support.builders import edit_text, make_artifact
from tests.support.cast import Cast
from tests.support.tampering import unguarded
from tests.support.verify import assert_whole

EVE = '{"kind":"user","id":"ana","name":"Eve"}'
FILED = {
    "type": "'app_event'",
    "public_id": "'evt_0'",
    "thread_id": "'thr_0'",
    "run_id": "'run_0'",
    "actor_key": "'user:eve'",
    "artifact_id": "'art_0'",
    "mentions": "''",
    "at": "'2001-01-01 00:00:00+00:00'",
}
OTHER_COLUMNS = {
    "revision art_1@2: it is not": [
        f"UPDATE artifactr_revision SET actor = '{EVE}' WHERE version = 2",
        "UPDATE artifactr_revision SET at = '2001-01-01 00:00:00+00:00' WHERE version = 2",
        "UPDATE artifactr_revision SET change_set_id = 'chs_0' WHERE version = 2",
        "UPDATE artifactr_revision SET trace_id = 'a' WHERE version = 2",
    ],
    "revision art_1@2: it has lost its salt": [
        "UPDATE artifactr_revision SET salt = {nothing} WHERE version = 2"
    ],
    "event 2: it has lost its salt": ["UPDATE artifactr_event SET salt = {nothing} WHERE seq = 2"],
    "artifact art_1: its row": [
        f"UPDATE artifactr_artifact SET updated_by = '{EVE}' WHERE public_id = 'art_1'",
        "UPDATE artifactr_artifact SET collection = 'c', entity = 'e', key = 'k'",
        "UPDATE artifactr_artifact SET updated_at = '2001-01-01 00:00:00+00:00'",
        "UPDATE artifactr_artifact SET updated_by = 'no json'",
    ],
    "proposal prp_1: it is not": [
        f"UPDATE artifactr_proposal SET resolved_by = '{EVE}' WHERE public_id = 'prp_1'",
        "UPDATE artifactr_proposal SET reason = 'because' WHERE public_id = 'prp_1'",
        "UPDATE artifactr_proposal SET resolved_version = 77 WHERE public_id = 'prp_1'",
        "UPDATE artifactr_proposal SET artifact_id = 'art_0' WHERE public_id = 'prp_1'",
        "UPDATE artifactr_proposal SET proposer_key = 'user:eve' WHERE public_id = 'prp_1'",
        "UPDATE artifactr_proposal SET change = 'no json' WHERE public_id = 'prp_1'",
    ],
    "group grp_1: it is not": ["UPDATE artifactr_proposalgroup SET status = 'rejected'"],
    "group grp_1: it is missing": ["DELETE FROM artifactr_proposalgroup"],
    "group grp_0: no event made it": [
        (
            "INSERT INTO artifactr_proposalgroup (workspace_id, public_id, status, proposed_by) "
            f"SELECT id, 'grp_0', 'pending', '{EVE}' FROM artifactr_workspace "
            "WHERE head_seq > 0"
        )
    ],
    "change set": [
        "DELETE FROM artifactr_changeset",
        f"UPDATE artifactr_changeset SET actor = '{EVE}'",
        "UPDATE artifactr_changeset SET last_seq = 99",
    ],
    "threads thr_0: no event made it": [
        (
            "INSERT INTO artifactr_threads_thread (workspace_id, public_id, title, mode, focus, "
            "asked_seq, taken_seq, taken_ahead, tries, created_at) SELECT workspace_id, 'thr_0', "
            "title, mode, focus, asked_seq, taken_seq, taken_ahead, tries, created_at "
            "FROM artifactr_threads_thread"
        )
    ],
    "threads thr_1: what is stored": ["UPDATE artifactr_threads_thread SET focus = 'no json'"],
    "messages msg_0: no event made it": [
        (
            "INSERT INTO artifactr_threads_messageid (workspace_id, public_id, thread_id) "
            "SELECT workspace_id, 'msg_0', thread_id FROM artifactr_threads_messageid"
        )
    ],
    "messages msg_1: what is stored": [
        "UPDATE artifactr_threads_messageid SET thread_id = 'thr_0' WHERE public_id = 'msg_1'"
    ],
    "runs run_0: no event made it": [
        (
            "INSERT INTO artifactr_threads_run (workspace_id, thread_id, public_id, status, "
            "pending, answers, trace_ids, from_seq, started_at) SELECT workspace_id, thread_id, "
            "'run_0', status, pending, answers, trace_ids, from_seq, started_at "
            "FROM artifactr_threads_run"
        )
    ],
    "last_event_at is not": [
        (
            "UPDATE artifactr_workspace SET last_event_at = '2001-01-01 00:00:00+00:00' "
            "WHERE head_seq > 0"
        )
    ],
}
CRIMES = [(said, crime) for said, crimes in OTHER_COLUMNS.items() for crime in crimes]


@pytest.fixture
def written(cast: Cast) -> Cast:
    """A bit of everything that has rows."""
    make_artifact(cast.ana, artifact_id="art_1")
    cast.ana.commit(edit_text("art_1", 1, "two", "2"))
    edit = edit_text("art_1", 2, "one", "1")
    cast.ben.commit(ProposeChange(proposal_id="prp_1", change=edit))
    cast.ana.commit(RespondToProposal(proposal_id="prp_1", decision="accept", reason="good"))
    edit = edit_text("art_1", 3, "three", "3")
    cast.ben.commit(ProposeChange(proposal_id="prp_2", group_id="grp_1", change=edit))
    cast.ana.commit(ResolveGroup(group_id="grp_1", decision="accept"))
    cast.ana.commit(CreateThread(thread_id="thr_1", title="Planning"))
    cast.ana.commit(PostMessage(thread_id="thr_1", message_id="msg_1", content="hello"))
    scribe = cast.scribe("thr_1", run_id="run_1")
    scribe.record(RunStarted(run_id="run_1", thread_id="thr_1"))
    scribe.commit(CreateArtifact(kind="paper", artifact_id="art_2"))
    scribe.record(RunEnded(run_id="run_1", thread_id="thr_1", status="completed"))
    assert_whole(cast.ana)
    return cast


def tamper(sql: str) -> None:
    nothing = "''::bytea" if connection.vendor == "postgresql" else "x''"
    with unguarded() as cursor:
        cursor.execute(sql.replace("{nothing}", nothing))


@pytest.mark.parametrize("column", FILED)
def test_an_event_is_filed_under_what_it_says(written: Cast, column: str) -> None:
    tamper(f"UPDATE artifactr_event SET {column} = {FILED[column]} WHERE seq = 2")
    assert "event 2: it is filed under something else than it says" in written.ana.verify()


@pytest.mark.parametrize(("said", "crime"), CRIMES)
def test_a_row_is_what_its_events_say(written: Cast, said: str, crime: str) -> None:
    tamper(crime)
    assert [problem for problem in written.ana.verify() if problem.startswith(said)]


def test_a_patch_with_a_digest_to_match_is_still_not_its_events(written: Cast) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT id, salt, data FROM artifactr_revision WHERE version = 2")
        pk, salt, data = cursor.fetchone()
    patch = '{"kind":"json_patch","ops":[]}'
    with unguarded() as cursor:
        cursor.execute(
            "UPDATE artifactr_revision SET patch = %s, digest = %s WHERE id = %s",
            [patch, digest_of(bytes(salt), data, patch), pk],
        )
    assert written.ana.verify() == ["revision art_1@2: it is not what its event says"]

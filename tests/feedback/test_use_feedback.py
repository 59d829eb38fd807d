"""Feedback on a use: each field and its bounds, and the record that comes of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
from django.test import override_settings

from artifacts import clock
from artifacts.access import Access
from artifacts.core import Forbidden
from artifacts.workspace import Workspace, database
from feedback.core.errors import (
    ArtifactUseExpired,
    ArtifactUseNotFound,
    LearningSignalsUnavailable,
)
from feedback.core.signals import MOST_REFS, TEXT_CHARS
from feedback.models import ArtifactUse
from feedback.services.signals import submit
from feedback.services.uses import bind, signals, use
from learning.core.errors import DedupeConflict, RequestSchema
from learning.models import Record
from learning.selectors.records import RecordInfo, RecordQuery
from learning.services.records import ingest, record, records, search
from tests.feedback.uses import ENTITY, PROMPT, bound, furnish, promote, say
from tests.learning.catalogs import apply, catalog
from tests.support.cast import Cast, make_cast
from tests.support.racing import together

pytestmark = pytest.mark.django_db(transaction=True)
BACKLOG = "artifact:maintained_skill"
COMMENT = "It said the refund was complete."


@pytest.fixture
def cast() -> Cast:
    cast = make_cast()
    furnish(cast.ana)
    return cast


@pytest.fixture
def use_id(cast: Cast) -> str:
    return bound(cast.ana).id


def said(workspace: Workspace, use_id: str, **members: Any) -> RecordInfo:
    """The record that feedback became."""
    return record(workspace, say(workspace, use_id, **members).record_id)


def refusal(workspace: Workspace, use_id: str, feedback: dict[str, Any]) -> list[str]:
    """Where feedback is wrong."""
    with pytest.raises(RequestSchema) as refused:
        submit(workspace, use_id, feedback)
    return [".".join(map(str, each["loc"])) for each in refused.value.errors]


# The record


def test_the_record_is_exactly_this(cast: Cast) -> None:
    found = bound(cast.ana)
    kept = said(cast.ana, found.id, label="incorrect_status", comment=COMMENT)
    text = f"thumbs_down from end_user on {PROMPT}@1 [incorrect_status]\ncomment: {COMMENT}"
    assert kept.content == {
        "text": text,
        "artifact_use": {
            "id": found.id,
            "artifact": dict(found.artifact),
            "render_sha256": found.render_sha256,
            "snapshot_id": None,
            "learning_target": found.learning_target,
        },
        "signal": {"kind": "thumbs_down", "source": "end_user", "label": "incorrect_status"},
        "evidence": {"comment": COMMENT},
    }
    assert (kept.collection, kept.entity, kept.type, kept.text, kept.derived_from) == (
        "learning_signals", BACKLOG, "thumbs_down", text, (),
    )  # fmt: skip
    assert kept.fields == {
        "signal_kind": "thumbs_down",
        "signal_source": "end_user",
        "signal_label": "incorrect_status",
        "target_artifact": PROMPT,
    }


def test_everything_that_can_be_said(cast: Cast, use_id: str) -> None:
    ref = {"system": "logfire", "id": "trace-abc", "url": "https://traces.example/abc"}
    kept = said(
        cast.ana,
        use_id,
        kind="evaluation",
        source="evaluator",
        score=0.2,
        label="incorrect",
        comment="no",
        expected="pending",
        actual_excerpt="complete",
        execution_refs=[ref, {"system": "other", "id": "7"}],
    )
    assert kept.text == (
        f"evaluation from evaluator on {PROMPT}@1 [incorrect] score=0.2\n"
        "comment: no\nexpected: pending\nactual: complete"
    )
    assert kept.content["signal"] == {
        "kind": "evaluation", "source": "evaluator", "score": 0.2, "label": "incorrect",
    }  # fmt: skip
    assert kept.content["evidence"] == {
        "comment": "no", "expected": "pending", "actual_excerpt": "complete",
    }  # fmt: skip
    assert kept.content["execution_refs"] == [ref, {"system": "other", "id": "7"}]
    assert "trace-abc" not in kept.text
    assert kept.derived_from == (), "a reference is no provenance"


def test_what_was_not_said_is_left_out_and_what_there_is_none_of_is_null(
    cast: Cast, use_id: str
) -> None:
    kept = said(cast.ana, use_id)
    assert kept.content["signal"] == {"kind": "thumbs_down", "source": "end_user"}
    assert kept.content["evidence"] == {}
    assert "execution_refs" not in kept.content
    assert kept.content["artifact_use"]["snapshot_id"] is None
    other = bind(cast.ana, "maintained_skill", {"entity": ENTITY})
    assert said(cast.ana, other.id).content["artifact_use"]["learning_target"] is None


def test_without_a_target_it_joins_the_backlog_of_what_rendered(cast: Cast) -> None:
    other = bind(cast.ana, "maintained_skill", {"entity": ENTITY})
    new = bound(cast.ana, entity="agent:new")
    assert said(cast.ana, other.id).entity == BACKLOG
    assert said(cast.ana, new.id).entity == f"artifact:{PROMPT}"


def test_signals_of_all_subjects_share_one_backlog_and_tell_their_subject(cast: Cast) -> None:
    promote(cast.ana, "agent:bob")
    for entity in (ENTITY, "agent:bob"):
        say(cast.ana, bound(cast.ana, entity=entity).id)
    backlog = records(cast.ana, RecordQuery(collection=("learning_signals",), entity=BACKLOG))
    subjects = [each.content["artifact_use"]["learning_target"]["entity"] for each in backlog]
    assert subjects == [ENTITY, "agent:bob"]
    everywhere = records(cast.ana, RecordQuery(collection=("learning_signals",)))
    assert [each.id for each in everywhere] == [each.id for each in backlog]
    one = RecordQuery(collection=("learning_signals",), where=(f"target_artifact={PROMPT}",))
    assert len(records(cast.ana, one)) == 2


def test_an_older_use_speaks_of_its_own_heads(cast: Cast) -> None:
    found = bound(cast.ana)
    promote(cast.ana, steps="New.")
    told = said(cast.ana, found.id).content["artifact_use"]["learning_target"]
    assert told == found.learning_target


def test_with_a_snapshot_it_cites_the_snapshot(cast: Cast) -> None:
    found = bound(cast.ana, snapshot=True)
    kept = said(cast.ana, found.id)
    assert kept.derived_from == (found.snapshot_id,)
    assert kept.content["artifact_use"]["snapshot_id"] == found.snapshot_id


def test_a_signal_is_ready_at_its_commit(cast: Cast, use_id: str) -> None:
    kept = said(cast.ana, use_id, comment="unmistakable words", score=0.5)
    assert [each.id for each in search(cast.ana, "unmistakable")] == [kept.id]
    for condition in ("signal_kind=thumbs_down", "signal_source=end_user", "signal_score<=0.5"):
        query = RecordQuery(collection=("learning_signals",), where=(condition,))
        assert [each.id for each in records(cast.ana, query)] == [kept.id]
    query = RecordQuery(collection=("learning_signals",), type=("thumbs_down",))
    assert [each.id for each in records(cast.ana, query)] == [kept.id]


def test_nothing_orders_or_counts_by_source(cast: Cast, use_id: str) -> None:
    sources = ("application", "evaluator", "operator", "end_user")
    ids = [say(cast.ana, use_id, source=source).record_id for source in sources]
    assert [each.id for each in signals(cast.ana, use_id)] == ids
    kept = records(cast.ana, RecordQuery(collection=("learning_signals",)))
    assert [each.id for each in kept] == ids


# Fields


@pytest.mark.parametrize(
    "kind",
    ["thumbs_up", "thumbs_down", "correction", "task_success", "task_failure", "exception",
     "evaluation"],
)  # fmt: skip
def test_the_kind_is_the_records_type(cast: Cast, use_id: str, kind: str) -> None:
    """A correction without what was expected and an evaluation without a score are fine."""
    assert said(cast.ana, use_id, kind=kind).type == kind


@pytest.mark.parametrize(
    ("feedback", "where"),
    [
        ({"source": "end_user"}, "kind"),
        ({"kind": "thumbs_up"}, "source"),
        ({"kind": "meh"}, "kind"),
        ({"kind": None}, "kind"),
        ({"source": "robot"}, "source"),
        ({"score": -0.01}, "score"),
        ({"score": 1.01}, "score"),
        ({"score": float("nan")}, "score"),
        ({"score": "0.5"}, "score"),
        ({"score": True}, "score"),
        ({"label": "x" * 129}, "label"),
        ({"label": ""}, "label"),
        ({"label": 7}, "label"),
        ({"dedupe_key": "x" * 201}, "dedupe_key"),
        ({"dedupe_key": ""}, "dedupe_key"),
        ({"comment": "a\0b"}, "comment"),
        ({"expected": "\ud800"}, "expected"),
        ({"actual_excerpt": ["x"]}, "actual_excerpt"),
        ({"execution_refs": [{"system": "s", "id": "1"}] * (MOST_REFS + 1)}, "execution_refs"),
        ({"execution_refs": [{"system": "x" * 65, "id": "1"}]}, "execution_refs.0.system"),
        ({"execution_refs": [{"system": "s", "id": "x" * 257}]}, "execution_refs.0.id"),
        ({"execution_refs": [{"system": "s", "id": "1", "url": "x" * 1_025}]},
         "execution_refs.0.url"),
        ({"execution_refs": [{"system": "s", "id": "1", "more": 1}]}, "execution_refs.0.more"),
        ({"strange": 1}, "strange"),
        ({"artifact": PROMPT}, "artifact"),
    ],
)  # fmt: skip
def test_what_is_out_of_bounds_is_refused_by_name(
    cast: Cast, use_id: str, feedback: dict[str, Any], where: str
) -> None:
    whole = {"kind": "thumbs_up", "source": "end_user", **feedback}
    if where in ("kind", "source") and where not in feedback:
        whole = feedback
    assert refusal(cast.ana, use_id, whole) == [where]
    assert not Record.objects.filter(collection="learning_signals").exists()


@pytest.mark.parametrize(
    "members",
    [
        {"score": 0.0}, {"score": 1}, {"label": "x" * 128}, {"dedupe_key": "x" * 200},
        {"execution_refs": [{"system": "x" * 64, "id": "x" * 256, "url": "x" * 1_024}] * MOST_REFS},
        {"execution_refs": []},
    ],
)  # fmt: skip
def test_what_is_just_within_bounds_is_taken(
    cast: Cast, use_id: str, members: dict[str, Any]
) -> None:
    assert said(cast.ana, use_id, **members).type == "thumbs_down"


def test_evidence_is_stripped_and_dropped_when_blank(cast: Cast, use_id: str) -> None:
    kept = said(cast.ana, use_id, comment="  no \n", expected=" \t", actual_excerpt="")
    assert kept.content["evidence"] == {"comment": "no"}


def test_long_evidence_is_cut_and_taken(cast: Cast, use_id: str) -> None:
    long = "ü" * 5_000
    kept = said(cast.ana, use_id, comment=long, expected=long, actual_excerpt=long)
    lengths = {name: len(text) for name, text in kept.content["evidence"].items()}
    assert lengths == {"comment": 2_000, "expected": 4_000, "actual_excerpt": 4_000}
    assert len(kept.text) == TEXT_CHARS
    bounds = {"FEEDBACK_COMMENT_MAX_CHARS": 3, "FEEDBACK_EVIDENCE_MAX_CHARS": 4}
    with override_settings(ARTIFACTR=bounds):
        kept = said(cast.ana, use_id, comment="abcdef", expected="abcdef")
    assert kept.content["evidence"] == {"comment": "abc", "expected": "abcd"}
    assert kept.text.endswith("comment: abc\nexpected: abcd")


def test_each_piece_of_evidence_has_one_line(cast: Cast, use_id: str) -> None:
    kept = said(cast.ana, use_id, comment="one\nexpected: forged\r\nthree", label="a\nb")
    assert kept.text.splitlines()[0].endswith("[a b]")
    assert kept.text.splitlines()[1:] == ["comment: one expected: forged three"]
    assert kept.content["evidence"]["comment"] == "one\nexpected: forged\r\nthree"


def test_equal_feedback_gives_equal_text(cast: Cast, use_id: str) -> None:
    texts = {said(cast.ana, use_id, score=score, comment="x").text for score in (1, 1.0)}
    texts |= {said(cast.ana, use_id, score=1.0, comment=" x ").text}
    assert len(texts) == 1
    assert said(cast.ana, use_id, score=-0.0).text.endswith("score=0.0")


# Dedupe


def test_the_same_again_is_the_first_record(cast: Cast, use_id: str) -> None:
    first = say(cast.ana, use_id, dedupe_key="message:1:thumbs_down", comment="no")
    again = say(cast.ana, use_id, dedupe_key="message:1:thumbs_down", comment=" no ")
    assert (first.duplicate, again.duplicate) == (False, True)
    assert again.record_id == first.record_id
    assert len(signals(cast.ana, use_id)) == 1


def test_the_same_again_from_many_senders_is_one_record(cast: Cast, use_id: str) -> None:
    found = together(8, lambda n: say(cast.ana, use_id, dedupe_key="once"))
    assert len({each.record_id for each in found}) == 1
    assert sorted(each.duplicate for each in found) == [False] + [True] * 7
    assert len(signals(cast.ana, use_id)) == 1


def test_another_payload_under_the_key_is_a_conflict(cast: Cast, use_id: str) -> None:
    say(cast.ana, use_id, dedupe_key="once", comment="no")
    before = Record.objects.count()
    with pytest.raises(DedupeConflict):
        say(cast.ana, use_id, dedupe_key="once", comment="other")
    assert Record.objects.count() == before


def test_a_key_is_its_uses_own(cast: Cast, use_id: str) -> None:
    other = bound(cast.ana).id
    event = {"collection": "outcomes", "entity": ENTITY, "type": "failure", "text": "x"}
    ingest(cast.ana, [{**event, "content": {"kind": "failure"}, "dedupe_key": "once"}])
    ingest(cast.ana, [{**event, "content": {"kind": "failure"},
                       "dedupe_key": f"feedback:{use_id}:once"}])  # fmt: skip
    found = [say(cast.ana, id, dedupe_key="once") for id in (use_id, other)]
    assert [each.duplicate for each in found] == [False, False]


def test_without_a_key_the_same_again_is_another_record(cast: Cast, use_id: str) -> None:
    assert say(cast.ana, use_id).record_id != say(cast.ana, use_id).record_id
    assert len(signals(cast.ana, use_id)) == 2


# Who and when


@pytest.mark.parametrize(
    "id", ["", "use_", "use_" + "0" * 31, "USE_" + "0" * 32, "use_" + "G" * 32, "rec_" + "0" * 32]
)
def test_what_is_no_uses_id_is_a_malformed_request(cast: Cast, id: str) -> None:
    with pytest.raises(RequestSchema):
        say(cast.ana, id)
    with pytest.raises(RequestSchema):
        use(cast.ana, id)


def test_unknown_foreign_and_purged_uses_are_the_same_refusal(cast: Cast, use_id: str) -> None:
    gone = bound(cast.ana).id
    ArtifactUse.objects.filter(public_id=gone).delete()
    payloads = []
    for workspace, id in ((cast.otto, use_id), (cast.ana, "use_" + "0" * 32), (cast.ana, gone)):
        for call in (say, use, signals):
            with pytest.raises(ArtifactUseNotFound) as refused:
                call(workspace, id)
            payloads.append(str(refused.value.payload()).replace(id, "…"))
    assert len(set(payloads)) == 1


def test_an_expired_use_takes_nothing_more(cast: Cast, use_id: str) -> None:
    say(cast.ana, use_id, dedupe_key="once")
    with clock.moved(timedelta(days=91)):
        for feedback in ({"dedupe_key": "once"}, {"dedupe_key": "other"}, {"kind": "no such"}):
            with pytest.raises(ArtifactUseExpired):
                say(cast.ana, use_id, **feedback)
        assert len(signals(cast.ana, use_id)) == 1


def test_a_catalog_without_the_collection_takes_no_signals(cast: Cast) -> None:
    made = catalog()
    made["package"]["name"] = "skills"  # in place of the shipped package
    made["package"]["version"] = 2
    made["package"]["artifacts"] = ["prompt@1", "skill@1"]
    for section in ("collections", "artifacts", "views", "derivations"):
        for entry in made[section]:
            if entry["name"] == "skills":
                entry["version"] = 2
    made["package"]["collections"] = ["skills@2", "outcomes@2", "notes@1", "copies@1"]
    made["collections"][1]["version"] = 2
    apply(cast.ana, made)
    found = bind(cast.ana, "skill", {"entity": ENTITY})
    with pytest.raises(LearningSignalsUnavailable):
        say(cast.ana, found.id)
    assert refusal_of_form(cast, found.id) == ["kind"], "the request's form is looked at first"


def refusal_of_form(cast: Cast, use_id: str) -> list[str]:
    return refusal(cast.ana, use_id, {"kind": "no such", "source": "end_user"})


def test_feedback_is_for_whoever_may_give_it(cast: Cast, use_id: str) -> None:

    def holding(role: str | None) -> Workspace:
        return replace(cast.vera, access=Access(actor=cast.vera.actor, role=role, reads_all=True))

    assert say(holding("viewer"), use_id).record_id
    with pytest.raises(Forbidden):
        bound(holding("viewer"))
    with pytest.raises(Forbidden):
        say(holding(None), use_id)
    assert use(holding(None), use_id).id == use_id
    assert bound(holding("editor")).id


def test_everything_of_a_signal_is_written_in_one_round_trip(cast: Cast, use_id: str) -> None:
    say(cast.ana, use_id)
    sent: list[list[str]] = []
    kind = type(database())
    run = kind._run

    def noting(self: Any, statements: Any) -> Any:
        sent.append([sql.split()[0] for sql, _ in statements])
        return run(self, statements)

    with mock.patch.object(kind, "_run", noting):
        say(cast.ana, use_id)
    [find, lock, known, written] = sent
    assert {*find, *lock} == {"SELECT"}
    assert "INSERT" not in known
    assert set(written) == {"INSERT"}

"""Taking records in: numbered without a gap, checked, deduped, linked; all or nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from artifacts import core
from artifacts.access import Access
from artifacts.core import (
    ExternalAgentActor,
    Forbidden,
    Hidden,
    NotFound,
    VersionConflict,
    new_id,
)
from artifacts.workspace import Workspace, open_workspace
from learning.core.errors import DedupeConflict, RequestSchema
from learning.core.records import digest_of
from learning.models import (
    CurrentRecord,
    DedupeKey,
    Record,
    RecordField,
    RecordHead,
    RecordLink,
    RecordText,
)
from learning.selectors.heads import heads
from learning.services.records import ingest, ingest_in, record
from tests.learning.catalogs import apply, catalog
from tests.support import kinds
from tests.support.builders import make_artifact
from tests.support.cast import ANA, Cast

pytestmark = pytest.mark.django_db
REGISTERED = kinds
TABLES = (Record, RecordLink, RecordText, RecordField, CurrentRecord, DedupeKey, RecordHead)


def event(**members: Any) -> dict[str, Any]:
    return {
        "collection": "outcomes",
        "entity": "agent:ada",
        "type": "exception",
        "text": "It said the refund was complete.",
        "content": {"score": 0.2, "label": "wrong", "final": True},
        **members,
    }


def keyed(**members: Any) -> dict[str, Any]:
    return {
        "collection": "skills",
        "entity": "agent:ada",
        "key": "steps",
        "text": "Ask first.",
        "content": {"level": 1},
        **members,
    }


def contents() -> list[Any]:
    return [list(model._default_manager.order_by("pk").values()) for model in TABLES]


def refused(
    workspace: Workspace, records: list[Any], error: type[core.Rejection] = RequestSchema
) -> Any:
    """The refusal, once it was seen to have left nothing behind."""
    before = contents()
    with pytest.raises(error) as found:
        ingest(workspace, records)
    assert contents() == before
    return found.value


def test_a_record_reads_as_it_was_sent(cast: Cast) -> None:
    [taken] = ingest(cast.ana, [event()])
    assert taken.record_id is not None
    assert (taken.duplicate, taken.proposal_id) == (False, None)
    found = record(cast.ana, taken.record_id)
    assert (found.seq, found.collection, found.collection_version) == (1, "outcomes", 1)
    assert (found.entity, found.type, found.key) == ("agent:ada", "exception", None)
    assert found.text == "It said the refund was complete."
    assert found.content == {"score": 0.2, "label": "wrong", "final": True}
    assert found.fields == {"score": 0.2}, "only what is declared for project"
    assert (found.actor, found.derived_from) == (ANA, ())
    row = Record.objects.get()
    assert row.digest == digest_of(bytes(row.salt), row.text, row.content)
    assert len(row.public_id) == len("rec_") + 32


def test_a_batch_is_numbered_in_its_order(cast: Cast) -> None:
    ingest(cast.ana, [event(text="first")])
    ingest(cast.ana, [event(text=f"n{number}") for number in range(100)])
    rows = Record.objects.order_by("seq").values_list("seq", "text")
    assert list(rows) == [(1, "first"), *((number + 2, f"n{number}") for number in range(100))]
    assert RecordHead.objects.get().seq == 101


def test_every_workspace_counts_for_itself(cast: Cast) -> None:
    apply(cast.otto)
    ingest(cast.ana, [event(), event()])
    ingest(cast.otto, [event()])
    assert Record.objects.get(workspace_id=cast.otto.pk).seq == 1


def test_keyed_records_are_put_at_their_addresses(cast: Cast) -> None:
    [first, second] = ingest(cast.ana, [keyed(), keyed(key="pitfalls", text="None.")])
    [third] = ingest(cast.ana, [keyed(text="Ask twice.")])
    assert first.record_id
    assert second.record_id
    assert third.record_id
    id = core.address_id("skills", "agent:ada", "steps")
    artifact = cast.ana.artifact(id)
    assert (artifact.version, artifact.data["text"]) == (2, "Ask twice.")
    old, new = record(cast.ana, first.record_id), record(cast.ana, third.record_id)
    assert (old.version, old.text, old.current) == (1, "Ask first.", False)
    assert (new.version, new.text, new.current) == (2, "Ask twice.", True)
    assert [each.record_id for each in heads(cast.ana.pk, "agent:ada", ["skills"])] == [
        second.record_id, third.record_id,
    ]  # fmt: skip
    assert [each.event.type for each in cast.ana.read()] == [
        "artifact_created", "artifact_created", "artifact_changed",
    ]  # fmt: skip


def test_events_leave_the_log_alone(cast: Cast) -> None:
    ingest(cast.ana, [event()])
    assert cast.ana.head_seq() == 0


def test_a_mixed_batch_is_one_transaction(cast: Cast) -> None:
    taken = ingest(cast.ana, [event(), keyed(), event(text="x"), keyed(text="again")])
    assert len({each.record_id for each in taken}) == 4
    assert sorted(Record.objects.values_list("seq", flat=True)) == [1, 2, 3, 4]
    told = refused(cast.ana, [event(), keyed(content={"level": 0})])
    assert told.errors[0]["loc"] == ["records", 1, "content", "level"]
    assert cast.ana.head_seq() == 2


def test_an_agents_keyed_record_is_a_proposal(cast: Cast) -> None:
    client = cast.ana.as_actor(ExternalAgentActor(client_id="helper"))
    [event_taken, keyed_taken] = ingest(client, [event(), keyed(dedupe_key="k")])
    assert event_taken.record_id
    assert keyed_taken.record_id is None
    assert keyed_taken.proposal_id
    assert cast.ana.proposal(keyed_taken.proposal_id).status == "pending"
    assert Record.objects.count() == 1
    [again] = ingest(client, [keyed(dedupe_key="k")])
    assert (again.proposal_id, again.duplicate) == (keyed_taken.proposal_id, True)


def test_another_kind_takes_its_content_as_its_data(cast: Cast) -> None:
    own = {
        "package": {"name": "own", "version": 1, "collections": ["papers@1"]},
        "collections": [{"name": "papers", "version": 1, "mode": "keyed", "kind": "paper",
                         "schema": {}}],
    }  # fmt: skip
    apply(cast.ana, own)
    paper = {"collection": "papers", "entity": "e", "key": "k"}
    [taken] = ingest(cast.ana, [{**paper, "content": {"text": "# Title"}}])
    assert taken.record_id
    found = record(cast.ana, taken.record_id)
    assert found.text == "# Title"
    assert found.content["text"] == "# Title"
    told = refused(cast.ana, [{**paper, "text": "x"}])
    assert told.errors[0]["loc"] == ["records", 0, "text"]
    told = refused(cast.ana, [{**paper, "content": {"colour": "red"}}])
    assert told.errors[0]["loc"][:3] == ["records", 0, "data"]


# Provenance


def test_what_a_record_is_derived_from(cast: Cast) -> None:
    [one, two] = ingest(cast.ana, [event(), keyed()])
    artifact = make_artifact(cast.ana)
    revision = cast.ana.revision(artifact, 1)
    cited = [two.record_id, revision.id, one.record_id]
    [event_taken, keyed_taken] = ingest(
        cast.ana, [event(derived_from=cited), keyed(derived_from=cited[:1], text="more")]
    )
    assert event_taken.record_id
    assert keyed_taken.record_id
    assert record(cast.ana, event_taken.record_id).derived_from == tuple(cited)
    assert record(cast.ana, keyed_taken.record_id).derived_from == tuple(cited[:1])


@pytest.mark.parametrize("id", ["rec_" + "0" * 32, "rev_0", "art_0", "'; --"])
def test_an_unknown_source_is_refused(cast: Cast, id: str) -> None:
    [known] = ingest(cast.ana, [event()])
    told = refused(cast.ana, [event(), event(derived_from=[known.record_id, id])])
    assert told.errors[0]["loc"] == ["records", 1, "derived_from", 1]


def test_a_foreign_source_is_unknown(cast: Cast) -> None:
    apply(cast.otto)
    [theirs] = ingest(cast.otto, [event()])
    told = refused(cast.ana, [event(derived_from=[theirs.record_id])])
    assert told.errors[0]["msg"] == "names no record or revision here"


def test_a_hidden_source_is_unknown(cast: Cast) -> None:
    [taken] = ingest(cast.ana, [keyed()])
    id = core.address_id("skills", "agent:ada", "steps")
    revision = cast.ana.revision(id, 1)
    for cited in (taken.record_id, revision.id):
        with pytest.raises(RequestSchema), cast.ana.transaction() as tx:
            ingest_in(
                tx, [event(derived_from=[cited])], namespace="x",
                hidden=Hidden(artifacts=frozenset({id})),
            )  # fmt: skip


# Dedupe


def test_a_repeat_is_the_first_record_again(cast: Cast) -> None:
    [first] = ingest(cast.ana, [event(dedupe_key="k")])
    [again] = ingest(cast.ana, [event(dedupe_key="k")])
    assert (again.record_id, again.duplicate) == (first.record_id, True)
    assert Record.objects.count() == 1
    [without, once_more] = ingest(cast.ana, [event(), event()])
    assert without.record_id != once_more.record_id, "without a key, two are two"


def test_the_same_key_with_another_payload_is_a_conflict(cast: Cast) -> None:
    ingest(cast.ana, [event(dedupe_key="k"), keyed(dedupe_key="v")])
    for other in (
        event(dedupe_key="k", text="other"),
        event(dedupe_key="k", content={}),
        event(dedupe_key="k", type="other"),
        event(dedupe_key="v"),
        keyed(dedupe_key="k"),
        keyed(dedupe_key="v", text="other"),
    ):
        told = refused(cast.ana, [event(), other], DedupeConflict)
        assert (told.index, told.data) == (1, {"dedupe_key": other["dedupe_key"]})


def test_repeats_within_one_batch(cast: Cast) -> None:
    [one, two, three] = ingest(
        cast.ana, [event(dedupe_key="k"), event(dedupe_key="k"), keyed(dedupe_key="v")]
    )
    assert (one.duplicate, two.duplicate) == (False, True)
    assert one.record_id == two.record_id
    assert three.record_id
    refused(cast.ana, [event(dedupe_key="n"), event(dedupe_key="n", text="x")], DedupeConflict)


def test_a_keyed_repeat_does_not_write_again(cast: Cast) -> None:
    ingest(cast.ana, [keyed(dedupe_key="v")])
    ingest(cast.ana, [keyed(text="newer")])
    [again] = ingest(cast.ana, [keyed(dedupe_key="v")])
    assert again.duplicate
    id = core.address_id("skills", "agent:ada", "steps")
    assert cast.ana.artifact(id).data["text"] == "newer"


def test_keys_are_of_one_workspace_and_one_namespace(cast: Cast) -> None:
    apply(cast.otto)
    ingest(cast.ana, [event(dedupe_key="k")])
    [theirs] = ingest(cast.otto, [event(dedupe_key="k", text="other")])
    assert not theirs.duplicate
    with cast.ana.transaction() as tx:
        [other] = ingest_in(tx, [event(dedupe_key="k", text="x")], namespace="feedback:use_1")
    assert not other.duplicate


# Checks


@pytest.mark.parametrize(
    ("member", "value", "loc"),
    [
        ("collection", "nothing", ["collection"]),
        ("collection", "a/b", ["collection"]),
        ("collection", 1, ["collection"]),
        ("entity", "", ["entity"]),
        ("entity", "x" * 501, ["entity"]),
        ("type", None, ["type"]),
        ("key", "steps", ["key"]),
        ("text", "nul \0", ["text"]),
        ("text", "\ud800", ["text"]),
        ("text", "ü" * 32_769, ["text"]),
        ("content", [], ["content"]),
        ("content", {"colour": "red"}, ["content"]),
        ("content", {"score": "high"}, ["content", "score"]),
        ("content", {"score": True}, ["content", "score"]),
        ("content", {"label": "x" * 251}, ["content", "label"]),
        ("content", {"extra": {"shown": 1}}, ["content", "extra", "shown"]),
        ("content", {"score": float("nan")}, ["content"]),
        ("content", {"extra": {"x": "\0"}}, ["content"]),
        ("derived_from", ["rec_1"] * 2, ["derived_from"]),
        ("derived_from", [f"rec_{number}" for number in range(257)], ["derived_from"]),
        ("dedupe_key", "", ["dedupe_key"]),
        ("dedupe_key", "x" * 257, ["dedupe_key"]),
        ("salt", "x", ["salt"]),
        ("seq", 1, ["seq"]),
    ],
)
def test_what_is_wrong_is_told_where_it_stands(
    cast: Cast, member: str, value: Any, loc: list[str]
) -> None:
    told = refused(cast.ana, [event(), event(**{member: value})])
    assert told.code == "request_schema"
    assert told.errors[0]["loc"] == ["records", 1, *loc]


def test_deep_content_is_refused(cast: Cast) -> None:
    deep: Any = {}
    for _ in range(40):
        deep = {"x": deep}
    refused(cast.ana, [event(content={"extra": deep})])


def test_a_keyed_collection_needs_a_key(cast: Cast) -> None:
    told = refused(cast.ana, [keyed(key=None)])
    assert told.errors[0]["loc"] == ["records", 0, "key"]


@pytest.mark.parametrize("count", [0, 101])
def test_so_many_at_once(cast: Cast, count: int) -> None:
    told = refused(cast.ana, [event()] * count)
    assert "ingest_records" in told.message


@pytest.mark.parametrize("role", ["viewer", "editor"])
def test_an_editor_ingests(cast: Cast, role: str) -> None:
    door = open_workspace(cast.ana.id, actor=ANA, access=Access(actor=ANA, role=role))
    if role == "editor":
        assert ingest(door, [event(), keyed()])
    else:
        with pytest.raises(Forbidden):
            ingest(door, [event()])


def test_evaluators_do_not_ingest(cast: Cast) -> None:
    judge = core.EvaluatorActor(name="judge", version="1")
    door = open_workspace(cast.ana.id, actor=judge, access=Access(actor=judge, role="admin"))
    with pytest.raises(Forbidden):
        ingest(door, [event()])


# Inside a transaction of somebody else's


def test_inside_a_transaction_it_comes_and_goes_with_it(cast: Cast) -> None:
    with cast.ana.transaction() as tx:
        tx.commit(core.CreateThread(title="t"))
        [taken] = ingest_in(tx, [event()], namespace="x")
    assert taken.record_id
    assert (taken.seq, taken.pk) == (1, Record.objects.get().pk)
    before = contents()

    def fails() -> None:
        with cast.ana.transaction() as tx:
            ingest_in(tx, [event()], namespace="x")
            tx.commit(core.PostMessage(thread_id="thr_none", content="x"))

    with pytest.raises(NotFound):
        fails()
    assert contents() == before


def test_a_keyed_record_without_an_artifact(cast: Cast) -> None:
    """How copies are kept: the newest is current, and the log never sees them."""
    copy = {"collection": "copies", "entity": "agent:ada", "key": "prompt", "type": "copy"}
    for text in ("first", "second"):
        with cast.ana.transaction() as tx:
            ingest_in(tx, [{**copy, "text": text}], namespace="x", as_records=True)
    [head] = heads(cast.ana.pk, "agent:ada", ["copies"])
    assert (head.text, head.artifact_id, head.run_id, head.version) == ("second", None, None, None)
    assert cast.ana.head_seq() == 0
    assert [each.text for each in Record.objects.order_by("seq")] == ["first", "second"]


# The database


def test_statements_do_not_grow_with_the_batch(
    cast: Cast, django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    """Many rows go in one statement; here the driver's statements are counted by their texts."""
    counts = []
    for size in (1, 100):
        with cast.ana.transaction() as tx:
            seen: list[str] = []
            execute = tx.execute

            def counted(sql: str, params: Any = (), run: Any = execute, to: Any = seen) -> Any:
                to.append(sql)
                return run(sql, params)

            tx.execute = counted  # type: ignore[method-assign]
            ingest_in(tx, [event(text=new_id("x")) for _ in range(size)], namespace="x")
        counts.append(len(seen))
    assert counts[0] < 12
    assert counts[1] <= counts[0] + 8


def test_a_number_cannot_be_taken_back(cast: Cast) -> None:
    ingest(cast.ana, [event(), event()])
    with pytest.raises(IntegrityError, match="artifactr: seq"), transaction.atomic():
        RecordHead.objects.update(seq=1)


def test_a_conflict_names_its_place(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who goes round the lock is met like everywhere else."""
    from learning.store import ingest as store

    monkeypatch.setattr(store._Puts, "_versions", lambda self, ids: {})
    ingest(cast.ana, [keyed()])
    told = refused(cast.ana, [event(), keyed(text="x")], VersionConflict)
    assert told.index == 1


def test_a_field_that_is_not_declared_for_queries_has_no_row(cast: Cast) -> None:
    ingest(cast.ana, [event(content={"score": 1, "extra": {"shown": "x"}})])
    assert list(RecordField.objects.values_list("name", "number", "text")) == [("score", 1.0, None)]


def test_catalogs_are_read_anew_for_each_batch(cast: Cast) -> None:
    ingest(cast.ana, [event(content={"score": 1})])
    later = catalog()
    later["package"].update(version=2)
    later["package"]["collections"][1] = "outcomes@2"
    later["collections"][1].update(version=2)
    later["collections"][1]["schema"]["properties"]["score"] = {"type": "number", "maximum": 0.5}
    apply(cast.ana, later)
    refused(cast.ana, [event(content={"score": 1})])
    ingest(cast.ana, [event(content={"score": 0.5})])
    versions = Record.objects.order_by("seq").values_list("collection_version", flat=True)
    assert list(versions) == [1, 2]

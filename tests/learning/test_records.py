"""Reading records: pages, declared fields, search; each at a fixed price."""

from __future__ import annotations

from typing import Any

import pytest

from artifacts import core
from artifacts.access import Access
from artifacts.core import Forbidden, Hidden, NotFound
from artifacts.workspace import Workspace, open_workspace
from learning.core.errors import RequestSchema
from learning.selectors.records import RecordQuery, find_record, list_records
from learning.selectors.search import search_records
from learning.services.records import ingest, record, records, search
from tests.learning.catalogs import apply
from tests.support.asked import asked
from tests.support.cast import VERA, Cast, make_cast

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    cast = make_cast()
    apply(cast.ana)
    apply(cast.otto)
    return cast


def outcome(text: str = "t", **members: Any) -> dict[str, Any]:
    return {"collection": "outcomes", "entity": "agent:ada", "type": "outcome", "text": text,
            **members}  # fmt: skip


def skill(key: str, text: str, **members: Any) -> dict[str, Any]:
    return {"collection": "skills", "entity": "agent:ada", "key": key, "text": text, **members}


def texts(workspace: Workspace, **query: Any) -> list[str]:
    return [each.text for each in records(workspace, RecordQuery(**query))]


def scored(workspace: Workspace) -> None:
    scores = [0.5, 0.1, 0.9, 0.5, None]
    ingest(
        workspace,
        [
            outcome(f"{place}:{score}", content={} if score is None else {"score": score})
            for place, score in enumerate(scores)
        ],
    )


def test_narrowing(cast: Cast) -> None:
    ingest(
        cast.ana,
        [
            outcome("one"),
            outcome("two", type="other"),
            outcome("three", entity="agent:bob"),
            {"collection": "notes", "entity": "agent:ada", "type": "outcome", "text": "four"},
            skill("steps", "five"),
        ],
    )
    assert texts(cast.ana) == ["one", "two", "three", "four", "five"]
    assert texts(cast.ana, sort="-seq") == ["five", "four", "three", "two", "one"]
    assert texts(cast.ana, collection=("notes", "skills")) == ["four", "five"]
    assert texts(cast.ana, entity="agent:bob") == ["three"]
    assert texts(cast.ana, type=("other",)) == ["two"]
    assert texts(cast.ana, key="steps") == ["five"]
    assert texts(cast.ana, collection=("nothing",)) == []


def test_current_ones_or_all(cast: Cast) -> None:
    ingest(cast.ana, [skill("steps", "old"), skill("pitfalls", "gone")])
    ingest(cast.ana, [skill("steps", "new")])
    id = core.address_id("skills", "agent:ada", "pitfalls")
    cast.ana.commit(core.ArchiveArtifact(artifact_id=id, base_version=1))
    assert texts(cast.ana) == ["new"]
    assert texts(cast.ana, status="all") == ["old", "gone", "new", "gone"]
    last = records(cast.ana, RecordQuery(status="all"))[-1]
    assert (last.archived, last.current, last.version) == (True, False, 2)


def test_pages_hold_everything_once(cast: Cast) -> None:
    ingest(cast.ana, [outcome(str(number)) for number in range(25)])
    seen: list[str] = []
    after = None
    while page := records(cast.ana, after=after, limit=7):
        seen += [each.text for each in page]
        after = page[-1].id
    assert seen == [str(number) for number in range(25)]
    with pytest.raises(RequestSchema):
        records(cast.ana, after="rec_none")


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("score", ["1:0.1", "0:0.5", "3:0.5", "2:0.9"]),
        ("-score", ["2:0.9", "3:0.5", "0:0.5", "1:0.1"]),
    ],
)
def test_sorted_by_a_field_page_by_page(cast: Cast, sort: str, expected: list[str]) -> None:
    scored(cast.ana)
    scored(cast.otto)
    query = RecordQuery(collection=("outcomes",), sort=sort)
    assert [each.text for each in records(cast.ana, query)] == expected
    seen: list[str] = []
    after = None
    while page := records(cast.ana, query, after=after, limit=1):
        seen += [each.text for each in page]
        after = page[-1].id
    assert seen == expected


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (("score=0.5",), ["0:0.5", "3:0.5"]),
        (("score<0.5",), ["1:0.1"]),
        (("score>=0.5",), ["0:0.5", "2:0.9", "3:0.5"]),
        (("score>0.1", "score<=0.5"), ["0:0.5", "3:0.5"]),
        (("label=x",), []),
    ],
)
def test_conditions_on_declared_fields(
    cast: Cast, where: tuple[str, ...], expected: list[str]
) -> None:
    scored(cast.ana)
    assert texts(cast.ana, collection=("outcomes",), where=where) == expected


def test_texts_and_booleans_are_compared_too(cast: Cast) -> None:
    ingest(
        cast.ana,
        [
            outcome("a", content={"label": "a=b", "final": True}),
            outcome("b", content={"label": "A=B", "final": False}),
        ],
    )
    one = {"collection": ("outcomes",)}
    assert texts(cast.ana, where=("label=a=b",), **one) == ["a"]
    assert texts(cast.ana, where=("final=false",), **one) == ["b"]
    assert texts(cast.ana, where=("final=true", "label=A=B"), **one) == []


@pytest.mark.parametrize(
    "query",
    [
        {"where": ("score=1",)},
        {"where": ("score=1",), "collection": ("outcomes", "notes")},
        {"where": ("score=1",), "collection": ("nothing",)},
        {"where": ("nothing=1",), "collection": ("outcomes",)},
        {"where": ("shown=1",), "collection": ("outcomes",)},
        {"where": ("score",), "collection": ("outcomes",)},
        {"where": ("score=high",), "collection": ("outcomes",)},
        {"where": ("score=nan",), "collection": ("outcomes",)},
        {"where": ("final=yes",), "collection": ("outcomes",)},
        {"where": ("label>x",), "collection": ("outcomes",)},
        {"where": ("label=\0",), "collection": ("outcomes",)},
        {"where": ("score=1",) * 11, "collection": ("outcomes",)},
        {"sort": "nothing", "collection": ("outcomes",)},
        {"sort": "final", "collection": ("outcomes",)},
        {"sort": "score"},
        {"sort": "text"},
        {"sort": "workspace_id"},
    ],
)
def test_only_what_is_declared_may_be_asked(cast: Cast, query: dict[str, Any]) -> None:
    ingest(cast.ana, [outcome()])
    with pytest.raises(RequestSchema):
        records(cast.ana, RecordQuery(**query))
    if "where" in query:
        with pytest.raises(RequestSchema):
            search(cast.ana, "t", RecordQuery(**query))


def found(workspace: Workspace, words: str, **query: Any) -> list[str]:
    return [each.text for each in search(workspace, words, RecordQuery(**query))]


def test_search_finds_records_that_hold_every_word(cast: Cast) -> None:
    ingest(
        cast.ana,
        [
            outcome("The refund was late"),
            outcome("A refund, refund, refund!", entity="agent:bob"),
            outcome("Nothing of the kind"),
        ],
    )
    ingest(cast.otto, [outcome("Their refund")])
    assert set(found(cast.ana, "refund")) == {"The refund was late", "A refund, refund, refund!"}
    assert found(cast.ana, "REFUND late") == ["The refund was late"]
    assert found(cast.ana, "refund", entity="agent:bob") == ["A refund, refund, refund!"]
    assert found(cast.ana, "refund nothing") == []
    assert len(search(cast.ana, "refund", limit=1)) == 1


@pytest.mark.parametrize(
    "words",
    ["", "  ", '"', "' OR 1=1 --", "refund*", "NEAR(a b)", "text:refund", "-refund", "(", "%s"],
)
def test_a_query_is_words_and_no_language(cast: Cast, words: str) -> None:
    ingest(cast.ana, [outcome("refund")])
    assert set(found(cast.ana, words)) <= {"refund"}


def test_search_speaks_every_tongue(cast: Cast) -> None:
    ingest(cast.ana, [outcome("Die Rückzahlung kam spät"), outcome("возврат средств")])
    assert found(cast.ana, "rückzahlung") == ["Die Rückzahlung kam spät"]
    assert found(cast.ana, "Возврат") == ["возврат средств"]
    assert found(cast.ana, "Ruckzahlung") == []


def test_search_sees_what_is_in_force(cast: Cast) -> None:
    ingest(cast.ana, [skill("steps", "ask the customer")])
    assert found(cast.ana, "customer") == ["ask the customer"]
    ingest(cast.ana, [skill("steps", "ask the manager")])
    assert found(cast.ana, "customer") == []
    assert found(cast.ana, "manager") == ["ask the manager"]
    id = core.address_id("skills", "agent:ada", "steps")
    cast.ana.commit(core.ArchiveArtifact(artifact_id=id, base_version=2))
    assert found(cast.ana, "manager") == []
    cast.ana.commit(core.RevertArtifact(artifact_id=id, base_version=3, to_version=1))
    assert found(cast.ana, "customer") == ["ask the customer"]


def test_a_long_value_is_found_by_its_beginning(cast: Cast) -> None:
    many = " ".join(f"w{number}" for number in range(60_000))
    ingest(cast.ana, [outcome("x")])
    cast.ana.commit(
        core.PutArtifact(  # type: ignore[call-arg]
            address=core.Address(collection="skills", entity="e", key="long"),
            kind="maintained_value", data={"text": f"needle {many}", "content": {}},
            base_version=0,
        )
    )  # fmt: skip
    assert len(found(cast.ana, "needle")) == 1


def test_foreign_records_are_unknown(cast: Cast) -> None:
    [theirs] = ingest(cast.otto, [outcome("theirs")])
    assert theirs.record_id
    for id in (theirs.record_id, "rec_none", "a/b", "\0", "x" * 500):
        with pytest.raises(NotFound) as told:
            record(cast.ana, id)
        assert told.value.message == "there is no record with this id here"
    assert texts(cast.ana) == []


def test_what_is_hidden_is_not_there(cast: Cast) -> None:
    [kept, secret] = ingest(cast.ana, [skill("open", "open words"), skill("shut", "shut words")])
    [citing] = ingest(cast.ana, [outcome("cites", derived_from=[kept.record_id, secret.record_id])])
    hidden = Hidden(artifacts=frozenset({core.address_id("skills", "agent:ada", "shut")}))
    assert kept.record_id
    assert secret.record_id
    assert citing.record_id
    with pytest.raises(NotFound):
        find_record(cast.ana.pk, secret.record_id, hidden)
    listed = list_records(cast.ana.pk, RecordQuery(), hidden, after=None, limit=10)
    assert [each.text for each in listed] == ["open words", "cites"]
    assert listed[1].derived_from == (kept.record_id,)
    matched = search_records(cast.ana.pk, "words", RecordQuery(), hidden, limit=10)
    assert [each.text for each in matched] == ["open words"]


def test_a_viewer_reads(cast: Cast) -> None:
    [taken] = ingest(cast.ana, [outcome()])
    assert taken.record_id
    door = open_workspace(cast.ana.id, actor=VERA, access=Access(actor=VERA, role="viewer"))
    assert record(door, taken.record_id).text == "t"
    assert len(records(door)) == len(search(door, "t")) == 1
    nobody = open_workspace(cast.ana.id, actor=VERA, access=Access(actor=VERA, role=None))
    for read in (records, lambda w: search(w, "t"), lambda w: record(w, "rec_1")):
        with pytest.raises(Forbidden):
            read(nobody)


@pytest.mark.parametrize("size", [1, 50])
def test_reads_cost_the_same_at_any_size(cast: Cast, size: int) -> None:
    [source] = ingest(cast.ana, [skill("steps", "word")])
    ingest(
        cast.ana,
        [
            outcome(f"word {number}", content={"score": number}, derived_from=[source.record_id])
            for number in range(size)
        ],
    )
    one = RecordQuery(collection=("outcomes",), where=("score>=0",), sort="-score")
    with asked() as found:
        assert len(records(cast.ana, one)) == size
    assert len(found) == 5
    with asked() as found:
        assert len(records(cast.ana)) == size + 1
    assert len(found) == 3
    with asked() as found:
        assert len(search(cast.ana, "word", limit=100)) == size + 1
    assert len(found) == 3
    with asked() as found:
        assert source.record_id
        record(cast.ana, source.record_id)
    assert len(found) == 3

"""The order of lists and of search, on thousands of records: one order, the same on both databases
where it does not depend on how a server ranks words."""

from __future__ import annotations

import random
from typing import Any

import pytest
from django.db import connection

from artifacts.workspace import Workspace
from learning.selectors.records import RecordInfo, RecordQuery
from learning.services.records import ingest, records, search
from tests.learning.catalogs import apply
from tests.support.cast import make_cast

pytestmark = pytest.mark.django_db
SIZE, BATCH = 3_000, 100
# Servers that sort by a language put these elsewhere.
LABELS = ("a", "B", "b", "Z", "ä", "Ä", "z z", "z-z", "_", "é", "e", "ß", "1", "10", "9", "я", "𠀀")
WORDS = ("refund", "order", "late", "paid", "twice")


@pytest.fixture
def sent(workspace: Workspace) -> list[dict[str, Any]]:
    """What was ingested, in its order."""
    chance = random.Random(17)
    made = [
        {
            "collection": "outcomes",
            "entity": f"agent:{number % 7}",
            "type": "failure",
            "text": " ".join(chance.choices(WORDS, k=chance.randint(1, 6))),
            "content": {"label": chance.choice(LABELS), "score": chance.randint(0, 9) / 10},
        }
        for number in range(SIZE)
    ]
    for start in range(0, SIZE, BATCH):
        ingest(workspace, made[start : start + BATCH])
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # as a server does by itself before long
    return made


@pytest.fixture
def workspace() -> Workspace:
    cast = make_cast()
    apply(cast.ana)
    apply(cast.otto)
    # Others' records are in the same tables.
    note = {"collection": "notes", "entity": "e", "type": "note", "text": "refund refund refund"}
    ingest(cast.otto, [note] * 50)
    return cast.ana


def paged(workspace: Workspace, query: RecordQuery) -> list[RecordInfo]:
    """All pages of a list."""
    found: list[RecordInfo] = []
    while page := records(workspace, query, after=found[-1].id if found else None, limit=170):
        found += page
    return found


@pytest.mark.parametrize("down", [False, True])
@pytest.mark.parametrize("field", ["label", "score"])
def test_a_list_by_a_field_goes_by_code_point_or_number_and_then_by_seq(
    workspace: Workspace, sent: list[dict[str, Any]], field: str, down: bool
) -> None:
    query = RecordQuery(collection=("outcomes",), sort=f"-{field}" if down else field)
    expected = sorted(
        ((each["content"][field], seq) for seq, each in enumerate(sent, 1)), reverse=down
    )
    assert [(each.content[field], each.seq) for each in paged(workspace, query)] == expected


def test_a_narrowed_list_keeps_the_order(workspace: Workspace, sent: list[dict[str, Any]]) -> None:
    query = RecordQuery(
        collection=("outcomes",), entity="agent:3", where=("score>=0.5",), sort="-label"
    )
    expected = sorted(
        (
            (each["content"]["label"], seq)
            for seq, each in enumerate(sent, 1)
            if each["entity"] == "agent:3" and each["content"]["score"] >= 0.5
        ),
        reverse=True,
    )
    assert [(each.content["label"], each.seq) for each in paged(workspace, query)] == expected


@pytest.mark.parametrize("words", ["refund", "refund late", "TWICE paid order"])
def test_search_finds_the_same_set_and_gives_one_order(
    workspace: Workspace, sent: list[dict[str, Any]], words: str
) -> None:
    asked = set(words.lower().split())
    expected = {seq for seq, each in enumerate(sent, 1) if asked <= set(each["text"].split())}
    everything = search(workspace, words, limit=SIZE)
    assert {each.seq for each in everything} == expected
    order = [each.seq for each in everything]
    for limit in (1, 20, 100, 500):
        assert [each.seq for each in search(workspace, words, limit=limit)] == order[:limit]
    alike: dict[str, list[int]] = {}
    for each in everything:
        alike.setdefault(each.text, []).append(each.seq)
    for seqs in alike.values():
        assert seqs == sorted(seqs, reverse=True)


def test_of_equal_matches_the_newest_come_first_on_both_databases(workspace: Workspace) -> None:
    note = {"collection": "notes", "entity": "e", "type": "note", "text": "the very same words"}
    for _ in range(20):
        ingest(workspace, [note] * BATCH)
    found = search(workspace, "same words", limit=500)
    assert [each.seq for each in found] == list(range(2_000, 1_500, -1))


def test_what_says_a_word_more_often_comes_first(workspace: Workspace) -> None:
    texts = ["refund once among many other words", "refund refund refund refund", "nothing"]
    note = {"collection": "notes", "entity": "e", "type": "note"}
    ingest(workspace, [{**note, "text": text} for text in texts])
    assert [each.text for each in search(workspace, "refund")] == [texts[1], texts[0]]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Write to ada@example.com today", "ada"),
        ("Write to ada@example.com today", "ada@example.com"),
        ("See https://example.com/orders/17?a=b for more", "orders"),
        ("See https://example.com/orders/17?a=b for more", "https://example.com/orders"),
        ("The file refund-policy_v2.final.md is old", "policy"),
        ("The file refund-policy_v2.final.md is old", "final"),
        ("The file refund-policy_v2.final.md is old", "refund_policy"),
        ("It costs -17.50 or 1e5 in all", "17"),
        ("It costs -17.50 or 1e5 in all", "-17.50"),
        ("signal_kind=thumbs_down", "thumbs"),
        ("<b>bold</b> &amp; more", "bold"),
        ("don't", "don't"),
        ("/var/log/agents", "log"),
        ("İstanbul", "İstanbul"),
        ("A\u0301 B", "b"),
        ("\u65e5\u672c\u8a9e \U00020000", "\U00020000"),
    ],
)
def test_words_are_split_alike_on_both_databases(
    workspace: Workspace, text: str, words: str
) -> None:
    note = {"collection": "notes", "entity": "e", "type": "note"}
    [taken, _] = ingest(workspace, [{**note, "text": text}, {**note, "text": "nothing else"}])
    assert [each.id for each in search(workspace, words)] == [taken.record_id]


@pytest.mark.parametrize("word", ["x" * 1_000, "\U00020000" * 1_000, "a " * 500, "_" * 1_000, "½"])
def test_odd_queries_find_what_they_find_and_break_nothing(workspace: Workspace, word: str) -> None:
    note = {"collection": "notes", "entity": "e", "type": "note", "text": "refund"}
    ingest(workspace, [note, {**note, "text": word}])
    assert len(search(workspace, word)) <= 1


def test_a_text_of_many_different_words_is_kept_and_found(workspace: Workspace) -> None:
    """As many as a text within its limit can have, each of the longest letters."""
    words = [chr(0x20000 + number) for number in range(13_000)]
    note = {"collection": "notes", "entity": "e", "type": "note", "text": " ".join(words)}
    ingest(workspace, [note])
    assert len(search(workspace, words[0])) == 1
    assert len(search(workspace, words[-1])) == 1

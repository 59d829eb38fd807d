"""A signal that was erased: every place that lists or shows it says so, and none breaks."""

from __future__ import annotations

import json
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from django.urls import reverse

from artifacts.store.erasure import erasure
from artifacts.workspace import Workspace
from feedback.local import Local
from learning.models import LearningSignal, Record
from learning.store.search import forget_texts
from tests.feedback.desks import make_skilled_desk
from tests.feedback.test_signals_admin import LIST, USES, page_of
from tests.support.desk import Desk
from tests.support.skilled import RECIPE, TASK

pytestmark = pytest.mark.django_db(transaction=True)
CANARY = "canary-17"
ROUTE = {"collection": "outcomes", "type": "x", "entity": "agent:ada", "content": "{}"}


class Erased:
    """One erased signal beside one that stands, both on one use with a snapshot."""

    def __init__(self, desk: Desk, empty: str) -> None:
        self.desk = desk
        here = Local(desk.door("ben"))
        self.use = here.artifact(RECIPE).bind(TASK, snapshot=True)
        said = here.feedback.for_use(self.use.id)
        kept = said.thumbs_up(comment="It stands.", label="fine")
        gone = said.thumbs_down(comment=CANARY, label=CANARY, score=0.25, dedupe_key="once")
        self.kept, self.gone = kept["record_id"], gone["record_id"]
        erase(desk.door("ben"), self.gone, empty)


def erase(workspace: Workspace, record_id: str, empty: str) -> None:
    """What an erasure leaves: seq, ids and digest, and nothing that search or a query knows."""
    row = Record.objects.get(public_id=record_id)
    with workspace.transaction() as tx, erasure():
        forget_texts(tx, [row.pk])
        row.fields.all().delete()
        Record.objects.filter(pk=row.pk).update(text="", content=empty, salt=b"")


@pytest.fixture(params=["", "{}"])
def erased(request: pytest.FixtureRequest) -> Erased:
    return Erased(make_skilled_desk(), request.param)


def body(erased: Erased, path: str) -> Any:
    place = f"/api/v1/workspaces/{erased.desk.row.public_id}/"
    answer = erased.desk.client("ana").get(place + path)
    assert answer.status_code == 200, answer.content
    assert CANARY not in answer.content.decode()
    return json.loads(answer.content)


def shown(erased: Erased, url: str) -> str:
    answer = erased.desk.client("ana").get(url)
    assert answer.status_code == 200
    text = unescape(answer.content.decode())
    assert CANARY not in text
    return text


def test_its_page_says_so_and_offers_no_evidence(erased: Erased) -> None:
    text = shown(erased, page_of(erased.gone))
    assert "What this signal said was erased." in text
    assert "Route into evidence" not in text
    route = reverse(
        "admin:artifactr_signal_route",
        args=[LearningSignal.objects.get(public_id=erased.gone).pk],
    )
    answer = erased.desk.client("ana").post(route, ROUTE)
    assert answer.status_code == 409
    assert "erased" in answer.content.decode()
    assert not Record.objects.filter(collection="outcomes").exists()


@pytest.mark.parametrize(
    "query",
    ["", "?kind=thumbs_down", "?score=none", "?label=fine", "?source=end_user", "?score=low"],
)
def test_the_list_and_its_chart_hold_it(erased: Erased, query: str) -> None:
    text = shown(erased, reverse(LIST) + query)
    has_it = query in ("", "?kind=thumbs_down", "?score=none")
    assert (page_of(erased.gone) in text) == has_it
    assert ("not known any more" in text) == has_it


def test_the_chart_counts_it_as_what_it_was(erased: Erased) -> None:
    answer = erased.desk.client("ana").get(reverse(LIST))
    chart = answer.context["chart"]
    assert chart.total == 2
    assert "1 thumbs down" in chart.bars[-1].label


def test_the_use_still_lists_it(erased: Erased) -> None:
    page = reverse("admin:artifactr_use_by_id", args=[erased.desk.row.public_id, erased.use.id])
    answer = erased.desk.client("ana").get(page, follow=True)
    text = unescape(answer.content.decode())
    assert answer.status_code == 200
    assert CANARY not in text
    assert "what was said was erased" in text
    assert "thumbs_down" in text
    assert shown(erased, reverse(USES))


def test_its_record_says_so_in_the_list_and_on_its_page(erased: Erased) -> None:
    row = Record.objects.get(public_id=erased.gone)
    page = reverse("admin:artifactr_learning_record_change", args=[row.pk])
    assert "What this record said was erased." in shown(erased, page)
    text = shown(erased, reverse("admin:artifactr_learning_record_changelist"))
    assert "erased<span" in text


READS: dict[str, Callable[[Erased], str]] = {
    "record": lambda e: f"records/{e.gone}/",
    "records": lambda e: "records/?collection=learning_signals",
    "signals of the use": lambda e: f"artifact-uses/{e.use.id}/signals/",
}


@pytest.mark.parametrize("name", READS)
def test_rest_says_so(erased: Erased, name: str) -> None:
    found = body(erased, READS[name](erased))
    rows = found.get("results", [found])
    [row] = [each for each in rows if each["id"] == erased.gone]
    assert row["erased"] is True
    assert row["text"] == ""
    assert row["content"] == {}
    assert row["type"] == "thumbs_down"
    assert row["derived_from"] == [erased.use.snapshot_id]
    for other in rows:
        assert ("erased" in other) == (other["id"] == erased.gone)


def test_queries_by_what_it_said_no_longer_find_it(erased: Erased) -> None:
    path = "records/?collection=learning_signals&where=signal_score%3D0.25"
    assert body(erased, path)["results"] == []
    assert body(erased, "records/search/?q=canary")["results"] == []


def test_the_same_again_says_that_it_was_erased(erased: Erased) -> None:
    said = Local(erased.desk.door("ben")).feedback.for_use(erased.use.id)
    again = said.thumbs_down(comment=CANARY, label=CANARY, score=0.25, dedupe_key="once")
    assert again == {"record_id": erased.gone, "duplicate": True, "erased": True}

"""Many signals made evidence at once: one answer, a line for each that could not be written."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from django.urls import reverse

from artifacts.models import Membership
from artifacts.store.erasure import erasure
from feedback.admin import bulk
from feedback.local import Local
from learning.models import LearningSignal, Record, RecordLink
from tests.feedback.desks import judged, make_skilled_desk
from tests.feedback.test_signals_admin import LIST, evidence
from tests.support.desk import Desk, fields_of
from tests.support.skilled import ADA

pytestmark = pytest.mark.django_db(transaction=True)
ACTION = {"action": "route_selected", "select_across": "0"}
ROUTE = {"collection": "outcomes", "type": "", "entity": "", "content": '{"kind": "failure"}'}


@pytest.fixture
def desk() -> Desk:
    return make_skilled_desk()


def keys(ids: list[str]) -> list[str]:
    rows = LearningSignal.objects.filter(public_id__in=ids).order_by("pk")
    return [str(pk) for pk in rows.values_list("pk", flat=True)]


def asked(desk: Desk, ids: list[str], name: str = "ana", **more: str) -> Any:
    sent = {**ACTION, "index": "0", "_selected_action": keys(ids), **more}
    return desk.client(name).post(reverse(LIST), sent)


def routed(desk: Desk, ids: list[str], name: str = "ana", **changed: str) -> Any:
    sent = {**ACTION, "_selected_action": keys(ids), "apply": "1", **ROUTE, **changed}
    return desk.client(name).post(reverse(LIST), sent)


def lines(answer: Any) -> dict[str, str]:
    """What is said of each signal that was not written."""
    return {each.signal_id: each.problem for each in answer.context["failed"]}


def erase(record_id: str) -> None:
    with erasure():
        Record.objects.filter(public_id=record_id).update(text="", content="{}", salt=b"")


def test_the_page_asks_for_all_of_them_and_writes_each(desk: Desk) -> None:
    ben = desk.door("ben")
    ids = [judged(ben), judged(ben, "correction", source="operator", expected="It is pending.")]
    page = asked(desk, ids)
    assert page.status_code == 200
    assert evidence(desk) == []
    filled = {**fields_of(page.content.decode()), "_selected_action": keys(ids), **ROUTE}
    answer = desk.client("ana").post(reverse(LIST), filled)
    assert answer.status_code == 200
    assert "2 of 2 signals are evidence." in unescape(answer.content.decode())
    found = {each.text: each for each in evidence(desk)}
    for signal in LearningSignal.objects.filter(public_id__in=ids):
        made = found[signal.text]
        assert (made.entity, made.type) == (ADA, signal.type)
        assert list(RecordLink.objects.filter(record=made).values_list("source_id", flat=True)) == [
            signal.pk
        ]
        assert desk.actor("ana").id in made.actor
        assert made.public_id in answer.content.decode()


def test_sent_again_they_are_evidence_already(desk: Desk) -> None:
    ids = [judged(desk.door("ben")) for _ in range(2)]
    routed(desk, ids[:1])
    answer = routed(desk, ids)
    assert lines(answer) == {}
    assert [each.is_repeated for each in answer.context["written"]] == [True, False]
    assert answer.content.decode().count("was evidence already") == 1
    assert len(evidence(desk)) == 2


def test_one_line_for_each_that_cannot_be_written(desk: Desk) -> None:
    ben = desk.door("ben")
    fine, erased, taken = judged(ben), judged(ben), judged(ben)
    own = Local(ben).artifact("maintained_skill").bind({"entity": "agent:nobody"})
    homeless = Local(ben).feedback.for_use(own.id).thumbs_up()["record_id"]
    erase(erased)
    routed(desk, [taken], type="other")
    answer = routed(desk, [fine, erased, taken, homeless])
    assert answer.status_code == 200
    assert set(lines(answer)) == {erased, taken, homeless}
    assert "erased" in lines(answer)[erased]
    assert "dedupe key" in lines(answer)[taken]
    assert "subject" in lines(answer)[homeless]
    text = answer.content.decode()
    assert "1 of 4 signals is evidence." in unescape(text)
    for id in (erased, taken, homeless):
        assert len(re.findall(f"<li><a [^>]*>{id}</a>", text)) == 1
    assert len(evidence(desk)) == 2


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"content": "{oops"}, "is not valid JSON"),
        ({"content": '{"a": NaN}'}, "content"),
        ({"collection": "learning_signals"}, "Select a valid choice"),
        ({"collection": "skills"}, "Select a valid choice"),
        ({"type": "a/b"}, "must not contain '/'"),
        ({"entity": "x" * 501}, "at most 500 characters"),
        ({"content": "[" * 5_000}, "content"),
    ],
)
def test_a_form_that_cannot_be_used_writes_nothing(
    desk: Desk, changed: dict[str, str], said: str
) -> None:
    answer = routed(desk, [judged(desk.door("ben"))], **changed)
    assert answer.status_code == 422
    text = unescape(answer.content.decode())
    assert "Nothing was written." in text
    assert said in text
    assert evidence(desk) == []


def test_what_the_collection_refuses_is_said_of_each(desk: Desk) -> None:
    ids = [judged(desk.door("ben")) for _ in range(2)]
    answer = routed(desk, ids, content="{}")
    assert set(lines(answer)) == set(ids)
    assert evidence(desk) == []


def test_more_than_are_done_at_once_are_refused(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "MOST", 1)
    ids = [judged(desk.door("ben")) for _ in range(2)]
    for answer in (asked(desk, ids), routed(desk, ids)):
        assert answer.status_code == 422
        assert "At most 1 signals at once." in answer.content.decode()
    assert evidence(desk) == []


@pytest.mark.parametrize("name", ["ben", "vera", "root"])
def test_who_may_not_route_is_not_offered_it(desk: Desk, name: str) -> None:
    id = judged(desk.door("ben"))
    text = desk.client(name).get(reverse(LIST)).content.decode()
    assert "route_selected" not in text
    routed(desk, [id], name)
    assert evidence(desk) == []
    assert "route_selected" in desk.client("ana").get(reverse(LIST)).content.decode()


def test_a_foreign_signal_is_not_among_them(desk: Desk) -> None:
    foreign = judged(desk.door("otto"), parameters={"entity": "agent:otto"})
    own = judged(desk.door("ben"))
    answer = routed(desk, [own, foreign])
    assert [each.signal_id for each in answer.context["written"]] == [own]
    assert foreign not in answer.content.decode()
    assert not Record.objects.filter(workspace=desk.elsewhere, collection="outcomes").exists()


def test_a_reviewer_here_and_reader_there_writes_here(desk: Desk) -> None:
    Membership.objects.create(workspace=desk.elsewhere, user=desk.users["ana"], role="viewer")
    there = judged(desk.door("otto"), parameters={"entity": "agent:otto"})
    own = judged(desk.door("ben"))
    answer = routed(desk, [own, there])
    assert set(lines(answer)) == {there}
    assert "reviewer" in lines(answer)[there]
    assert len(evidence(desk)) == 1

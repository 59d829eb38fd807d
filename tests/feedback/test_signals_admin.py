"""Signals at the desk: who sees what, how the list is narrowed, and evidence made there."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext, override_settings
from django.urls import reverse

from artifacts import clock, core
from artifacts.access import forget_hidden
from artifacts.core import Hidden
from artifacts.models import Artifact
from feedback.admin import chart
from feedback.local import Local
from feedback.models import ArtifactUse
from feedback.services import expiry
from learning.models import LearningSignal, Record
from tests.feedback.desks import judged, make_skilled_desk, text_of
from tests.support.desk import Desk
from tests.support.skilled import ADA, RECIPE, TASK, put_skill

pytestmark = pytest.mark.django_db

SCRIPT = "<script>alert(1)</script>"
LIST = "admin:artifactr_learning_learningsignal_changelist"
USES = "admin:artifactr_feedback_artifactuse_changelist"
ROUTE = {
    "collection": "outcomes",
    "type": "exception",
    "entity": ADA,
    "content": '{"kind": "failure"}',
}


@pytest.fixture
def desk() -> Desk:
    return make_skilled_desk()


def page_of(signal_id: str) -> str:
    row = LearningSignal.objects.get(public_id=signal_id)
    return reverse("admin:artifactr_learning_learningsignal_change", args=[row.pk])


def route_of(signal_id: str) -> str:
    row = LearningSignal.objects.get(public_id=signal_id)
    return reverse("admin:artifactr_signal_route", args=[row.pk])


def listed(desk: Desk, query: str = "", name: str = "ana") -> set[str]:
    """The signals that a list shows."""
    answer = desk.client(name).get(reverse(LIST) + query, follow=True)
    assert answer.status_code == 200
    return {row.public_id for row in answer.context["cl"].result_list}


def evidence(desk: Desk) -> list[Record]:
    return list(Record.objects.filter(workspace=desk.row, collection="outcomes"))


# The list


def test_a_list_is_narrowed_by_what_a_signal_says(desk: Desk) -> None:
    ben = desk.door("ben")
    down = judged(ben, label="incorrect_status", comment="It said paid.")
    low = judged(ben, "evaluation", source="evaluator", score=0.2, label="tone")
    high = judged(ben, "evaluation", source="evaluator", score=1)
    maintained = Local(ben).artifact("maintained_skill").bind({"entity": ADA})
    own = Local(ben).feedback.for_use(maintained.id).thumbs_up()["record_id"]

    assert listed(desk) == {down, low, high, own}
    assert listed(desk, "?kind=evaluation") == {low, high}
    assert listed(desk, "?source=end_user") == {down, own}
    assert listed(desk, "?label=tone") == {low}
    assert listed(desk, "?score=low") == {low}
    assert listed(desk, "?score=high") == {high}
    assert listed(desk, "?score=fair") == set()
    assert listed(desk, "?score=none") == {down, own}
    assert listed(desk, "?target=maintained_skill") == {own}
    assert listed(desk, f"?target={RECIPE}&kind=evaluation&score=low&label=tone") == {low}
    assert listed(desk, f"?workspace={desk.row.public_id}") == {down, low, high, own}
    assert listed(desk, f"?q={down}") == {down}
    assert listed(desk, "?q=artifact:maintained_skill") == {down, low, high, own}
    assert listed(desk, f"?q=artifact:{RECIPE}") == set()


def test_the_choices_are_those_of_signals_that_are_seen(desk: Desk) -> None:
    judged(desk.door("ben"), label="ours")
    judged(desk.door("otto"), label="theirs", parameters={"entity": "agent:otto"})
    text = text_of(desk, reverse(LIST))
    assert "?label=ours" in text
    assert "theirs" not in text
    assert "agent:otto" not in text
    assert "?label=theirs" in text_of(desk, reverse(LIST), "otto")
    assert listed(desk, "?label=theirs") == set()


def test_a_row_says_what_happened_and_escapes_it(desk: Desk) -> None:
    judged(desk.door("ben"), label=SCRIPT, comment=f"{SCRIPT} It said paid.", score=0.5)
    answer = desk.client("ana").get(reverse(LIST))
    raw = answer.content.decode()
    assert SCRIPT not in raw
    for told in ("thumbs down", "end user", "It said paid.", ADA, f"{RECIPE}@1", "0.5"):
        assert told in raw


@pytest.mark.parametrize("name", ["ana", "ben", "vera", "mia", "root"])
def test_members_and_superusers_read(desk: Desk, name: str) -> None:
    signal_id = judged(desk.door("ben"))
    assert signal_id in listed(desk, name=name)
    text_of(desk, page_of(signal_id), name)


@pytest.mark.parametrize(("name", "status"), [("otto", 404), ("nora", 403)])
def test_a_foreign_signal_is_as_an_unknown_one(desk: Desk, name: str, status: int) -> None:
    signal_id = judged(desk.door("ben"))
    client = desk.client(name)
    assert client.get(page_of(signal_id)).status_code == status
    unknown = re.sub(r"/\d+/", "/999999/", page_of(signal_id))
    assert client.get(unknown).status_code == status
    assert client.post(route_of(signal_id), ROUTE).status_code == status
    assert evidence(desk) == []
    if name == "otto":
        assert signal_id not in listed(desk, name="otto")
        by_id = reverse("admin:artifactr_signal_by_id", args=[desk.row.public_id, signal_id])
        assert client.get(by_id).status_code == 404


def test_a_signal_is_found_by_its_public_id(desk: Desk) -> None:
    signal_id = judged(desk.door("ben"))
    by_id = reverse("admin:artifactr_signal_by_id", args=[desk.row.public_id, signal_id])
    assert desk.client("ana").get(by_id).headers["Location"] == page_of(signal_id)


def counted(desk: Desk, url: str) -> int:
    desk.client("ana").get(url)  # what is asked once per process
    with CaptureQueriesContext(connection) as queries:
        assert desk.client("ana").get(url).status_code == 200
    return len(queries)


def test_a_page_asks_no_more_for_more(desk: Desk) -> None:
    first = judged(desk.door("ben"), label="one")
    few = [counted(desk, url) for url in (reverse(LIST), reverse(USES), page_of(first))]
    for number in range(12):
        judged(desk.door("ben"), label=f"label {number}", score=0.1)
    use = Local(desk.door("ben"))
    for number in range(12):
        use.feedback.for_use(_use_of(first)).thumbs_up(label=f"again {number}")
    many = [counted(desk, url) for url in (reverse(LIST), reverse(USES), page_of(first))]
    assert many == few
    assert max(many) < 25


def _use_of(signal_id: str) -> str:
    row = LearningSignal.objects.get(public_id=signal_id)
    found = re.search("use_[0-9a-f]{32}", row.content)
    assert found is not None
    return found[0]


# The chart


def test_the_chart_tells_the_days_of_the_list(desk: Desk) -> None:
    ben = desk.door("ben")
    came = {0: ["thumbs_up"], 28: ["thumbs_up", "thumbs_down"], 31: ["exception"]}
    for day, kinds in came.items():
        with clock.moved(timedelta(days=day)):
            for kind in kinds:
                judged(ben, kind)
    with clock.moved(timedelta(days=31)):
        answer = desk.client("ana").get(reverse(LIST))
        narrowed = desk.client("ana").get(reverse(LIST) + "?kind=exception").context["chart"]
    shown = answer.context["chart"]
    assert (shown.total, shown.most, len(shown.bars)) == (3, 2, 30)
    assert [bar.height for bar in shown.bars if bar.height] == [60, 30]
    assert shown.bars[-4].label.endswith(": 2 (1 thumbs down, 1 thumbs up)")
    assert shown.bars[-1].label.endswith(": 1 (1 exception)")
    assert '<rect class="artifactr-bar"' in answer.content.decode()
    assert narrowed.total == 1


def test_the_chart_looks_at_a_bounded_number(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chart, "NEWEST", 2)
    for _ in range(3):
        judged(desk.door("ben"))
    shown = desk.client("ana").get(reverse(LIST)).context["chart"]
    assert (shown.total, shown.is_partial) == (2, True)
    assert "of the newest 2 signals" in shown.summary


def test_without_a_signal_there_is_no_chart(desk: Desk) -> None:
    assert "artifactr-chart" not in desk.client("ana").get(reverse(LIST)).content.decode()


# The page of a signal


def test_a_page_leads_to_the_use_its_values_and_what_changed_since(desk: Desk) -> None:
    ben = desk.door("ben")
    signal_id = judged(ben, comment=f"{SCRIPT} paid?", execution_refs=[
        {"system": "traces", "id": "t-1", "url": "javascript:alert(1)"}])  # fmt: skip
    answer = desk.client("ana").get(page_of(signal_id))
    raw = answer.content.decode()
    assert SCRIPT not in raw
    assert 'href="javascript' not in raw
    assert raw.count("still in force") == 3
    assert "what changed" not in raw
    assert "t-1" in raw

    put_skill(ben, {"steps": "Ask for the order first."})
    raw = desk.client("ana").get(page_of(signal_id)).content.decode()
    assert raw.count("still in force") == 2
    moved = re.search(r'now at version 2</span> <a href="([^"]+)">what changed', raw)
    assert moved is not None
    answer = desk.client("ana").get(unescape(moved[1]), follow=True)
    assert moved[1].endswith("?from=1&amp;to=2")
    assert "Ask for the order first." in answer.content.decode()

    steps = Artifact.objects.get(workspace=desk.row, key="pitfalls")
    ben.commit(core.ArchiveArtifact(artifact_id=steps.public_id, base_version=steps.version))
    assert "archived since" in desk.client("ana").get(page_of(signal_id)).content.decode()


def test_a_page_tells_a_snapshot_and_a_purged_use(desk: Desk) -> None:
    here = Local(desk.door("ben"))
    use = here.artifact(RECIPE).bind(TASK, snapshot=True)
    signal_id = here.feedback.for_use(use.id).thumbs_down()["record_id"]
    text = text_of(desk, page_of(signal_id))
    assert f'">{use.snapshot_id}</a>' in text
    assert reverse("admin:artifactr_use_by_id", args=[desk.row.public_id, use.id]) in text
    with clock.moved(timedelta(days=91)):
        expiry.purge_expired()
    assert not ArtifactUse.objects.exists()
    text = text_of(desk, page_of(signal_id))
    assert "purged since" in text
    assert text.count("still in force") == 3


def hides_steps(actor: Any, workspace: Any) -> Hidden:
    rows = Artifact.objects.filter(key="steps").values_list("public_id", flat=True)
    return Hidden(artifacts=frozenset(rows))


def test_a_hidden_value_is_named_and_not_led_to(desk: Desk) -> None:
    signal_id = judged(desk.door("ben"))
    forget_hidden()
    with override_settings(ARTIFACTR={"HIDDEN": f"{__name__}.hides_steps"}):
        text = text_of(desk, page_of(signal_id))
    forget_hidden()
    assert text.count("still in force") == 2
    assert "not to be seen" in text


# Evidence


def post(desk: Desk, signal_id: str, name: str = "ana", **changed: str) -> Any:
    return desk.client(name).post(route_of(signal_id), {**ROUTE, **changed}, follow=True)


def test_a_reviewer_makes_evidence_of_a_signal(desk: Desk) -> None:
    signal_id = judged(desk.door("ben"), comment="It said paid.")
    form = desk.client("ana").get(page_of(signal_id)).context["form"]
    assert form.initial == {"type": "thumbs_down", "entity": ADA, "content": "{}"}
    offered = dict(form.fields["collection"].choices)
    assert set(offered) == {"main", "outcomes"}
    assert "kind" in offered["outcomes"]

    answer = post(desk, signal_id)
    assert answer.redirect_chain[0] == (page_of(signal_id), 302)
    (found,) = evidence(desk)
    assert (found.entity, found.type) == (ADA, "exception")
    text = unescape(answer.content.decode())
    assert f"is evidence now: {found.public_id}" in text
    assert "Route into evidence" not in text
    assert found.public_id in text_of(desk, page_of(signal_id))
    assert desk.actor("ana").id in found.actor

    again = post(desk, signal_id)
    assert "was evidence already" in again.content.decode()
    assert len(evidence(desk)) == 1


@pytest.mark.parametrize("name", ["ben", "vera", "root"])
def test_who_may_not_route_gets_no_form_and_is_refused(desk: Desk, name: str) -> None:
    signal_id = judged(desk.door("ben"))
    text = text_of(desk, page_of(signal_id), name)
    assert "needs the role of a reviewer" in text
    assert "Route into evidence" not in text
    assert post(desk, signal_id, name).status_code == 403
    assert evidence(desk) == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"content": "{oops"}, "is not valid JSON"),
        ({"content": "[]"}, "Write a JSON object"),
        ({"content": "{}"}, "kind"),
        ({"collection": "skills"}, "Select a valid choice"),
        ({"collection": "no_such"}, "Select a valid choice"),
        ({"entity": ""}, "This field is required"),
        ({"entity": "x" * 501}, "at most 500 characters"),
        ({"type": "a/b"}, "must not contain '/'"),
    ],
)
def test_what_cannot_be_evidence_is_said_at_its_field(
    desk: Desk, changed: dict[str, str], said: str
) -> None:
    signal_id = judged(desk.door("ben"))
    answer = post(desk, signal_id, **changed)
    assert answer.status_code == 422
    text = unescape(answer.content.decode())
    assert "Nothing was written." in text
    assert said in text
    assert evidence(desk) == []
    assert answer.context["form"].data["type"] == changed.get("type", "exception")


def test_other_evidence_of_the_same_signal_is_a_conflict(desk: Desk) -> None:
    signal_id = judged(desk.door("ben"))
    post(desk, signal_id)
    answer = post(desk, signal_id, type="note")
    assert answer.status_code == 409
    assert "Nothing was written." in answer.content.decode()
    assert len(evidence(desk)) == 1


def test_routing_is_posted_and_of_a_known_signal(desk: Desk) -> None:
    signal_id = judged(desk.door("ben"))
    assert desk.client("ana").get(route_of(signal_id)).status_code == 405
    other = Local(desk.door("ben")).records.ingest(
        collection="main", entity=ADA, type="note", text="no signal"
    )
    row = Record.objects.get(public_id=other["record_id"])
    url = reverse("admin:artifactr_signal_route", args=[row.pk])
    assert desk.client("ana").post(url, ROUTE).status_code == 404

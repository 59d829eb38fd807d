"""Typed feedback at the desk: a page to judge one thing, and the list of what was given."""

from __future__ import annotations

from html import unescape
from typing import Any, Literal
from urllib.parse import urlencode

import pytest
from django.urls import reverse

from artifacts import core
from feedback.services import turns
from learning.models import LearningSignal
from tests.support.builders import make_artifact, make_run
from tests.support.desk import THREAD, Desk, make_desk
from tests.support.kinds import Paper
from tests.support.skilled import RECIPE, TASK, make_skilled

pytestmark = pytest.mark.django_db

LIST = "admin:artifactr_feedback_givenfeedback_changelist"
SCRIPT = "<script>alert(1)</script>"


class Review(core.Feedback, targets={"artifact"}):
    """A host's type with fields of every sort."""

    grade: Literal["good", "bad"]
    pages: int = 0
    weight: float | None = None
    tags: list[str] = []


@pytest.fixture
def desk() -> Desk:
    return make_desk()


def give_url(desk: Desk, **target: Any) -> str:
    url = reverse("admin:artifactr_give_feedback", args=[desk.row.public_id])
    return f"{url}?{urlencode(target)}"


def given(desk: Desk) -> list[tuple[core.Actor, core.FeedbackGiven]]:
    return [
        (each.actor, each.event)
        for each in desk.door().read()
        if isinstance(each.event, core.FeedbackGiven)
    ]


def test_a_version_is_judged_by_the_types_that_may(desk: Desk) -> None:
    paper = make_artifact(desk.door(), Paper(text="one"))
    url = give_url(desk, kind="artifact", artifact_id=paper, version=1)
    page = desk.client("vera").get(url)
    assert {"correction", "review", "thumbs"} <= {each.type for each in page.context["forms"]}
    sent = {"feedback_type": "thumbs", "thumbs-up": "false", "thumbs-comment": SCRIPT}
    done = desk.client("vera").post(url, sent, follow=True)
    assert done.redirect_chain[0][0].endswith(f"/{paper}/?version=1")
    assert "Your feedback is seq" in done.content.decode()
    [(actor, event)] = given(desk)
    assert actor == desk.actor("vera")
    assert event.target == core.ArtifactTarget(artifact_id=paper, version=1)
    assert event.value == {"up": False, "comment": SCRIPT}


def test_pages_of_things_lead_there(desk: Desk) -> None:
    paper = make_artifact(desk.door(), Paper(text="one"))
    run_id = make_run(desk.scribe(), THREAD)
    targets: list[tuple[str, str, dict[str, Any]]] = [
        ("artifact", paper, {"kind": "artifact", "artifact_id": paper, "version": 1}),
        ("run", run_id, {"kind": "turn", "run_id": run_id}),
    ]
    for name, id, target in targets:
        page = reverse(f"admin:artifactr_{name}_by_id", args=[desk.row.public_id, id])
        text = unescape(desk.client("ana").get(page, follow=True).content.decode())
        assert give_url(desk, **target) in text
        assert desk.client("ana").get(give_url(desk, **target)).status_code == 200


def test_a_hosts_type_has_a_control_for_each_field(desk: Desk) -> None:
    paper = make_artifact(desk.door(), Paper(text="one"))
    url = give_url(desk, kind="artifact", artifact_id=paper, version=1)
    sent = {
        "feedback_type": "review",
        "review-grade": "good",
        "review-pages": "3",
        "review-weight": "",
        "review-tags": '["clear", "short"]',
    }
    assert desk.client("ana").post(url, sent).status_code == 302
    [(_, event)] = given(desk)
    assert event.value == {"grade": "good", "pages": 3, "weight": None, "tags": ["clear", "short"]}


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"feedback_type": "correction"}, "Field required"),
        ({"feedback_type": "thumbs", "thumbs-up": "perhaps"}, "Select a valid choice"),
        ({"feedback_type": "review", "review-grade": "good", "review-tags": "[oops"}, "valid JSON"),
        ({"feedback_type": "review", "review-grade": "good", "review-tags": "7"}, "valid list"),
        ({"feedback_type": "no_such"}, "cannot be used"),
        ({}, "cannot be used"),
    ],
)
def test_what_a_type_refuses_is_told_at_its_field(
    desk: Desk, sent: dict[str, str], said: str
) -> None:
    paper = make_artifact(desk.door(), Paper(text="one"))
    url = give_url(desk, kind="artifact", artifact_id=paper, version=1)
    answer = desk.client("ana").post(url, sent)
    assert answer.status_code == 422
    text = unescape(answer.content.decode())
    assert "Nothing was given." in text
    assert said in text
    assert given(desk) == []


@pytest.mark.parametrize(
    "target",
    [
        {},
        {"kind": "planet", "id": "mars"},
        {"kind": "artifact", "artifact_id": "art_1"},
        {"kind": "artifact", "artifact_id": "art_1", "version": "x"},
        {"kind": "turn", "run_id": "run_1", "more": "1"},
    ],
)
def test_what_names_no_thing_is_not_found(desk: Desk, target: dict[str, str]) -> None:
    assert desk.client("ana").get(give_url(desk, **target)).status_code == 404


def test_a_thing_that_is_not_there_takes_no_feedback(desk: Desk) -> None:
    url = give_url(desk, kind="turn", run_id="run_unknown")
    answer = desk.client("ana").post(url, {"feedback_type": "thumbs", "thumbs-up": "true"})
    assert answer.status_code == 404
    assert "Nothing was given." in answer.content.decode()


@pytest.mark.parametrize(("name", "status"), [("otto", 404), ("nora", 403), ("root", 403)])
def test_others_give_nothing(desk: Desk, name: str, status: int) -> None:
    paper = make_artifact(desk.door(), Paper(text="one"))
    url = give_url(desk, kind="artifact", artifact_id=paper, version=1)
    sent = {"feedback_type": "thumbs", "thumbs-up": "true"}
    assert desk.client(name).get(url).status_code == status
    assert desk.client(name).post(url, sent).status_code == status
    assert given(desk) == []


def test_the_list_tells_what_was_given_and_by_whom(desk: Desk) -> None:
    paper = make_artifact(desk.door(), Paper(text="one"))
    target = core.ArtifactTarget(artifact_id=paper, version=1)
    evaluator = core.EvaluatorActor(name="tone", version="3")
    verdicts: list[tuple[core.Actor, str, dict[str, Any]]] = [
        (desk.actor("vera"), "thumbs", {"up": True, "comment": SCRIPT}),
        (evaluator, "thumbs", {"up": False}),
        (desk.actor("ben"), "correction", {"expected": "two"}),
    ]
    for actor, type_, value in verdicts:
        command = core.GiveFeedback(feedback_type=type_, target=target, value=value)
        desk.door().as_actor(actor).commit(command)
    desk.door("otto")
    client = desk.client("ana")
    text = client.get(reverse(LIST)).content.decode()
    assert SCRIPT not in text
    for told in ("Vera", "tone", "Ben", "expected: two", f"{paper} version 1"):
        assert told in text
    rows = client.get(reverse(LIST) + "?feedback=thumbs").context["cl"].result_list
    assert len(rows) == 2
    page = client.get(
        reverse("admin:artifactr_feedback_givenfeedback_change", args=[rows[0].pk]), follow=True
    )
    assert "feedback_given" in page.content.decode()
    assert client.get(reverse(LIST) + "?q=evaluator:tone@3").context["cl"].result_count == 1
    assert desk.client("otto").get(reverse(LIST)).context["cl"].result_list == []


def test_feedback_on_a_run_on_a_recipe_reaches_the_signals(desk: Desk) -> None:
    make_skilled(desk.door())
    run_id = make_run(desk.scribe(), THREAD)
    with turns.instructions(desk.scribe(run_id=run_id), run_id, RECIPE, TASK):
        pass
    url = give_url(desk, kind="turn", run_id=run_id)
    sent = {"feedback_type": "correction", "correction-expected": "It is pending."}
    assert desk.client("ana").post(url, sent).status_code == 302
    (signal,) = LearningSignal.objects.filter(workspace=desk.row, type="correction")
    page = reverse("admin:artifactr_learning_learningsignal_change", args=[signal.pk])
    assert "It is pending." in desk.client("ana").get(page).content.decode()

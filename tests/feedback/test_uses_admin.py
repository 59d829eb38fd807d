"""Uses at the desk, and recipes rendered for somebody to look at."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.test.utils import override_settings
from django.urls import reverse

from artifacts import clock
from feedback.local import Local
from feedback.models import ArtifactUse
from learning.models import Definition, Record
from tests.feedback.desks import make_skilled_desk, text_of
from tests.support.desk import Desk
from tests.support.skilled import ADA, RECIPE, SKILL, TASK, put_skill

pytestmark = pytest.mark.django_db

SCRIPT = "<script>alert(1)</script>"
USES = "admin:artifactr_feedback_artifactuse_changelist"


@pytest.fixture
def desk() -> Desk:
    return make_skilled_desk()


def test_uses_are_listed_narrowed_and_shown(desk: Desk) -> None:
    here = Local(desk.door("ben"))
    with clock.moved(-timedelta(days=100)):
        old = here.artifact(RECIPE).bind(TASK)
    new = here.artifact(RECIPE).bind(TASK, snapshot=True)
    other = here.artifact("maintained_skill").bind({"entity": ADA})
    signal_id = here.feedback.for_use(new.id).thumbs_down(comment="no")["record_id"]

    def found(query: str) -> set[str]:
        answer = desk.client("ana").get(reverse(USES) + query, follow=True)
        return {row.public_id for row in answer.context["cl"].result_list}

    assert found("") == {old.id, new.id, other.id}
    assert found("?artifact=maintained_skill") == {other.id}
    assert found("?expired=yes") == {old.id}
    assert found("?expired=no") == {new.id, other.id}
    assert new.learning_target is not None
    head = new.learning_target["heads"][0]["record_id"]
    assert found(f"?q={head}") == {old.id, new.id}
    assert found(f"?q={new.snapshot_id}") == {new.id}
    with override_settings(ARTIFACTR={"USE_RETENTION_DAYS": None}):
        assert found("?expired=yes") == {old.id}  # as it was promised when it was bound

    by_id = reverse("admin:artifactr_use_by_id", args=[desk.row.public_id, new.id])
    url = desk.client("ana").get(by_id).headers["Location"]
    text = text_of(desk, url)
    for told in (new.id, new.render_sha256, new.artifact["definition_hash"], head, signal_id, ADA):
        assert told in text
    assert SKILL["steps"] not in text  # a use has no text to show
    assert desk.client("otto").get(url).status_code == 404
    assert desk.client("nora").get(url).status_code == 403


# Recipes


def preview_url(desk: Desk, name: str = RECIPE) -> str:
    return reverse("admin:artifactr_recipe_preview", args=[desk.row.public_id, name])


def test_a_recipe_is_shown_with_parameters_filled_in(desk: Desk) -> None:
    assert "Say with which parameters" in text_of(desk, preview_url(desk))
    sent = {"p-entity": ADA, "p-task": f"Answer. {SCRIPT}"}
    answer = desk.client("vera").post(preview_url(desk), sent)
    assert answer.status_code == 200
    raw = answer.content.decode()
    assert SCRIPT not in raw
    assert SKILL["steps"] in unescape(raw)
    rows = [re.sub(r"<[^>]+>|\s+", " ", row) for row in re.findall(r"(?s)<tr>.*?</tr>", raw)]
    skill = next(row for row in rows if " skill " in row)
    assert "required" in skill
    assert f"skills of {ADA}" in skill
    assert re.search(r"\d+ of 4000 +3 ", skill)
    # Looking leaves nothing.
    assert not ArtifactUse.objects.exists()
    assert not Record.objects.filter(collection="outcomes").exists()


def test_a_definition_in_force_leads_to_its_preview(desk: Desk) -> None:
    row = Definition.objects.get(workspace=desk.row, type="artifact", name=RECIPE)
    url = reverse("admin:artifactr_learning_definition_change", args=[row.pk])
    assert f'href="{preview_url(desk)}"' in text_of(desk, url)
    row = Definition.objects.get(workspace=desk.row, type="collection", name="outcomes")
    url = reverse("admin:artifactr_learning_definition_change", args=[row.pk])
    assert "/preview/" not in text_of(desk, url)


def test_a_preview_shows_what_was_cut(desk: Desk) -> None:
    put_skill(desk.door("ben"), {"examples": "word " * 4000})
    answer = desk.client("ana").post(preview_url(desk), {"p-entity": ADA, "p-task": "x"})
    text = answer.content.decode()
    assert "cut at its token budget" in text
    assert "2 of 3" in text
    assert "truncated" in text


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"p-entity": ADA}, "is required"),
        ({"p-entity": "", "p-task": "x"}, "is required"),
        ({"p-entity": "e" * 501, "p-task": "x"}, "no entity of 1 to 500 characters"),
        ({"p-entity": "a\0b", "p-task": "x"}, "Null characters are not allowed"),
    ],
)
def test_a_parameter_that_is_refused_is_told_at_its_field(
    desk: Desk, sent: dict[str, str], said: str
) -> None:
    answer = desk.client("ana").post(preview_url(desk), sent)
    assert answer.status_code == 422
    assert said in unescape(answer.content.decode())


def test_a_required_block_that_does_not_fit_is_told(desk: Desk) -> None:
    put_skill(desk.door("ben"), {"steps": "w" * 40_000})
    answer = desk.client("ana").post(preview_url(desk), {"p-entity": ADA, "p-task": "x"})
    assert answer.status_code == 422
    assert "max_tokens" in answer.content.decode()


@pytest.mark.parametrize(
    ("name", "recipe", "status"),
    [("otto", RECIPE, 404), ("nora", RECIPE, 404), ("ana", "no_such", 404), ("ana", "a" * 80, 404)],
)
def test_an_unknown_or_foreign_recipe_is_not_found(
    desk: Desk, name: str, recipe: str, status: int
) -> None:
    for ask in (desk.client(name).get, desk.client(name).post):
        ask_: Callable[..., Any] = ask
        assert ask_(preview_url(desk, recipe)).status_code == status

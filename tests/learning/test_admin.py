"""Catalog and records in the admin: seen by membership, never changed, at a fixed price."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from artifacts import core
from artifacts.core import Hidden
from artifacts.models import Membership
from learning.models import Definition, Record
from learning.services.records import ingest
from tests.artifacts.rest import Cast, make_cast
from tests.learning.catalogs import apply, catalog

pytestmark = pytest.mark.django_db
LISTS = ["definition", "record"]
ESCAPED = "&lt;script&gt;alert(1)&lt;/script&gt;"
SCRIPT = "<script>alert(1)</script>"


def url(model: str, row: Any = None) -> str:
    base = f"/admin/artifactr_learning/{model}/"
    return base if row is None else f"{base}{row.pk}/change/"


@pytest.fixture
def cast() -> Cast:
    cast = make_cast()
    made = catalog()
    made["artifacts"][0]["description"] = SCRIPT
    apply(cast.door, made)
    get_user_model().objects.update(is_staff=True)
    return cast


def page(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, answer
    return answer.content.decode()


def test_definitions_are_listed_with_hash_and_state(cast: Cast) -> None:
    text = page(cast.vera.client, url("definition"))
    row = Definition.objects.get(type="artifact", name="prompt")
    assert row.sha256[:12] in text
    assert "prompt" in text
    only = page(cast.vera.client, url("definition") + "?type=view&active=yes")
    assert "recent" in only
    assert "prompt" not in only.split("result_list")[1]


def test_a_definition_shows_its_body_and_the_difference_between_versions(cast: Cast) -> None:
    later = catalog()
    later["package"].update(version=2)
    later["package"]["collections"][2] = "notes@2"
    later["collections"][2].update(version=2, description="later")
    later["artifacts"] = later["artifacts"][1:]  # the other one is there already
    apply(cast.door, later)
    new = Definition.objects.get(type="collection", name="notes", version=2)
    text = page(cast.vera.client, url("definition", new) + "?from=1")
    assert new.sha256 in text
    assert "From version 1 to version 2" in text
    assert "<mark>" in text or "is-added" in text
    assert cast.vera.client.get(url("definition", new) + "?from=9").status_code == 404
    assert cast.vera.client.get(url("definition", new) + "?from=x").status_code == 404


def test_what_a_definition_says_is_escaped(cast: Cast) -> None:
    row = Definition.objects.get(type="artifact", name="prompt")
    text = page(cast.vera.client, url("definition", row))
    assert ESCAPED in text
    assert SCRIPT not in text


def outcome(text: str = "It was late", **members: Any) -> dict[str, Any]:
    return {"collection": "outcomes", "entity": "agent:ada", "type": "outcome", "text": text,
            **members}  # fmt: skip


def test_records_are_shown_with_what_they_come_from(cast: Cast) -> None:
    skill = {"collection": "skills", "entity": "agent:ada", "key": "steps", "text": "Ask."}
    [first] = ingest(cast.door, [skill])
    [second] = ingest(
        cast.door, [outcome(SCRIPT, derived_from=[first.record_id], content={"score": 0.5})]
    )
    assert first.record_id
    assert second.record_id
    listed = page(cast.vera.client, url("record"))
    assert first.record_id in listed
    assert ESCAPED in listed
    row = Record.objects.get(public_id=second.record_id)
    text = page(cast.vera.client, url("record", row))
    assert first.record_id in text
    assert ESCAPED in text
    assert SCRIPT not in text
    source = Record.objects.get(public_id=first.record_id)
    text = page(cast.vera.client, url("record", source))
    assert second.record_id in text
    assert core.address_id("skills", "agent:ada", "steps") in text
    by_id = f"/admin/artifactr_learning/record/of/{cast.workspace.public_id}/{first.record_id}/"
    assert cast.vera.client.get(by_id).headers["Location"] == url("record", source)


def test_records_are_found_and_filtered(cast: Cast) -> None:
    ingest(cast.door, [outcome(), {**outcome("A note"), "collection": "notes"}])
    text = page(cast.vera.client, url("record") + "?collection=notes")
    assert "A note" in text
    assert "It was late" not in text
    assert "It was late" in page(cast.vera.client, url("record") + "?q=agent:ada")


@pytest.mark.parametrize("person", ["otto", "stranger"])
def test_others_see_nothing(cast: Cast, person: str) -> None:
    ingest(cast.door, [outcome()])
    client = getattr(cast, person).client
    for model, row in (
        ("definition", Definition.objects.first()),
        ("record", Record.objects.get()),
    ):
        answer = client.get(url(model, row))
        assert answer.status_code in (403, 404)
        assert client.get(url(model)).status_code in (200, 403)
        assert b"agent:ada" not in client.get(url(model)).content


def test_what_is_hidden_is_in_no_list(
    cast: Cast, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from artifacts.access import forget_hidden

    ingest(cast.door, [{"collection": "skills", "entity": "e", "key": "k", "text": "secret"}])
    settings.ARTIFACTR = {**settings.ARTIFACTR, "HIDDEN": f"{__name__}.hides"}
    forget_hidden()
    try:
        row = Record.objects.get()
        assert row.public_id not in page(cast.vera.client, url("record"))
        assert cast.vera.client.get(url("record", row)).status_code == 404
    finally:
        forget_hidden()


def hides(actor: Any, workspace: Any) -> Hidden:
    return Hidden(artifacts=frozenset({core.address_id("skills", "e", "k")}))


@pytest.mark.parametrize("model", LISTS)
@pytest.mark.parametrize("person", ["ana", "root"])
def test_nobody_changes_anything(cast: Cast, model: str, person: str) -> None:
    ingest(cast.door, [outcome()])
    client = getattr(cast, person).client
    row: Any = (Definition if model == "definition" else Record).objects.first()
    before = [list(each.objects.order_by("pk").values()) for each in (Definition, Record)]
    assert client.get(url(model) + "add/").status_code == 403
    for path in (url(model, row), url(model) + f"{row.pk}/delete/"):
        assert client.post(path, {"post": "yes", "_selected_action": row.pk}).status_code in (
            200, 403, 404, 405,
        )  # fmt: skip
    client.post(url(model), {"action": "delete_selected", "_selected_action": row.pk})
    assert [list(each.objects.order_by("pk").values()) for each in (Definition, Record)] == before


@pytest.mark.parametrize("size", [10, 90])
def test_pages_cost_the_same_at_any_size(
    cast: Cast, size: int, django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    [source] = ingest(cast.door, [outcome("source")])
    ingest(cast.door, [outcome(f"n{n}", derived_from=[source.record_id]) for n in range(size)])
    row = Record.objects.get(public_id=source.record_id)
    definition = Definition.objects.get(name="prompt")
    for path in (url("record"), url("record", row), url("definition"),
                 url("definition", definition)):  # fmt: skip
        with django_assert_max_num_queries(12):
            page(cast.vera.client, path)


def test_memberships_decide(cast: Cast) -> None:
    ingest(cast.door, [outcome()])
    Membership.objects.filter(user__username="vera").delete()
    assert cast.vera.client.get(url("record")).status_code == 403

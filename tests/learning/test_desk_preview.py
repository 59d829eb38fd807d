"""The decision page says what accepting would really do, with what collections and kinds ask."""

from __future__ import annotations

from typing import Any

import pytest

from artifacts import core
from artifacts.models import Workspace as Row
from learning.models import Record
from tests.learning.catalogs import apply, catalog
from tests.support import kinds
from tests.support.builders import edit_text, make_artifact
from tests.support.desk import Desk, make_desk

pytestmark = pytest.mark.django_db(transaction=True)
REGISTERED = kinds
FAILS = "would fail:</strong>"
ID = core.address_id("skills", "agent:ada", "steps")


@pytest.fixture
def desk() -> Desk:
    desk = make_desk()
    apply(desk.door())
    return desk


def put(**content: Any) -> core.PutArtifact:
    return core.PutArtifact(  # type: ignore[call-arg]
        address=core.Address(collection="skills", entity="agent:ada", key="steps"),
        kind="maintained_value",
        data={"text": "Ask first.", "content": content},
        base_version=0,
    )


def proposed(desk: Desk, change: Any, group_id: str | None = None) -> str:
    command = core.ProposeChange(change=change, group_id=group_id)
    desk.scribe(run_id="run_desk").commit(command)
    return command.proposal_id


def stricter(desk: Desk) -> None:
    """A second version of the collection, which asks for higher levels."""
    changed = catalog()
    changed["package"]["version"] = 2
    changed["package"]["collections"][0] = "skills@2"
    changed["collections"][0]["version"] = 2
    changed["collections"][0]["schema"]["properties"]["level"]["minimum"] = 5
    apply(desk.door(), changed)


def seen(desk: Desk, page: str) -> str:
    text: str = desk.client("ana").get(page).content.decode()
    return text


@pytest.mark.parametrize("group_id", [None, "grp_1"])
def test_what_the_collection_no_longer_takes_is_told_before_it_is_tried(
    desk: Desk, group_id: str | None
) -> None:
    page = desk.page(proposed(desk, put(level=2), group_id), group=group_id is not None)
    assert FAILS not in seen(desk, page)
    assert 'value="accept"' in seen(desk, page)
    stricter(desk)
    text = seen(desk, page)
    assert FAILS in text
    assert "the collection &#x27;skills&#x27; does not take this value" in text
    assert "data.content.level: " in text
    assert 'value="accept"' not in text
    refused = desk.decide(page, decision="accept")
    assert refused.status_code == 422
    assert "does not take this value" in refused.content.decode()
    assert not Record.objects.exists()


def test_an_edit_of_a_value_is_held_to_the_collection_too(desk: Desk) -> None:
    desk.door().commit(put(level=2))
    patch = {"ops": [{"op": "replace", "path": "/text", "value": "Ask twice."}]}
    edit = core.EditArtifact(
        artifact_id=ID, base_version=1, patch=core.JsonPatch.model_validate(patch)
    )
    page = desk.page(proposed(desk, edit))
    assert FAILS not in seen(desk, page)
    stricter(desk)
    assert FAILS in seen(desk, page)


def test_a_kind_that_is_no_longer_allowed_here_is_told(desk: Desk) -> None:
    create = core.CreateArtifact(kind="paper", data={"text": "new"})
    page = desk.page(proposed(desk, create))
    assert FAILS not in seen(desk, page)
    Row.objects.filter(pk=desk.row.pk).update(kinds=["board"])
    assert FAILS in seen(desk, page)
    assert "is not allowed in this workspace" in seen(desk, page)
    assert desk.decide(page, decision="accept").status_code == 422


def test_looking_writes_nothing_and_takes_no_lock(desk: Desk) -> None:
    id = make_artifact(desk.door(), kinds.Paper(text="one two"))
    page = desk.page(proposed(desk, edit_text(id, 1, "two", "2")))
    head = desk.door().head_seq()
    assert FAILS not in seen(desk, page)
    assert desk.door().head_seq() == head
    assert desk.door().artifact(id).version == 1

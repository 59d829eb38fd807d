"""What the host hides from somebody does not exist for them, on any route."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import override_settings

from artifacts import access
from artifacts.core import Hidden
from tests.artifacts.rest import Cast, make_cast

pytestmark = pytest.mark.django_db


def hide(actor: Any, workspace: Any) -> Hidden:
    """From Vera and Ana, not from Ben."""
    if getattr(actor, "name", None) in ("vera", "ana"):
        return Hidden(artifacts=frozenset({"art_h"}))
    return Hidden()


@pytest.fixture
def cast() -> Iterator[Cast]:
    cast = make_cast()
    for id in ("art_1", "art_h", "art_2"):
        cast.ben.post("artifacts/", {"artifact_id": id, "kind": "rest_note"})
    for id, artifact in (("prp_1", "art_1"), ("prp_h", "art_h")):
        change = {
            "type": "edit_artifact", "artifact_id": artifact, "base_version": 1,
            "patch": {
                "kind": "json_patch", "ops": [{"op": "replace", "path": "/title", "value": "x"}],
            },
        }  # fmt: skip
        cast.ben.post("proposals/", {"proposal_id": id, "change": change, "group_id": f"g_{id}"})
    cast.ben("DELETE", "artifacts/art_2/", If_Match='"1"')
    access.forget_hidden()
    with override_settings(ARTIFACTR={"HIDDEN": f"{__name__}.hide"}):
        yield cast
    access.forget_hidden()


def test_reads_answer_as_for_an_unknown_id(cast: Cast) -> None:
    for path in (
        "artifacts/{}/",
        "artifacts/{}/revisions/",
        "artifacts/{}/revisions/1/",
    ):
        hidden, unknown = cast.vera.get(path.format("art_h")), cast.vera.get(path.format("art_u"))
        assert hidden.status == unknown.status == 404
        assert hidden.text.replace("art_h", "") == unknown.text.replace("art_u", "")
        assert cast.ben.get(path.format("art_h")).status == 200
    assert cast.vera.get("proposals/prp_h/").status == 404
    assert cast.vera.get("groups/g_prp_h/").status == 404
    assert cast.vera.get("groups/g_prp_1/").status == 200


def test_lists_leave_it_out(cast: Cast) -> None:
    def ids(path: str) -> list[str]:
        return [each["id"] for each in cast.vera.get(path).body["results"]]

    assert ids("artifacts/") == ["art_1"]
    assert ids("proposals/") == ["prp_1"]


def test_it_is_no_place_in_a_list_either(cast: Cast) -> None:
    for path, hidden in (("artifacts/", "art_h"), ("proposals/", "prp_h")):
        there, nowhere = (cast.vera.get(f"{path}?after={id}") for id in (hidden, "art_u"))
        assert there.status == nowhere.status == 422
        assert there.text == nowhere.text
        assert cast.ben.get(f"{path}?after={hidden}").status == 200


def test_events_that_name_it_are_left_out(cast: Cast) -> None:
    answer = cast.vera.get("events/")
    assert "art_h" not in answer.text
    assert [each["seq"] for each in answer.body["results"]] == [1, 3, 4, 6]
    everything = cast.ben.get("events/").body["results"]
    assert [each["seq"] for each in everything] == [1, 2, 3, 4, 5, 6]
    page = cast.vera.get("events/?limit=2").body
    assert [each["seq"] for each in page["results"]] == [1, 3]
    assert "after_seq=3&" in page["next"]


@pytest.mark.parametrize(
    "command",
    [
        {"type": "archive_artifact", "artifact_id": "art_h", "base_version": 1},
        {"type": "put_artifact", "artifact_id": "art_h", "base_version": 1, "kind": "rest_note",
         "data": {}},
        {"type": "respond_to_proposal", "proposal_id": "prp_h", "decision": "accept"},
        {"type": "resolve_group", "group_id": "g_prp_h", "decision": "accept"},
        {"type": "propose_change", "change": {
            "type": "archive_artifact", "artifact_id": "art_h", "base_version": 1}},
        {"type": "give_feedback", "feedback_type": "rest_rating", "value": {"stars": 1},
         "target": {"kind": "artifact", "artifact_id": "art_h", "version": 1}},
    ],
    ids=lambda command: str(command["type"]),
)  # fmt: skip
def test_commands_do_not_find_it(cast: Cast, command: dict[str, Any]) -> None:
    answer = cast.ana.command(command)
    assert answer.status == 404
    unknown = json.loads(json.dumps(command).replace("_h", "_unknown"))
    assert cast.ana.command(unknown).body["rejection"].keys() == answer.body["rejection"].keys()
    assert cast.door.head_seq() == 6

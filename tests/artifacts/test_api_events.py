"""The log over REST: windows, and the stored text as it is."""

import json

import pytest

from artifacts.models import Event
from tests.artifacts.rest import Cast, make_cast

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    cast = make_cast()
    for number in range(1, 6):
        cast.ben.post("artifacts/", {"artifact_id": f"art_{number}", "kind": "rest_note"})
    return cast


def seqs(cast: Cast, query: str) -> list[int]:
    answer = cast.vera.get(f"events/{query}")
    assert answer.status == 200
    return [each["seq"] for each in answer.body["results"]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", [1, 2, 3, 4, 5]),
        ("?after_seq=3", [4, 5]),
        ("?before_seq=3", [1, 2]),
        ("?after_seq=1&before_seq=4", [2, 3]),
        ("?limit=2", [1, 2]),
        ("?after_seq=2&limit=2", [3, 4]),
        ("?last=2", [4, 5]),
        ("?last=2&before_seq=4", [2, 3]),
        ("?after_seq=99", []),
        ("?after_seq=9223372036854775807", []),
    ],
)
def test_windows(cast: Cast, query: str, expected: list[int]) -> None:
    assert seqs(cast, query) == expected


@pytest.mark.parametrize(
    "query",
    [
        "?after_seq=-1", "?after_seq=x", "?after_seq=9223372036854775808", "?limit=0",
        "?limit=501", "?last=501", "?last=2&limit=2", "?after_seq=1&after_seq=2", "?thread_id=%00",
        "?thread=thr_1",
    ],
)  # fmt: skip
def test_a_wrong_window_is_refused(cast: Cast, query: str) -> None:
    answer = cast.vera.get(f"events/{query}")
    assert (answer.status, answer.code) == (422, "validation_failed")


def test_pages_follow_each_other_to_the_end(cast: Cast) -> None:
    path, seen = f"{cast.base}events/?limit=2", []
    pages = 0
    while path:
        body = cast.vera.get(path).body
        pages += 1
        seen += [each["seq"] for each in body["results"]]
        path = body["next"] and body["next"].removeprefix("http://testserver")
    assert (seen, pages) == ([1, 2, 3, 4, 5], 3)
    assert cast.vera.get("events/?last=2").body["next"] is None


def test_the_stored_text_is_what_is_sent(cast: Cast) -> None:
    stored = list(Event.objects.order_by("seq").values_list("text", flat=True))
    assert cast.vera.get("events/").text == f'{{"results":[{",".join(stored)}],"next":null}}'
    assert json.loads(stored[0])["workspace_id"] == "wsp_ours"

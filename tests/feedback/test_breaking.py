"""Odd input on every route of records, catalog and uses: a clear 4xx, and nothing stored."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from artifacts.core.errors import Rejection
from artifacts.models import Event
from feedback.client import Client
from feedback.local import Local
from feedback.models import ArtifactUse
from feedback.services.uses import bind
from learning.models import Definition, Record
from learning.services.records import ingest
from tests.artifacts.rest import Answer, Cast, make_cast
from tests.feedback.uses import ENTITY, PROMPT, furnish, put

pytestmark = pytest.mark.django_db(transaction=True)
BIND = f"catalog/artifacts/{PROMPT}/uses/"
# As JSON text, for values that no Python value of ours could be.
VALUES = {
    "nul": '"a\\u0000b"',
    "surrogate": '"\\ud800"',
    "number": "17",
    "float": "1.5",
    "true": "true",
    "null": "null",
    "list": "[]",
    "object": "{}",
    "huge": '"' + "x" * 900_000 + '"',
    "deep": "[" * 60 + "]" * 60,
    "big": "1" * 400,
    "exponent": "1e400",
    "template": '"{{entity}} {% if %} ${x} {0} %s"',
    "markup": '"<script>&amp;</script>"',
    "blank": '"   "',
    "lines": '"a\\nb\\u2028c"',
}
BODIES: dict[str, tuple[str, str]] = {
    "bind parameters": (BIND, '{{"parameters": {}}}'),
    "bind parameter": (BIND, '{{"parameters": {{"entity": "agent:ada", "task": {}}}}}'),
    "bind entity": (BIND, '{{"parameters": {{"entity": {}, "task": "x"}}}}'),
    "bind snapshot": (
        BIND, '{{"parameters": {{"entity": "agent:ada", "task": "x"}}, "snapshot": {}}}',
    ),
    "render": (f"catalog/artifacts/{PROMPT}/render/", '{{"parameters": {{"task": {}}}}}'),
    "catalog files": ("catalog/", '{{"files": {}}}'),
    "catalog file": ("catalog/", '{{"files": {{"package.yaml": {}}}}}'),
    "catalog check": ("catalog/", '{{"files": {{}}, "check": {}}}'),
    "records": ("records/", '{{"records": {}}}'),
    "record": ("records/", '{{"records": [{}]}}'),
    **{
        f"record {name}": (
            "records/",
            '{{"records": [{{"collection": "outcomes", "entity": "e", "type": "t", "'
            + name
            + '": {}}}]}}',
        )
        for name in ("collection", "entity", "type", "key", "text", "content", "derived_from",
                     "dedupe_key")
    },
    **{
        f"feedback {name}": (
            "artifact-uses/{use}/feedback/",
            f'{{{{"kind": "exception", "source": "application", "{name}": {{}}}}}}',
        )
        for name in ("kind", "source", "score", "label", "comment", "expected", "actual_excerpt",
                     "dedupe_key", "execution_refs")
    },
}  # fmt: skip
CLEAR = {200, 201, 404, 409, 413, 422}


@pytest.fixture
def cast() -> Cast:
    cast = make_cast()
    furnish(cast.door)
    return cast


def use_of(cast: Cast) -> str:
    return bind(cast.door, PROMPT, {"entity": ENTITY, "task": "x"}).id


def counts() -> list[int]:
    return [model._default_manager.count() for model in (Event, Record, Definition, ArtifactUse)]


def is_clear(answer: Answer) -> None:
    assert answer.status in CLEAR, answer.text[:500]
    if answer.status >= 400:
        assert answer.code
        assert answer.body["detail"]
        assert len(answer.text) < 10_000  # what was sent is not echoed


@pytest.mark.parametrize("place", BODIES)
def test_an_odd_value_in_any_member_is_refused_clearly_or_kept_as_it_is(
    cast: Cast, place: str
) -> None:
    path, form = BODIES[place]
    caller = cast.key("admin")
    path = path.replace("{use}", use_of(cast))
    for name, value in VALUES.items():
        before = counts()
        answer = caller("POST", path, raw=form.format(value).encode())
        is_clear(answer)
        if answer.status >= 400:
            assert counts() == before, name
        elif place.startswith(("record ", "feedback ")) and name in ("template", "markup"):
            if place.endswith("dedupe_key"):  # nobody reads it
                continue
            said = answer.body.get("results", [answer.body])[0]
            kept = cast.ana.get(f"records/{said['record_id']}/")
            assert kept.status == 200
            assert json.loads(value)[:8] in json.dumps(kept.body, ensure_ascii=False)


ODD = ["%00", "a%00b", "%ff", "x" * 129, "a%2Fb", "rec_" + "0" * 32, "use_" + "0" * 32, "1", "-1",
       "%ED%A0%80",
       "'; DROP TABLE x; --", "..", "def_99999999999999999999", "def_0", "{{x}}"]  # fmt: skip
READS = [
    "records/{}/",
    "records/?after={}",
    "records/?collection={}",
    "records/?entity={}",
    "records/?type={}",
    "records/?key={}",
    "records/?where={}",
    "records/?sort={}",
    "records/?limit={}",
    "records/?collection=learning_signals&where=signal_score%3C{}",
    "records/?collection=learning_signals&where=signal_kind%3D{}",
    "records/?collection=learning_signals&sort=-signal_score&after={}",
    "records/search/?q={}",
    "records/search/?q=a&collection={}",
    "catalog/?after={}",
    "catalog/?type={}",
    "catalog/?name={}",
    "catalog/{}/x/",
    "catalog/artifacts/{}/",
    "catalog/artifacts/{}/versions/1/",
    "catalog/artifacts/x/versions/{}/",
    "catalog/artifacts/x/versions/99999999999999999999/",
    "artifact-uses/?after={}",
    "artifact-uses/?recipe={}",
    "artifact-uses/?head={}",
    "artifact-uses/{}/",
    "artifact-uses/{}/signals/",
    "artifact-uses/{use}/signals/?after={}",
]


@pytest.mark.parametrize("path", READS)
def test_an_odd_id_or_query_is_refused_clearly(cast: Cast, path: str) -> None:
    use_id = use_of(cast)
    for odd in ODD:
        text = odd if "%" in odd else quote(odd, safe="")
        answer = cast.ana.get(path.replace("{use}", use_id).replace("{}", text))
        assert answer.status in (200, 400, 404, 405, 422), (path, odd, answer.text[:300])


Take = Callable[[Cast], str]
# Ids of everything else there is.
OTHERS: dict[str, Take] = {
    "a use": use_of,
    "an artifact": lambda cast: put(cast.door, "steps", "x").artifact_id,
    "an event": lambda cast: str(Event.objects.order_by("pk")[0].public_id),
    "a thread": lambda cast: "thr_1",
    "the workspace": lambda cast: cast.workspace.public_id,
}


@pytest.mark.parametrize("other", OTHERS)
def test_an_id_of_another_kind_is_no_source_no_record_and_no_use(cast: Cast, other: str) -> None:
    id = OTHERS[other](cast)
    sent: dict[str, Any] = {"collection": "outcomes", "entity": "e", "type": "t"}
    sent |= {"content": {"kind": "failure"}, "derived_from": [id]}
    before = Record.objects.count()
    answer = cast.ben.post("records/", {"records": [sent]})
    assert (answer.status, answer.code) == (422, "request_schema")
    assert answer.body["errors"][0]["loc"] == ["records", 0, "derived_from", 0]
    assert cast.ben.get(f"records/{id}/").status == 404
    said = {"kind": "thumbs_up", "source": "end_user"}
    if other != "a use":
        assert cast.ben.post(f"artifact-uses/{id}/feedback/", said).status == 422
    assert Record.objects.count() == before


def test_a_record_cannot_be_taken_for_a_use(cast: Cast) -> None:
    note = {"collection": "outcomes", "entity": "e", "type": "t", "content": {"kind": "failure"}}
    [taken] = ingest(cast.door, [note])
    said = {"kind": "thumbs_up", "source": "end_user"}
    answer = cast.ben.post(f"artifact-uses/{taken.record_id}/feedback/", said)
    assert (answer.status, answer.code) == (422, "request_schema")


RING: list[Any] = []
RING.append(RING)
DEEP: list[Any] = []
for _ in range(5_000):
    DEEP = [DEEP]
# What Python can say and JSON cannot, or only as something else.
UNSAYABLE: dict[str, Any] = {
    "nan": float("nan"),
    "infinity": float("inf"),
    "surrogate": "\ud800",
    "nul": "a\0b",
    "bytes": b"\xff",
    "set": {1},
    "object": object(),
    "ring": RING,
    "deep": DEEP,
    "huge": "x" * 2_000_000,
    "int": 10**5_000,
}
CALLS: dict[str, Callable[[Any, str, Any], Any]] = {
    "a parameter": lambda here, use, odd: here.artifact(PROMPT).bind({"entity": "e", "task": odd}),
    "a score": lambda here, use, odd: here.feedback.for_use(use).evaluation(score=odd),
    "a label": lambda here, use, odd: here.feedback.for_use(use).thumbs_up(label=odd),
    "a dedupe key": lambda here, use, odd: here.feedback.for_use(use).thumbs_up(dedupe_key=odd),
    "references": lambda here, use, odd: here.feedback.for_use(use).thumbs_up(execution_refs=odd),
    "a content": lambda here, use, odd: here.records.ingest(
        collection="outcomes", entity="e", type="t", content={"kind": "failure", "odd": odd}
    ),
    "a text": lambda here, use, odd: here.records.ingest(
        collection="outcomes", entity="e", type="t", text=odd, content={"kind": "failure"}
    ),
    "a source": lambda here, use, odd: here.records.ingest(
        collection="outcomes", entity="e", type="t", derived_from=[odd]
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_what_no_json_can_say_is_refused_in_process(cast: Cast, call: str) -> None:
    use_id = use_of(cast)
    for name, odd in UNSAYABLE.items():
        before = counts()
        with pytest.raises(Rejection) as refused:
            CALLS[call](Local(cast.door), use_id, odd)
        assert refused.value.message, name
        assert len(str(refused.value.payload())) < 20_000, name
        assert counts() == before, name


@pytest.mark.parametrize("name", ["nan", "infinity", "surrogate", "bytes", "set", "object", "ring"])
def test_what_no_json_can_say_is_not_sent(name: str) -> None:
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, json={})

    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        here = Client("http://site.test/api/v1", workspace="wsp_1", key="ak_1", http=http)
        with pytest.raises(ValueError, match="no JSON can say this"):
            here.artifact(PROMPT).bind({"task": UNSAYABLE[name]})
    assert sent == []

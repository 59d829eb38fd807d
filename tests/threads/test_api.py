"""Threads, messages and runs over REST."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import override_settings

from artifacts import access
from artifacts.core import AgentActor, Hidden, RunEnded, RunPaused, RunStarted, SystemActor
from artifacts.core.events import DeferredRequest
from tests.artifacts.rest import Cast, make_cast
from threads import models

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def thread(cast: Cast, **members: Any) -> str:
    made = cast.ben.post("threads/", {"title": "Launch", **members})
    assert made.status == 201
    id: str = made.body["thread_id"]
    return id


def pause(cast: Cast, thread_id: str, kind: str) -> None:
    """A run of the thread's agent that waits for one answer."""
    door = cast.door.as_actor(AgentActor(thread_id=thread_id, run_id="run_1"))
    door.record(RunStarted(run_id="run_1", thread_id=thread_id))
    request = DeferredRequest(tool_call_id="call_1", tool_name="tool", kind=kind)
    door.record(RunPaused(run_id="run_1", thread_id=thread_id, requests=(request,)))


def test_a_thread_is_opened_and_read(cast: Cast) -> None:
    id = thread(cast)
    assert cast.vera.get(f"threads/{id}/").body == {
        "id": id,
        "title": "Launch",
        "mode": "edit",
        "focus": [],
    }
    named = thread(cast, thread_id="thr_named")
    assert named == "thr_named"
    assert [each["id"] for each in cast.vera.get("threads/").body["results"]] == [id, named]
    again = cast.ben.post("threads/", {"title": "x", "thread_id": "thr_named"})
    assert (again.status, again.code) == (409, "invalid_state")


def test_what_is_said_is_read_back_as_envelopes(cast: Cast) -> None:
    id = thread(cast)
    posted = [
        cast.ben.post(f"threads/{id}/messages/", {"content": text, "kind": "notice"}).body
        for text in ("one", "two", "three")
    ]
    assert all(each["thread_id"] == id for each in posted)
    page = cast.vera.get(f"threads/{id}/messages/?limit=2").body
    assert [each["event"]["content"] for each in page["results"]] == ["one", "two"]
    assert [each["event"]["message_id"] for each in page["results"]] == [
        each["message_id"] for each in posted[:2]
    ]
    rest = cast.vera.get(page["next"].removeprefix("http://testserver")).body
    assert [each["event"]["content"] for each in rest["results"]] == ["three"]
    assert rest["next"] is None
    assert cast.vera.get("threads/thr_none/messages/").status == 404


def test_a_repeated_key_gives_the_ids_of_the_first(cast: Cast) -> None:
    first = cast.ben.post("threads/", {"title": "t"}, Idempotency_Key="k1")
    assert cast.ben.post("threads/", {"title": "t"}, Idempotency_Key="k1").body == first.body
    path = f"threads/{first.body['thread_id']}/messages/"
    said = cast.ben.post(path, {"content": "c", "kind": "notice"}, Idempotency_Key="k2")
    again = cast.ben.post(path, {"content": "c", "kind": "notice"}, Idempotency_Key="k2")
    assert (again.status, again.body) == (201, said.body)
    assert cast.door.head_seq() == 2


def test_focus_and_mode_are_set(cast: Cast) -> None:
    id = thread(cast)
    cast.ben.post("artifacts/", {"artifact_id": "art_1", "kind": "rest_note"})
    assert cast.ben("PUT", f"threads/{id}/focus/", {"artifact_ids": ["art_1"]}).status == 200
    assert cast.ben("PUT", f"threads/{id}/mode/", {"mode": "suggest"}).status == 200
    read = cast.vera.get(f"threads/{id}/").body
    assert (read["focus"], read["mode"]) == (["art_1"], "suggest")
    head = cast.door.head_seq()
    assert cast.ben("PUT", f"threads/{id}/mode/", {"mode": "suggest"}).status == 200
    assert cast.door.head_seq() == head
    unknown = cast.ben("PUT", f"threads/{id}/focus/", {"artifact_ids": ["art_none"]})
    assert (unknown.status, unknown.code) == (404, "not_found")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("threads/", {}),
        ("threads/", {"title": "x" * 201}),
        ("threads/", {"title": "x", "agent": "nobody"}),
        ("threads/{id}/messages/", {"content": ""}),
        ("threads/{id}/messages/", {"content": "x" * 65_537}),
        ("threads/{id}/messages/", {"content": "x", "kind": "shout"}),
        ("threads/{id}/messages/", {"content": "x", "thread_id": "thr_other"}),
    ],
)
def test_what_does_not_fit_is_refused(cast: Cast, path: str, body: dict[str, Any]) -> None:
    answer = cast.ben.post(path.format(id=thread(cast)), body)
    assert (answer.status, answer.code) == (422, "validation_failed")
    assert cast.door.head_seq() == 1


@pytest.mark.parametrize(
    ("kind", "body", "may"),
    [("question", {"answer": "blue"}, {"ana", "ben"}), ("approval", {"approved": True}, {"ana"})],
)
def test_a_paused_run_is_answered_by_who_may(
    cast: Cast, kind: str, body: dict[str, Any], may: set[str]
) -> None:
    pause(cast, thread(cast), kind)
    run = cast.vera.get("runs/run_1/").body
    assert (run["status"], run["pending"][0]["kind"]) == ("paused", kind)
    body = {"tool_call_id": "call_1", **body}
    for name in ("vera", "ben", "ana"):
        answer = getattr(cast, name).post("runs/run_1/answers/", body)
        if name not in may:
            assert (answer.status, answer.code) == (403, "forbidden")
        else:
            assert answer.status == 201
            break
    again = cast.ana.post("runs/run_1/answers/", body)
    assert (again.status, again.code) == (409, "invalid_state")


def test_a_run_is_asked_to_stop_by_who_may(cast: Cast) -> None:
    pause(cast, thread(cast), "question")
    for name, status in (("vera", 403), ("ben", 403), ("ana", 202)):
        answer = getattr(cast, name).post("runs/run_1/stop/")
        assert answer.status == status, name
        assert (models.Run.objects.get().stop_requested_at is not None) == (status == 202)
    assert answer.body == {"type": "recorded", "run_id": "run_1"}
    assert cast.ana.post("runs/run_1/stop/", {}).status == 202
    for path, body in {"runs/run_x/stop/": {}, "runs/run_1/stop/": {"run_id": "run_1"}}.items():
        refused = cast.ana.post(path, body)
        assert refused.status == (404 if "run_x" in path else 422)


def test_a_stop_is_one_command_on_both_of_its_routes(cast: Cast) -> None:
    pause(cast, id := thread(cast), "question")
    first = cast.ana.post("runs/run_1/stop/", Idempotency_Key="s1")
    stop = {"type": "stop_run", "run_id": "run_1"}
    assert cast.ana.command(stop, command_id="s1").body == {
        "type": "command_result",
        "command_id": "s1",
        "ok": True,
        "outcome": first.body,
    }
    agent = cast.door.as_actor(AgentActor(thread_id=id))
    agent.record(RunEnded(run_id="run_1", thread_id=id, status="stopped"))
    assert cast.ana.post("runs/run_1/stop/", Idempotency_Key="s1").body == first.body
    other = cast.ana.post("runs/run_1/stop/", {"type": "stop_run"}, Idempotency_Key="s1")
    assert (other.status, other.code) == (422, "validation_failed")
    gone = cast.ana.command(stop, command_id="s2")
    assert (gone.status, gone.body["rejection"]["type"]) == (404, "not_found")
    assert cast.ana.command(stop, command_id="s2").body == gone.body
    in_a_batch = cast.ana.post("commands/batch/", {"commands": [stop]})
    assert (in_a_batch.status, in_a_batch.code) == (422, "validation_failed")


def test_runs_are_listed_by_thread_and_state(cast: Cast) -> None:
    id = thread(cast)
    pause(cast, id, "question")

    def ids(query: str) -> list[str]:
        return [each["id"] for each in cast.vera.get(f"runs/{query}").body["results"]]

    assert ids("") == ids(f"?thread_id={id}") == ids("?active=true") == ["run_1"]
    assert ids("?thread_id=thr_other") == []


def test_events_follow_the_threads_asked_for(cast: Cast) -> None:
    first, second = thread(cast), thread(cast)
    cast.ben.post("artifacts/", {"kind": "rest_note"})

    def seqs(query: str) -> list[int]:
        return [each["seq"] for each in cast.vera.get(f"events/{query}").body["results"]]

    assert seqs(f"?thread_id={first}") == [1, 3]
    assert seqs(f"?thread_id={first}&thread_id={second}") == [1, 2, 3]


def test_what_belongs_to_another_workspace_is_unknown(cast: Cast) -> None:
    id = thread(cast)
    pause(cast, id, "question")
    there = f"/api/v1/workspaces/{cast.elsewhere.public_id}/"
    for path in (f"threads/{id}/", f"threads/{id}/messages/", "runs/run_1/"):
        assert cast.ana.get(path).status == 200
        assert cast.otto.get(there + path).status == 404
    assert cast.otto.get(f"{there}threads/").body["results"] == []
    assert cast.otto.get(f"{there}runs/").body["results"] == []
    said = cast.otto.post(f"{there}threads/{id}/messages/", {"content": "x"})
    assert (said.status, said.code) == (404, "not_found")


def hide(actor: Any, workspace: Any) -> Hidden:
    if actor == SystemActor() or actor.name == "ben":
        return Hidden()
    return Hidden(threads=frozenset({"thr_h"}), artifacts=frozenset({"art_h"}))


@pytest.fixture
def hiding() -> Iterator[None]:
    access.forget_hidden()
    with override_settings(ARTIFACTR={"HIDDEN": f"{__name__}.hide", "EXECUTOR": "celery"}):
        yield
    access.forget_hidden()


@pytest.mark.usefixtures("hiding")
def test_a_hidden_thread_does_not_exist(cast: Cast) -> None:
    thread(cast, thread_id="thr_h")
    thread(cast, thread_id="thr_1")
    pause(cast, "thr_h", "question")
    for path in ("threads/thr_h/", "threads/thr_h/messages/", "runs/run_1/"):
        assert cast.ben.get(path).status == 200
        assert cast.vera.get(path).status == 404
    assert [each["id"] for each in cast.vera.get("threads/").body["results"]] == ["thr_1"]
    assert cast.vera.get("runs/").body["results"] == []
    assert [each["seq"] for each in cast.vera.get("events/").body["results"]] == [2]
    for path, body in {
        "threads/thr_h/messages/": {"content": "x"},
        "runs/run_1/answers/": {"tool_call_id": "call_1", "answer": "x"},
        "runs/run_1/stop/": {},
    }.items():
        answer = cast.ana.post(path, body)
        assert (answer.status, answer.code) == (404, "not_found")


@pytest.mark.usefixtures("hiding")
def test_a_hidden_artifact_is_in_no_focus(cast: Cast) -> None:
    for id in ("art_1", "art_h"):
        cast.ben.post("artifacts/", {"artifact_id": id, "kind": "rest_note"})
    thread(cast, thread_id="thr_1")
    cast.ben("PUT", "threads/thr_1/focus/", {"artifact_ids": ["art_1", "art_h"]})
    assert cast.ben.get("threads/thr_1/").body["focus"] == ["art_1", "art_h"]
    assert cast.vera.get("threads/thr_1/").body["focus"] == ["art_1"]
    assert cast.vera.get("threads/").body["results"][0]["focus"] == ["art_1"]
    assert "art_h" not in cast.vera.get("events/").text


def test_a_message_is_judged_in_its_own_thread(cast: Cast) -> None:
    mine, other = thread(cast), thread(cast)
    cast.ben.post(f"threads/{mine}/messages/", {"content": "Hello", "message_id": "msg_1"})

    def judged(thread_id: str) -> int:
        target = {"kind": "message", "message_id": "msg_1", "thread_id": thread_id}
        body = {"feedback_type": "thumbs", "target": target, "value": {"up": True}}
        return cast.ben.post("feedback/", body).status

    assert judged(other) == 404
    assert judged(mine) == 201

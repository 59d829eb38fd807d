"""Commands on the socket: once, whichever process and surface they reach; none holds up another."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
from django.db import connection, transaction

from artifacts import core
from artifacts.models import Event, Workspace
from tests.e2e.conftest import QUICK, Place, is_postgresql
from tests.support import live
from tests.support.racing import PATIENCE

CREATE = {"type": "create_thread", "title": "A chat"}


def post(server: live.Server, place: Place, key: str, body: dict[str, Any]) -> httpx.Response:
    return httpx.post(
        f"{server.url}/api/v1/workspaces/{place.id}/commands/",
        json=body,
        headers={"Authorization": f"Bearer {key}"},
        timeout=30,
    )


def answers(client: live.Client, count: int) -> list[dict[str, Any]]:
    return [client.next("command_result") for _ in range(count)]


def test_a_repeated_command_gets_its_first_result_from_any_server_and_surface(
    place: Place, server: live.Server, started: Callable[..., live.Server]
) -> None:
    other = started(**QUICK, COMMANDS_AT_ONCE=3)
    key = place.key()
    with (
        live.client(server, place.id, key=key) as here,
        live.client(other, place.id, key=key) as there,
    ):
        here.live()
        there.live()
        first = here.result("c1", CREATE)
        assert first["ok"] is True
        assert here.result("c1", CREATE) == first
        # Whatever it comes with: the id is what counts.
        assert there.result("c1", {**CREATE, "title": "Other"}) == first
        over_rest = post(other, place, key, {"command_id": "c1", "command": CREATE})
        assert (over_rest.status_code, over_rest.json()) == (200, first)
        refused = here.result("c2", {"type": "set_focus", "thread_id": "no", "artifact_ids": []})
        assert refused["rejection"]["type"] == "not_found"
        assert there.result("c2", CREATE) == refused
        assert place.workspace.head_seq() == 1
    # Another sender's same id is another command.
    with live.client(server, place.id, key=place.key(name="another")) as another:
        another.live()
        assert another.result("c1", CREATE)["outcome"]["seq"] == 2


def test_many_at_once_from_two_servers_are_done_once(
    place: Place, server: live.Server, started: Callable[..., live.Server]
) -> None:
    """`create_thread` without an id and `give_feedback`, which has none: only the command id says
    that they are the same."""
    other = started(**QUICK, COMMANDS_AT_ONCE=3)
    paper = core.CreateArtifact(kind="paper", data={"text": "x"})
    place.workspace.commit(paper)
    target = {"kind": "artifact", "artifact_id": paper.artifact_id, "version": 1}
    feedback = {
        "type": "give_feedback",
        "feedback_type": "fit",
        "target": target,
        "value": {"fits": True},
    }
    key = place.key()
    with ExitStack() as stack:
        clients = [
            stack.enter_context(live.client(at, place.id, key=key))
            for at in (server, other)
            for _ in range(4)
        ]
        for client in clients:
            client.live()
        for command_id, command in (("f1", feedback), ("t1", CREATE)):
            for client in clients:
                for _ in range(3):
                    client.command(command_id, command)
            results = {
                json.dumps(answer, sort_keys=True)
                for client in clients
                for answer in answers(client, 3)
            }
            assert len(results) == 1
            assert json.loads(results.pop())["ok"] is True
        # The control: without the same id each is another one.
        for number, client in enumerate(clients):
            assert client.result(f"other{number}", CREATE)["ok"] is True
    types = Event.objects.filter(workspace_id=place.workspace.pk).values_list("type", flat=True)
    assert sorted(types) == ["artifact_created", "feedback_given", *["thread_created"] * 9]


@contextmanager
def locked(place: Place) -> Iterator[Callable[[], None]]:
    """Hold the workspace's write lock, as a slow writer does; call what is given to let go."""
    release, held = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            rows = Workspace.objects.select_for_update(no_key=is_postgresql())
            rows.get(pk=place.workspace.pk)
            held.set()
            release.wait(PATIENCE)
        connection.close()

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(PATIENCE)
    try:
        yield release.set
    finally:
        release.set()
        holder.join()


def test_while_the_first_attempt_runs_a_repeat_waits_and_rest_says_so(
    place: Place, server: live.Server
) -> None:
    key = place.key()
    with (
        live.client(server, place.id, key=key) as first,
        live.client(server, place.id, key=key) as second,
    ):
        first.live()
        second.live()
        with locked(place) as release:
            first.command("c1", CREATE)
            assert first.is_silent(0.5)
            second.command("c1", CREATE)
            if is_postgresql():  # on SQLite it waits for the file's lock like any other write
                running = post(server, place, key, {"command_id": "c1", "command": CREATE})
                assert running.status_code == 409
                assert running.json()["rejection"]["type"] == "command_running"
            assert second.is_silent(0.5)
            release()
            results = [answers(client, 1)[0] for client in (first, second)]
        assert results[0] == results[1]
        assert results[0]["ok"] is True
    assert place.workspace.head_seq() == 1


def test_stop_run_is_answered_while_other_commands_wait(place: Place, server: live.Server) -> None:
    """Those of this socket, and so many of others that they would take all threads there are."""
    run_id = place.start_run(place.open_thread())
    with ExitStack() as stack:
        clients = [
            stack.enter_context(live.client(server, place.id, key=place.key(name=f"program {n}")))
            for n in range(4)
        ]
        for client in clients:
            client.live()
        with locked(place) as release:
            for client in clients:
                for number in range(20):
                    client.command(f"c{number}", CREATE)
            client.command("w", {"type": "watch_run", "run_id": run_id})
            assert answers(client, 1)[0]["command_id"] == "w"
            if is_postgresql():  # SQLite has one writer, whoever it is
                client.command("s", {"type": "stop_run", "run_id": run_id})
                assert answers(client, 1)[0]["command_id"] == "s"
            assert client.is_silent(0.5)
            release()
            for client in clients:
                done = answers(client, 20)
                assert {each["command_id"] for each in done} == {f"c{n}" for n in range(20)}
                assert all(answer["ok"] for answer in done)


def test_a_repeated_stop_gets_its_first_result_from_any_server_and_surface(
    place: Place, server: live.Server, started: Callable[..., live.Server]
) -> None:
    other = started(**QUICK, COMMANDS_AT_ONCE=3)
    key, thread_id = place.key(), place.open_thread()
    run_id = place.start_run(thread_id)
    stop = {"type": "stop_run", "run_id": run_id}
    with (
        live.client(server, place.id, key=key) as here,
        live.client(other, place.id, key=key) as there,
    ):
        here.live()
        there.live()
        first = here.result("s1", stop)
        assert first["outcome"] == {"type": "recorded", "run_id": run_id}
        place.end_run(thread_id, run_id)
        assert there.result("s1", stop) == first
        assert post(other, place, key, {"command_id": "s1", "command": stop}).json() == first
        gone = post(server, place, key, {"command_id": "s2", "command": stop})
        assert (gone.status_code, gone.json()["rejection"]["type"]) == (404, "not_found")
        assert here.result("s2", stop) == gone.json()


def test_more_commands_than_may_wait_are_told_to_try_again(
    place: Place, started: Callable[..., live.Server]
) -> None:
    server = started(**QUICK, COMMANDS_AT_ONCE=1, COMMANDS_WAITING=3)
    with live.client(server, place.id, key=place.key()) as client:
        client.live()
        with locked(place) as release:
            for number in range(8):
                client.command(f"c{number}", CREATE)
            busy = answers(client, 4)
            assert [answer["rejection"]["type"] for answer in busy] == ["unavailable"] * 4
            release()
            assert all(answer["ok"] for answer in answers(client, 4))
        retried = [client.result(answer["command_id"], CREATE) for answer in busy]
        assert all(answer["ok"] for answer in retried)


def test_a_command_whose_sender_leaves_is_carried_through(
    place: Place, server: live.Server
) -> None:
    key = place.key()
    with live.client(server, place.id, key=key) as client:
        client.live()
        with locked(place) as release:
            client.command("c1", CREATE)
            assert client.is_silent(0.5)
            client.connection.close()
            release()
    with live.client(server, place.id, key=key) as again:
        again.live()
        assert again.result("c1", CREATE)["outcome"]["seq"] == 1
    assert place.workspace.head_seq() == 1

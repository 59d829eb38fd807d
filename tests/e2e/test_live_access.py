"""Access that ends closes the socket within seconds, with the code that refuses a new one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from artifacts import clock, core
from artifacts.models import ApiKey, Membership
from tests.e2e.conftest import QUICK, Place, session_of
from tests.support import live


def by_person(place: Place, server: live.Server, browser: Any, **options: Any) -> Any:
    return live.client(server, place.id, session=session_of(browser), origin=server.url, **options)


def deactivated(place: Place, user: Any, browser: Any) -> None:
    user.is_active = False
    user.save()


def logged_out(place: Place, user: Any, browser: Any) -> None:
    browser.logout()


def with_another_password(place: Place, user: Any, browser: Any) -> None:
    user.set_password("another")
    user.save()


def out_of_the_workspace(place: Place, user: Any, browser: Any) -> None:
    Membership.objects.filter(user=user).delete()


@pytest.mark.parametrize(
    ("ended", "code"),
    [
        (logged_out, 4401),
        (deactivated, 4401),
        (with_another_password, 4401),
        (out_of_the_workspace, 4404),
    ],
)
def test_a_person_whose_access_ends(
    place: Place, server: live.Server, ended: Callable[..., None], code: int
) -> None:
    user, browser = place.person("ben")
    _, other = place.person("ana")
    with by_person(place, server, browser) as client, by_person(place, server, other) as stays:
        client.live()
        stays.live()
        assert client.is_silent()
        ended(place, user, browser)
        assert client.close_code() == code
        place.say("still here")
        assert stays.next("event")["seq"] == 1


@pytest.mark.parametrize("how", ["revoked", "expired", "deleted"])
def test_a_key_that_ends(place: Place, server: live.Server, how: str) -> None:
    row, key = place.named_key()
    with live.client(server, place.id, key=key) as client:
        client.live()
        rows = ApiKey.objects.filter(pk=row.pk)
        if how == "revoked":
            rows.update(revoked_at=clock.now())
        elif how == "expired":
            rows.update(expires_at=clock.now() - timedelta(seconds=1))
        else:
            rows.delete()
        assert client.close_code() == 4401


def test_a_role_that_changes_counts_for_the_next_command(place: Place, server: live.Server) -> None:
    user, browser = place.person("ben", "editor")
    command = {"type": "create_thread", "title": "Hi"}
    with by_person(place, server, browser) as client:
        client.live()
        assert client.result("c1", command)["ok"] is True
        Membership.objects.filter(user=user).update(role="viewer")
        while not client.is_silent(1.0):  # its own event may still come
            pass
        assert client.result("c2", command)["rejection"]["type"] == "forbidden"


def test_nothing_is_sent_any_more_once_access_has_ended(place: Place, server: live.Server) -> None:
    row, key = place.named_key()
    with live.client(server, place.id, key=key) as client:
        client.live()
        ApiKey.objects.filter(pk=row.pk).update(revoked_at=clock.now())
        assert client.close_code() == 4401
        place.say("secret")
        with pytest.raises(ConnectionClosed):
            client.receive()


def test_the_hosts_hooks_are_asked_for_open_sockets_too(
    place: Place, strict_server: live.Server
) -> None:
    server = strict_server
    secret, plain = place.open_thread("secret"), place.open_thread("plain")
    with (
        live.client(server, place.id, key=place.key(name="hidden_from")) as barred,
        live.client(server, place.id, key=place.key(name="refused_when_asked")) as refused,
        live.client(server, place.id, key=place.key(name="free")) as free,
    ):
        assert [frame["seq"] for frame in free.live()] == [1, 2]
        assert [frame["seq"] for frame in barred.live()] == [2]
        refused.live()
        run_id = place.start_run(secret)
        writer = place.workspace.as_actor(core.UserActor(id="1"))
        writer.commit(core.PostMessage(thread_id=plain, content="hi", kind="notice"))
        assert free.events(up_to=4) == [3, 4]
        assert barred.events(up_to=4) == [4]
        denied = barred.result("c1", {"type": "watch_run", "run_id": run_id})
        assert denied["rejection"]["type"] == "not_found"
        writer.commit(core.CreateThread(title="no more"))
        assert refused.close_code() == 4403
    with live.client(server, place.id, key=place.key(name="refused_when_asked")) as client:
        assert client.close_code() == 4403


def test_a_hosts_own_way_to_tell_callers(place: Place, started: Callable[..., live.Server]) -> None:
    server = started(**QUICK, RESOLVE_ACTOR="tests.e2e.hooks.resolve")
    with live.client(server, place.id, additional={"X-Host-User": "nobody"}) as client:
        assert client.close_code() == 4401
    with live.client(
        server, place.id, additional={"X-Host-User": place.row.tenant.public_id}
    ) as one:
        one.live()
        place.workspace.as_actor(core.UserActor(id="1")).commit(core.CreateThread(title="no more"))
        assert one.close_code() == 4401

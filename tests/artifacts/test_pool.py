"""The pool's threads and their connections: kept from call to call, let go when nothing comes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import OperationalError, connection, connections
from django.test import override_settings

from artifacts import pool
from artifacts.pool import at_all_events, close_pool, in_pool
from tests.support.sites import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _pool_ends() -> Iterator[None]:
    close_pool()
    yield
    close_pool()


def in_turn(*calls: Callable[[], Any]) -> list[Any]:
    """What the calls give, each after the other."""

    async def go() -> list[Any]:
        return [await in_pool(call) for call in calls]

    return asyncio.run(go())


def used() -> Any:
    """The driver's connection that a query of this thread went over."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return connection.connection


def test_one_call_after_the_other_goes_over_the_same_connection() -> None:
    first, *others = in_turn(*[used] * 5)
    assert all(each is first for each in others)


def test_control_a_connection_that_outlived_its_age_is_not_kept() -> None:
    def aged() -> Any:
        raw = used()
        connection.settings_dict = {**connection.settings_dict, "CONN_MAX_AGE": 0.001}
        connection.close_at = 0.0
        return raw

    first, second = in_turn(aged, used)
    assert second is not first


def test_a_call_that_left_its_connection_unusable_costs_the_next_one_nothing() -> None:
    if connection.vendor == "sqlite":
        pytest.skip("a file does not go away")

    def broken() -> Any:
        raw = used()
        raw.close()
        with pytest.raises(Exception, match="closed"):
            used()
        return raw

    first, second = in_turn(broken, used)
    assert second is not first


def test_a_connection_that_died_while_nothing_was_asked_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("a file does not go away")

    monkeypatch.setattr(pool, "TRUSTED_SECONDS", 0.0)

    def dies() -> Any:
        raw = used()
        raw.close()
        return raw

    first, second = in_turn(dies, used)
    assert second is not first


def test_a_transaction_that_was_left_open_is_given_up() -> None:
    def left_open() -> Any:
        raw = used()
        connection.set_autocommit(False)
        return raw

    first, second = in_turn(left_open, used)
    assert second is not first


def test_a_thread_with_nothing_to_do_ends_and_closes_its_connections(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pool, "IDLE_SECONDS", 0.05)
    kept: list[Any] = []

    def keep() -> threading.Thread:
        used()
        kept.append(connections[connection.alias])
        return threading.current_thread()

    [thread] = in_turn(keep)
    wait_until(lambda: not thread.is_alive())
    assert kept[0].connection is None
    assert in_turn(used)  # by a new one


def test_calls_beyond_the_threads_wait_and_are_all_made() -> None:
    async def go() -> list[int]:
        return list(await asyncio.gather(*(in_pool(abs, n) for n in range(50))))

    with override_settings(ARTIFACTR={"POOL_THREADS": 2}):
        assert asyncio.run(go()) == list(range(50))


def test_what_a_call_raises_is_its_callers_and_the_thread_goes_on() -> None:
    def fails() -> None:
        raise OperationalError("no")

    def ends() -> None:
        raise SystemExit

    async def go() -> list[str]:
        found = []
        for call in (fails, ends):
            try:
                await in_pool(call)
            except (OperationalError, SystemExit) as error:
                found.append(type(error).__name__)
        return [*found, await in_pool(lambda: "on")]

    assert asyncio.run(go()) == ["OperationalError", "SystemExit", "on"]


def test_a_stop_iteration_reaches_its_caller_as_an_error() -> None:
    """A future cannot be given one: whoever awaits it would wait for ever."""

    async def go() -> None:
        with pytest.raises(RuntimeError, match="StopIteration"):
            await asyncio.wait_for(in_pool(next, iter(())), 60)

    asyncio.run(go())


def test_a_connection_that_cannot_be_closed_keeps_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raised: list[Any] = []

    def unclosable() -> Any:
        raw, wrapper = used(), connections[connection.alias]

        def fails() -> None:
            raised.append(raw)
            raw.close()
            raise OperationalError("no")

        wrapper.errors_occurred = True
        monkeypatch.setattr(wrapper, "is_usable", lambda: False)
        monkeypatch.setattr(wrapper, "close", fails)
        return raw

    async def go() -> list[Any]:
        return [await asyncio.wait_for(in_pool(call), 60) for call in (unclosable, used)]

    first, second = asyncio.run(go())
    assert raised == [first]
    assert second is not first


def test_what_is_to_be_done_at_all_events_is_done_though_its_caller_leaves_again_and_again() -> (
    None
):
    begun, go_on, done = threading.Event(), threading.Event(), []

    def give_back() -> None:
        begun.set()
        assert go_on.wait(60)
        used()
        pool.raise_if_cancelled()
        done.append(True)

    async def go() -> None:
        task = asyncio.create_task(at_all_events(give_back))
        assert await asyncio.to_thread(begun.wait, 60)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(go())
    assert done == [True]


def test_a_closed_pool_has_made_what_was_asked_of_it() -> None:
    inside, go_on, made = threading.Event(), threading.Event(), []

    def slow(number: int) -> None:
        inside.set()
        assert go_on.wait(60)
        made.append(number)

    async def go() -> None:
        calls = [asyncio.create_task(in_pool(slow, number)) for number in range(3)]
        assert await asyncio.to_thread(inside.wait, 60)
        closing = asyncio.create_task(asyncio.to_thread(close_pool))
        go_on.set()
        await asyncio.gather(*calls, closing)

    with override_settings(ARTIFACTR={"POOL_THREADS": 1}):
        asyncio.run(go())
    assert sorted(made) == [0, 1, 2]

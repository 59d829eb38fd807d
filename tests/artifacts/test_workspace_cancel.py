"""Async twins: bounded threads, and a cancelled caller that leaves nothing behind."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest
from django.db import connection
from django.test import override_settings

from artifacts import extensions
from artifacts.core import AppEvent, CreateArtifact, NotFound
from artifacts.extensions import Committed, Transaction
from artifacts.pool import close_pool, in_pool
from artifacts.workspace import aopen_workspace
from tests.support.builders import make_artifact
from tests.support.cast import ANA, Cast
from tests.support.racing import PATIENCE
from tests.support.verify import assert_whole, log_of

T = TypeVar("T")


class Hold:
    """Goes along with a commit and keeps its transaction open until it is let go."""

    def __init__(self) -> None:
        self.inside, self.go_on = threading.Event(), threading.Event()

    def __call__(self, tx: Transaction) -> None:
        self.inside.set()
        assert self.go_on.wait(PATIENCE)

    async def reached(self) -> None:
        assert await asyncio.to_thread(self.inside.wait, PATIENCE)


def run(go: Callable[[], Coroutine[Any, Any, T]]) -> T:
    return asyncio.run(go())


def test_twins_do_what_the_methods_do(cast: Cast) -> None:
    async def go() -> None:
        ana = await aopen_workspace(cast.ana.id, actor=ANA)
        outcome = await ana.acommit(CreateArtifact(artifact_id="art_1", kind="paper"))
        assert (outcome.seq, await ana.ahead_seq()) == (1, 1)
        assert (await ana.aartifact("art_1")).version == 1
        assert len(await ana.aread(last=5)) == 1
        await ana.asave_cursor("mirror", 1)
        assert await ana.acursor("mirror") == 1
        with pytest.raises(NotFound):
            await ana.aproposal("prp_none")
        with pytest.raises(NotFound):
            await aopen_workspace("wsp_none", actor=ANA)

    run(go)


def test_every_method_that_reaches_the_database_has_a_twin(cast: Cast) -> None:
    # `once` runs its caller's own work, in the thread that the caller chose for it.
    alone = {"as_actor", "fenced", "require", "transaction", "once", "follow", "afollow"}
    names = {name for name, each in vars(type(cast.ana)).items() if callable(each)}
    public = {name for name in names if not name.startswith("_")} - alone
    methods = {name for name in public if not (name.startswith("a") and name[1:] in public)}
    assert {f"a{name}" for name in methods} <= public


def test_no_more_threads_than_the_setting_says(cast: Cast) -> None:
    running, most = 0, 0
    lock, three = threading.Lock(), threading.Barrier(3)

    def work() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        three.wait(PATIENCE)
        with lock:
            running -= 1

    async def go() -> None:
        await asyncio.gather(*(in_pool(work) for _ in range(12)))

    close_pool()
    with override_settings(ARTIFACTR={"POOL_THREADS": 3}):
        run(go)
    assert most == 3


def test_a_caller_cancelled_inside_its_transaction_writes_nothing(cast: Cast) -> None:
    hold = Hold()

    async def go() -> None:
        task = asyncio.create_task(
            cast.ana.acommit(CreateArtifact(kind="paper"), command_id="cmd", also=[hold])
        )
        await hold.reached()
        for _ in range(3):  # insisting does not help: the transaction is waited for
            task.cancel()
            await asyncio.sleep(0.02)
            assert not task.done()
        hold.go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(go)
    assert log_of(cast.ana) == []
    assert cast.ana.commit(CreateArtifact(kind="paper"), command_id="cmd").seq == 1


def test_reactions_to_what_is_durable_run_though_the_caller_has_left(cast: Cast) -> None:
    inside, go_on, reacted = threading.Event(), threading.Event(), []

    def first(committed: Committed) -> None:
        inside.set()
        assert go_on.wait(PATIENCE)
        reacted.append(cast.system.record(AppEvent(name="noticed")).seq)

    def second(committed: Committed) -> None:
        reacted.append(committed.last_seq)

    async def go() -> None:
        task = asyncio.create_task(cast.ana.acommit(CreateArtifact(kind="paper")))
        assert await asyncio.to_thread(inside.wait, 30)
        with extensions.isolated():  # so that what is noticed is not noticed in turn
            extensions._reactions.clear()
            task.cancel()
            go_on.set()
            with pytest.raises(asyncio.CancelledError):
                await task

    with extensions.isolated():
        extensions.register_reaction(first)
        extensions.register_reaction(second)
        run(go)
    assert reacted == [2, 1]
    assert log_of(cast.ana) == [(1, "artifact_created"), (2, "app_event")]


def test_control_a_plain_thread_writes_for_a_caller_who_has_left(cast: Cast) -> None:
    hold = Hold()

    def commit() -> None:
        try:
            cast.ana.commit(CreateArtifact(kind="paper"), also=[hold])
        finally:
            connection.close()

    async def go() -> None:
        task = asyncio.create_task(asyncio.to_thread(commit))
        await hold.reached()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        hold.go_on.set()

    run(go)
    assert log_of(cast.ana) == [(1, "artifact_created")]


def test_a_caller_who_leaves_a_check_of_the_log_leaves_no_old_moment_behind(cast: Cast) -> None:
    """The next one on that thread would be shown the moment of the check, and could not write."""
    inside, go_on = threading.Event(), threading.Event()

    def verifier(workspace_pk: int) -> list[str]:
        inside.set()
        assert go_on.wait(PATIENCE)
        return []

    async def go() -> None:
        task = asyncio.create_task(cast.ana.averify())
        assert await asyncio.to_thread(inside.wait, PATIENCE)
        task.cancel()
        await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        for seq in (1, 2):
            assert (await cast.ana.acommit(CreateArtifact(kind="paper"))).seq == seq
            assert await cast.ana.ahead_seq() == seq

    with extensions.isolated(), override_settings(ARTIFACTR={"POOL_THREADS": 1}):
        extensions.register_verifier(verifier)
        run(go)


def test_work_that_has_not_begun_is_dropped(cast: Cast) -> None:
    hold = Hold()

    async def go() -> None:
        first = asyncio.create_task(cast.ana.acommit(CreateArtifact(kind="paper"), also=[hold]))
        await hold.reached()
        second = asyncio.create_task(cast.ana.acommit(CreateArtifact(kind="board")))
        await asyncio.sleep(0.02)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        hold.go_on.set()
        await first

    close_pool()
    with override_settings(ARTIFACTR={"POOL_THREADS": 1}):
        run(go)
    assert log_of(cast.ana) == [(1, "artifact_created")]


def test_callers_cancelled_at_random_leave_no_lock_and_no_broken_connection(cast: Cast) -> None:
    seed = random.randrange(2**32)
    print("seed", seed)
    chance = random.Random(seed)
    make_artifact(cast.system)

    async def one(number: int) -> str:
        fact = AppEvent(name=f"n{number}")
        task = asyncio.create_task(cast.system.arecord(fact))
        if chance.random() < 0.7:
            await asyncio.sleep(chance.random() * 0.02)
            task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return "cancelled"
        return fact.name

    async def go() -> list[str]:
        done: list[str] = []
        for start in range(0, 120, 6):
            done += await asyncio.gather(*(one(start + offset) for offset in range(6)))
        # Nothing is held: the next one goes through.
        async with asyncio.timeout(PATIENCE):
            await cast.system.arecord(AppEvent(name="last"))
        return done

    done = run(go)
    assert "cancelled" in done
    written = {each.event.name for each in cast.system.read(after_seq=1)}  # type: ignore[union-attr]
    assert {name for name in done if name != "cancelled"} | {"last"} <= written
    assert_whole(cast.system)
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                "AND state LIKE 'idle in transaction%'"
            )
            assert cursor.fetchone() == (0,)

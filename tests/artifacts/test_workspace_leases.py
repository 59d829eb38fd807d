"""Claims: one holder at a time, a token that rises, and a fence that keeps a lapsed holder out."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta

import pytest

from artifacts import clock, models
from artifacts.core import AppEvent, InvalidState
from artifacts.workspace import Fence, Workspace
from tests.support.builders import make_artifact
from tests.support.cast import Cast
from tests.support.racing import Background, together
from tests.support.verify import log_of


def test_one_holder_at_a_time(cast: Cast) -> None:
    fence = cast.ana.acquire_lease("thr_1", "a", 30)
    assert fence == Fence("thr_1", 1)
    assert cast.ana.acquire_lease("thr_1", "b", 30) is None
    assert cast.ana.acquire_lease("thr_1", "a", 30) is None
    assert cast.ana.acquire_lease("thr_2", "b", 30) == Fence("thr_2", 1)
    assert cast.otto.acquire_lease("thr_1", "b", 30) == Fence("thr_1", 1)


def test_the_token_rises_with_each_taking(cast: Cast) -> None:
    first = cast.ana.acquire_lease("thr_1", "a", 30)
    assert first
    cast.ana.release_lease(first)
    second = cast.ana.acquire_lease("thr_1", "b", 30)
    assert second == Fence("thr_1", 2)
    cast.ana.release_lease(first)  # not its own any more
    assert cast.ana.acquire_lease("thr_1", "c", 30) is None


def test_a_claim_lapses_and_cannot_be_renewed_then(cast: Cast) -> None:
    fence = cast.ana.acquire_lease("thr_1", "a", 30)
    assert fence
    with clock.moved(timedelta(seconds=20)):
        assert cast.ana.renew_lease(fence, 30)
    with clock.moved(timedelta(seconds=40)):
        assert cast.ana.acquire_lease("thr_1", "b", 30) is None
    with clock.moved(timedelta(seconds=51)):
        assert not cast.ana.renew_lease(fence, 30)
        assert cast.ana.acquire_lease("thr_1", "b", 30) == Fence("thr_1", 2)
        assert not cast.ana.renew_lease(fence, 30)


def test_a_write_needs_its_fence_to_hold(cast: Cast) -> None:
    fence = cast.system.acquire_lease("thr_1", "a", 30)
    assert fence
    writes: list[Callable[[Workspace], object]] = [
        lambda ws: ws.record(AppEvent(name="x"), fence=fence),
        lambda ws: ws.commit_all([AppEvent(name="x")], fence=fence),
        lambda ws: ws.commit_all([AppEvent(name="x")], fence=fence, command_id="once"),
    ]
    for write in writes:
        write(cast.system)
    assert len(log_of(cast.system)) == 3
    with clock.moved(timedelta(seconds=31)):
        for write in writes[:2]:
            with pytest.raises(InvalidState, match="claim on 'thr_1' was lost"):
                write(cast.system)
        with pytest.raises(InvalidState), cast.system.transaction(fence=fence) as tx:
            tx.record(AppEvent(name="x"))
        cast.system.acquire_lease("thr_1", "b", 30)
    with pytest.raises(InvalidState):
        writes[0](cast.system)
    assert len(log_of(cast.system)) == 3


def test_a_fence_of_another_claim_or_workspace_does_not_do(cast: Cast) -> None:
    fence = cast.otto.acquire_lease("thr_1", "a", 30)
    assert fence
    with pytest.raises(InvalidState):
        cast.system.record(AppEvent(name="x"), fence=fence)


def test_of_racing_takers_one_wins(cast: Cast) -> None:
    for attempt in range(1, 6):
        fences = together(6, lambda n: cast.ana.acquire_lease("thr_1", f"holder {n}", 30))
        assert [fence for fence in fences if fence] == [Fence("thr_1", attempt)]
        cast.ana.release_lease(Fence("thr_1", attempt))


def test_control_a_look_before_the_take_lets_several_win(cast: Cast) -> None:
    """What the conditional statement is for: looking first and writing then is a race."""
    looked = threading.Barrier(6)

    def take(number: int) -> bool:
        is_free = not models.Lease.objects.filter(workspace_id=cast.ana.pk, key="naive").exists()
        looked.wait()
        return is_free

    assert sum(together(6, take)) > 1


def test_renewing_beside_a_fenced_write_loses_neither(cast: Cast) -> None:
    """The holder's own thread renews while its commit has the claim locked."""
    fence = cast.system.acquire_lease("thr_1", "a", 30)
    assert fence
    with cast.system.transaction(fence=fence) as tx:
        tx.record(AppEvent(name="x"))
        renewing = Background(cast.system.renew_lease, fence, 30)
        renewing.join(0.2)
    assert renewing.result()
    assert len(log_of(cast.system)) == 1


def test_leases_take_no_number_of_the_log(cast: Cast) -> None:
    make_artifact(cast.ana)
    cast.ana.acquire_lease("thr_1", "a", 30)
    assert cast.ana.head_seq() == 1

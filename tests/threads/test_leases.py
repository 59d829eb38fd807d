"""The claim of a turn: renewed while it goes on, released after it, and lost for good."""

import threading
import time
from datetime import timedelta

import pytest

from artifacts import clock, core, telemetry
from artifacts.models import Lease
from artifacts.workspace import Fence, Workspace
from tests.support.models import Gate, Script, hosting, say
from tests.support.sites import wait_until
from tests.support.spans import recorded
from tests.threads.conftest import Chat
from tests.threads.test_turns import in_thread
from threads.services import leases

SHORT = {"LEASE_TTL_SECONDS": 1}


def test_it_is_renewed_from_its_own_thread_while_the_turn_goes_on(chat: Chat) -> None:
    chat.post("Take your time")
    gate = Gate(say("Done."))
    with hosting(Script(gate), LEASE_TTL_SECONDS=6):
        running = in_thread(chat.run_turn)
        assert gate.reached.wait(60)
        first = _lease(chat).expires_at
        wait_until(lambda: _lease(chat).expires_at > first)
        assert chat.workspace.acquire_lease(f"thread:{chat.id}", "another", 60) is None
        gate.opened.set()
        running.join(60)
    assert chat.said()[-1] == "Done."


def test_renewing_it_is_no_trace_of_its_own(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    traced: list[bool] = []
    renew = Workspace.renew_lease

    def renewing(self: Workspace, fence: Fence, ttl_seconds: float) -> bool:
        with telemetry.span("looked", {}) as span:
            traced.append(span.is_recording())
        return renew(self, fence, ttl_seconds)

    monkeypatch.setattr(Workspace, "renew_lease", renewing)
    with recorded(), leases.held(chat.workspace, "anything") as claim:
        assert claim is not None
        assert renewing(chat.workspace, claim.fence, 30)  # control: a caller's is traced
        assert claim._renewed()
    assert traced == [True, False]


def test_it_is_released_at_the_end(chat: Chat) -> None:
    chat.post("Hello?")
    with hosting(Script(say("Hello."))):
        chat.run_turn()
    assert chat.workspace.acquire_lease(f"thread:{chat.id}", "another", 60) is not None


def test_a_turn_is_cancelled_when_its_claim_is_lost(chat: Chat) -> None:
    chat.post("Take your time")
    gate = Gate(say("Too late."))
    with hosting(Script(gate), **SHORT):
        running = in_thread(chat.run_turn)
        assert gate.reached.wait(60)
        with clock.moved(timedelta(hours=1)):
            assert chat.workspace.acquire_lease(f"thread:{chat.id}", "another", 7200)
        running.join(60)  # nobody opens the gate
        assert not running.is_alive()
        gate.opened.set()
    assert chat.said() == ["Take your time"]


def test_a_database_that_is_away_does_not_cost_the_claim(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only another holder takes it; until then the fence of the next write decides."""
    tried = threading.Event()

    def away(*args: object) -> bool:
        tried.set()
        raise core.Unavailable

    monkeypatch.setattr(Workspace, "renew_lease", away)
    with hosting(Script(), **SHORT), leases.held(chat.workspace, "anything") as claim:
        assert claim is not None
        assert tried.wait(60)
        time.sleep(0.1)
        assert not claim.is_lost


def _lease(chat: Chat) -> Lease:
    return Lease.objects.get(key=f"thread:{chat.id}")

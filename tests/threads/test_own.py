"""A host that runs its agent itself keeps the same log and history as turns do."""

import asyncio
import threading
from datetime import timedelta
from typing import Any

import pytest
from pydantic_ai import DeferredToolRequests, RunContext
from pydantic_ai.exceptions import RunCancelled
from pydantic_ai.models.function import FunctionModel

from artifacts import clock, core
from artifacts.models import Lease
from artifacts.pool import in_pool
from artifacts.workspace import LeaseLost
from tests.support.cast import ANA, BEN
from tests.support.models import Script, agent_with, call, hosting, say
from tests.support.racing import Background
from tests.support.sites import wait_until
from tests.threads.conftest import Chat
from tests.threads.dying import Killed, after_the_wait, die_at_once, dies, killed
from tests.threads.test_pauses import ASK
from tests.threads.test_stopping import Endless
from threads.agent import Session, load_history, own
from threads.agent.own import OwnTurn
from threads.services import leases, turns, watching


def run(chat: Chat, model: FunctionModel, prompt: str, **kwargs: Any) -> Any:
    """One run of an agent of the host's own, on its own loop."""

    async def go() -> Any:
        return await agent_with(model, **kwargs).run(
            prompt,
            deps=Session.start(chat.workspace, chat.id, app="theirs"),
            message_history=await load_history(chat.workspace, chat.id),
        )

    return Background(lambda: asyncio.run(go())).result()


def test_it_leaves_the_log_of_a_turn(chat: Chat) -> None:
    script = Script(call("create_artifact", kind="paper", data={"text": "x"}), say("Done."))
    result = run(chat, script.model, "Write")
    assert result.output == "Done."
    types = [each.event.type for each in chat.workspace.read()][1:]
    assert types == [
        "run_started",
        "tool_called",
        "artifact_created",
        "focus_changed",
        "tool_returned",
        "message_posted",
        "run_ended",
    ]
    (started,) = chat.events(core.RunStarted)
    assert started.trigger == "api"
    assert chat.workspace.read()[-1].actor.on_behalf_of == ANA  # type: ignore[union-attr]
    (ended,) = chat.events(core.RunEnded)
    assert ended.usage["requests"] == 2
    assert chat.workspace.verify() == []


def test_turns_and_own_runs_share_one_history(chat: Chat) -> None:
    run(chat, Script(say("One.")).model, "First")
    chat.post("Second")
    script = Script(say("Two."))
    with hosting(script):
        chat.run_turn()
    assert script.prompts(0) == ["First", "Second"]
    third = Script(say("Three."))
    run(chat, third.model, "Third")
    assert third.prompts(0) == ["First", "Second", "Third"]


def test_it_is_steered_and_told_what_changed(chat: Chat) -> None:
    async def says(messages: object) -> Any:
        await in_pool(lambda: chat.post("Faster", actor=BEN))
        return call("list_artifacts")

    script = Script(says, say("Done."))
    run(chat, script.model, "Begin")
    assert script.prompts(1) == ["Begin", "Ben wrote meanwhile:", "Faster"]
    with hosting(Script()):
        chat.run_turn()  # nothing is left for a turn
    assert len(chat.runs()) == 1


def test_tools_have_the_hosts_things(chat: Chat) -> None:
    seen = []

    def look(ctx: RunContext[Session[Any]]) -> str:
        seen.append((ctx.deps.app, ctx.deps.run_id))
        return "seen"

    run(chat, Script(call("look"), say("ok")).model, "Look", tools=[look])
    assert seen == [("theirs", chat.runs()[0].id)]


def test_a_failure_ends_the_run_and_reaches_the_caller(chat: Chat) -> None:
    async def breaks(messages: object) -> Any:
        raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        run(chat, Script(breaks).model, "Try")
    (ended,) = chat.events(core.RunEnded)
    assert (ended.status, ended.reason) == ("failed", "internal_error")
    assert run(chat, Script(say("Fine.")).model, "Again").output == "Fine."


def test_one_run_at_a_time_whoever_drives_it(chat: Chat) -> None:
    chat.post("Hello?")
    inside: list[str] = []

    async def meanwhile(messages: object) -> Any:
        await in_pool(chat.run_turn)  # a worker's wake-up meets the claim
        inside.extend(each.status for each in await in_pool(chat.runs))
        return say("Done.")

    with hosting(Script(say("Hello."))):
        run(chat, Script(meanwhile).model, "Begin")
        assert inside == ["running"]
        chat.run_turn()
    assert [each.trigger for each in chat.events(core.RunStarted)] == ["api", "message"]
    assert chat.said() == ["Hello?", "Done.", "Hello."]


def test_it_begins_though_a_dead_process_left_a_run(chat: Chat) -> None:
    chat.post("Hello?")
    die_at_once(chat)
    assert run(chat, Script(say("Done.")).model, "Begin").output == "Done."
    assert [each.status for each in chat.runs()] == ["failed", "completed"]
    with hosting(Script(say("Hello."))), clock.moved(timedelta(minutes=3)):
        chat.run_turn()  # the message was not forgotten
    assert chat.said() == ["Hello?", "Done.", "Hello."]


def test_cancelling_it_ends_it_as_stopped(chat: Chat) -> None:
    endless = Endless()

    async def go() -> None:
        agent = agent_with(Script(endless).model)
        task = asyncio.create_task(agent.run("Wait", deps=Session.start(chat.workspace, chat.id)))
        await asyncio.to_thread(endless.reached.wait, 60)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    Background(lambda: asyncio.run(go())).result()
    assert [each.status for each in chat.runs()] == ["stopped"]


def assert_free(chat: Chat) -> None:
    """Nobody holds the thread, nor a thread of this process that would renew the claim for ever."""
    assert chat.workspace.acquire_lease(f"thread:{chat.id}", "a test", 1)
    assert [each.name for each in threading.enumerate() if each.name.startswith("renew")] == []


def test_a_caller_who_leaves_while_the_thread_is_claimed_leaves_no_claim(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    claimed, go_on = threading.Event(), threading.Event()
    start = leases.Claim.start

    def started(claim: leases.Claim) -> None:
        start(claim)
        claimed.set()
        assert go_on.wait(60)

    async def go() -> None:
        agent = agent_with(Script().model)
        task = asyncio.create_task(agent.run("Wait", deps=Session.start(chat.workspace, chat.id)))
        assert await asyncio.to_thread(claimed.wait, 60)
        task.cancel()
        await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    monkeypatch.setattr(leases.Claim, "start", started)
    Background(lambda: asyncio.run(go())).result()
    assert_free(chat)
    assert chat.runs() == []


def test_a_caller_who_leaves_again_while_the_run_ends_ends_it_all_the_same(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless, ending, go_on = Endless(), threading.Event(), threading.Event()
    end = own.end

    def slowly(*args: Any) -> Any:
        ending.set()
        assert go_on.wait(60)
        return end(*args)

    async def go() -> None:
        agent = agent_with(Script(endless).model)
        task = asyncio.create_task(agent.run("Wait", deps=Session.start(chat.workspace, chat.id)))
        assert await asyncio.to_thread(endless.reached.wait, 60)
        task.cancel()
        assert await asyncio.to_thread(ending.wait, 60)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    monkeypatch.setattr(own, "end", slowly)
    Background(lambda: asyncio.run(go())).result()
    assert [each.status for each in chat.runs()] == ["stopped"]
    assert_free(chat)


def endless_run(chat: Chat) -> Background:
    """A run of the host's own that has begun, and goes on until something cuts it short."""
    endless = Endless()
    script = Script(call("list_artifacts"), endless)
    background = Background(lambda: run(chat, script.model, "Wait"))
    assert endless.reached.wait(60), "the run did not begin"
    return background


def test_it_is_stopped_from_anywhere_and_its_caller_is_told(chat: Chat) -> None:
    going_on = endless_run(chat)
    (begun,) = chat.runs()
    watching.stop_run(chat.workspace, begun.id)
    with pytest.raises(RunCancelled):
        going_on.result()
    (ended,) = chat.events(core.RunEnded)
    assert (ended.status, ended.usage["requests"]) == ("stopped", 1)
    assert run(chat, Script(say("Here.")).model, "Again").output == "Here."


def take_over(chat: Chat) -> None:
    """Another process holds the thread, since the claim had lapsed."""
    with clock.moved(timedelta(hours=1)):
        assert chat.workspace.acquire_lease(f"thread:{chat.id}", "another process", 7200)


def test_it_is_cut_short_when_its_claim_is_lost(chat: Chat, settings: Any) -> None:
    settings.ARTIFACTR = {**settings.ARTIFACTR, "LEASE_TTL_SECONDS": 1}
    going_on = endless_run(chat)
    take_over(chat)
    with pytest.raises(RunCancelled):
        going_on.result()
    # What became of it, whoever holds the thread now will say.
    assert [each.status for each in chat.runs()] == ["running"]


def test_its_tools_write_nothing_once_its_claim_is_lost(chat: Chat) -> None:
    kept: list[Session[Any]] = []

    async def write(ctx: RunContext[Session[Any]]) -> str:
        await in_pool(take_over, chat)
        command = core.CreateArtifact(kind="paper", data={"text": "Too late."})
        await ctx.deps.workspace.acommit(command)
        raise AssertionError("it was written")

    with pytest.raises(LeaseLost):
        run(chat, Script(call("write")).model, "Write", tools=[write])
    assert chat.events(core.ArtifactCreated) == []
    assert chat.events(core.RunEnded) == []

    def keep(ctx: RunContext[Session[Any]]) -> str:
        kept.append(ctx.deps)
        return "kept"

    Lease.objects.all().delete()
    run(chat, Script(call("keep"), say("ok")).model, "Keep it", tools=[keep])
    with pytest.raises(LeaseLost):  # nor after its end
        kept[0].workspace.commit(core.CreateArtifact(kind="paper", data={"text": "Later."}))
    assert chat.events(core.ArtifactCreated) == []


def test_its_pause_goes_on_in_a_turn(chat: Chat) -> None:
    output = [str, DeferredToolRequests]
    run(chat, Script(ASK).model, "Paint it", output_type=output)
    (paused,) = chat.runs()
    assert paused.status == "paused"
    chat.workspace.commit(
        core.AnswerDeferred(
            run_id=paused.id, tool_call_id=paused.pending[0].tool_call_id, answer="blue"
        )
    )
    with hosting(agent_with(Script(say("Blue.")).model, output_type=output)):
        chat.run_turn()
    assert [each.status for each in chat.runs()] == ["completed"]
    assert chat.said() == ["Blue."]


def test_a_turn_that_goes_on_with_its_pause_is_taken_again(chat: Chat) -> None:
    output = [str, DeferredToolRequests]
    run(chat, Script(ASK).model, "Paint it", output_type=output)
    (paused,) = chat.runs()
    chat.workspace.commit(
        core.AnswerDeferred(
            run_id=paused.id, tool_call_id=paused.pending[0].tool_call_id, answer="blue"
        )
    )
    script = Script(killed, say("Blue."))
    with hosting(agent_with(script.model, output_type=output)):
        dies(chat)
        with after_the_wait(chat):
            chat.run_turn()
            assert turns.sweep() == 0
    assert [each.status for each in chat.runs()] == ["failed", "completed"]
    assert chat.said() == ["Blue."]


def test_one_whose_process_died_is_recorded_and_not_taken_again(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Killed):
        run_and_die(chat, monkeypatch, Script(killed))
    assert [each.status for each in chat.runs()] == ["running"]
    wait_until(lambda: turns.sweep() == 1)
    with hosting(Script(say("Hello."))):
        chat.run_turn()
        (ended,) = chat.events(core.RunEnded)
        assert (ended.status, ended.reason) == ("failed", "abandoned")
        chat.post("Hello?")
        chat.run_turn()
    (_, second) = chat.events(core.RunStarted)
    assert second.retry_of is None
    assert chat.said() == ["Hello?", "Hello."]


def run_and_die(chat: Chat, monkeypatch: pytest.MonkeyPatch, script: Script) -> None:
    """The process is gone before it can say how the run ended."""

    async def gone(*args: object) -> None:
        return None

    with monkeypatch.context() as patch:
        patch.setattr(OwnTurn, "_end", gone)
        run(chat, script.model, "Begin")


def test_an_agent_without_the_capability_has_no_run(chat: Chat) -> None:
    async def tool(ctx: RunContext[Session[Any]]) -> str:
        await ctx.deps.record(core.AppEvent(name="seen", thread_id=chat.id))
        return "ok"

    with pytest.raises(core.InvalidState, match="has not begun"):
        run(chat, Script(call("tool")).model, "Try", tools=[tool], capabilities=[])
    assert chat.runs() == []

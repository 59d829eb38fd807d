"""Turns: what the log, the history and the live frames add to a run of pydantic-ai.

Per tool call and per text delta, the same agent runs as a turn and bare, in this process; what a
run costs without any is taken off. Turns a second are those of two Celery workers.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from celery import current_app, shared_task
from django.conf import settings
from django.test import override_settings
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from redis import Redis

from artifacts.core import CreateThread, PostMessage, new_id
from artifacts.workspace import Workspace
from benchmarks import scenes
from benchmarks.measure import timed
from tests.support.servers import redis
from threads import models
from threads.agent import ArtifactWorkspace, Hosted, Session, function_model
from threads.agent.turn import take_turn

CALLS, WORDS = 20, 1_000
WORKERS, THREADS = 2, 50
SECONDS = 300.0


def _answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """As many calls or words as the message asks for: `calls 20`, `words 1000`."""
    what, number = _asked(messages)
    if what == "calls":
        came = sum(isinstance(part, ToolReturnPart) for each in messages for part in each.parts)
        if came < number:
            return ModelResponse(parts=[ToolCallPart("note", {"text": f"Note {came}"})])
        return ModelResponse(parts=[TextPart("Done.")])
    return ModelResponse(parts=[TextPart("word " * number + "end")])


def _asked(messages: list[ModelMessage]) -> tuple[str, int]:
    for message in messages:
        for part in message.parts:
            if part.part_kind == "user-prompt":
                text = part.content if isinstance(part.content, str) else str(part.content[-1])
                what, number = text.split()
                return what, int(number)
    raise ValueError("nothing was asked")


def note(text: str) -> str:
    """Take a note."""
    return f"Noted: {text}"


def model() -> FunctionModel:
    return function_model(_answer, name="bench")


hosted = Hosted(
    Agent(
        model(),
        deps_type=Session,
        tools=[note],
        capabilities=[ArtifactWorkspace(types=[scenes.BenchDoc])],
    )
)
bare = Agent(model(), tools=[note])


def per_call(seconds: float) -> dict[str, Any]:
    return _beside(f"calls {CALLS}", "calls 0", CALLS, seconds)


def per_delta(seconds: float) -> dict[str, Any]:
    return _beside(f"words {WORDS}", "words 0", WORDS, seconds)


@shared_task(name="benchmarks.bare_turn", ignore_result=True)
def bare_turn(key: str) -> None:
    """The floor of a turn: its task and its agent, and nothing that is kept."""
    with asyncio.Runner() as runner:
        runner.run(_bare("calls 1"))
    _redis().incr(key)


def turns_per_second(workspace: Workspace) -> dict[str, float]:
    """How many turns of one tool call two workers end in a second, in threads of their own, and how
    many they would end that keep nothing."""
    with _workers():
        _answered(workspace, [_thread(workspace, "calls 1") for _ in range(WORKERS * 2)])
        threads = [_open(workspace) for _ in range(THREADS)]
        started = time.perf_counter()
        for thread_id in threads:
            workspace.commit(PostMessage(thread_id=thread_id, content="calls 1"))
        _answered(workspace, threads)
        ours = THREADS / (time.perf_counter() - started)
        _bare_turns(WORKERS * 2)
        floor = THREADS / _bare_turns(THREADS)
    return {
        "per_second": round(ours, 1),
        "bare_per_second": round(floor, 1),
        "ratio": round(ours / floor, 3),
    }


def _bare_turns(number: int) -> float:
    """Seconds until the workers have run the agent so often."""
    key = new_id("bench")
    started = time.perf_counter()
    for _ in range(number):
        bare_turn.apply_async((key,), retry=False)
    _wait(lambda: int(_redis().get(key) or 0) >= number)
    return time.perf_counter() - started


def _redis() -> Any:
    """The broker's server."""
    return Redis.from_url(current_app.conf.broker_url)


def _beside(text: str, nothing: str, number: int, seconds: float) -> dict[str, Any]:
    workspace = scenes.opened(scenes.new_workspace(text))
    with _broker("memory://"):  # nobody else takes the turns
        ours = _each(lambda wanted: _turn(workspace, wanted), text, nothing, number, seconds)
    with asyncio.Runner() as runner:
        floor = _each(lambda wanted: runner.run(_bare(wanted)), text, nothing, number, seconds)
    return {
        "ours_us": round(ours, 1),
        "bare_us": round(floor, 1),
        "added_us": round(ours - floor, 1),
    }


def _each(
    run: Callable[[str], object], text: str, nothing: str, number: int, seconds: float
) -> float:
    """Microseconds of one call or delta, at the median."""
    full = timed(lambda: run(text), seconds=seconds, warm_up=2).p50_ms
    empty = timed(lambda: run(nothing), seconds=seconds / 2, warm_up=2).p50_ms
    return (full - empty) * 1000 / number


def _turn(workspace: Workspace, text: str) -> None:
    take_turn(workspace.id, _thread(workspace, text))


async def _bare(text: str) -> None:
    async def drained(_: Any, events: Any) -> None:
        async for _event in events:
            pass

    with Agent.parallel_tool_call_execution_mode("sequential"):
        await bare.run([text], event_stream_handler=drained)


def _thread(workspace: Workspace, text: str) -> str:
    thread_id = _open(workspace)
    workspace.commit(PostMessage(thread_id=thread_id, content=text))
    return thread_id


def _open(workspace: Workspace) -> str:
    opened = CreateThread(title="bench")
    workspace.commit(opened)
    return opened.thread_id


def _answered(workspace: Workspace, threads: list[str]) -> None:
    """Wait until every thread has a run that ended well."""
    runs = models.Run.objects.filter(workspace_id=workspace.pk, thread__public_id__in=threads)

    def are_completed() -> bool:
        ended = Counter(runs.values_list("status", flat=True))
        if failed := ended["failed"]:
            raise RuntimeError(f"{failed} turns failed")
        return ended["completed"] == len(threads)

    _wait(are_completed)


def _wait(done: Callable[[], bool]) -> None:
    until = time.monotonic() + SECONDS
    while not done():
        if time.monotonic() > until:
            raise RuntimeError("the workers did not end in time")
        time.sleep(0.01)


@contextmanager
def _broker(url: str) -> Iterator[None]:
    """This process's wake-ups go to a broker."""
    before = current_app.conf.broker_url
    _connect_to(url)
    try:
        with override_settings(ARTIFACTR={**settings.ARTIFACTR, "EXECUTOR": "celery"}):
            yield
    finally:
        _connect_to(before)


def _connect_to(url: str) -> None:
    current_app.conf.broker_url = url
    # It would go on sending over the connections that it has.
    current_app.amqp._producer_pool = current_app._pool = None


@contextmanager
def _workers() -> Iterator[None]:
    """Two workers of one process each, and this process's wake-ups going to them."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="artifactr-workers-")))
        url = stack.enter_context(redis())
        stack.enter_context(_broker(url))
        for number in range(WORKERS):
            stack.callback(_end, _worker(number, url, folder))
        yield


def _worker(number: int, url: str, folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "celery", "-A", "artifactr_site", "worker"]
    options = ["-c", "1", "-n", f"bench{number}@%h", "-l", "WARNING", "-I", __name__]
    with (folder / f"{number}.log").open("wb") as log:
        return subprocess.Popen(
            [*command, *options], env={**os.environ, "REDIS_URL": url}, stdout=log, stderr=log
        )


def _end(worker: subprocess.Popen[bytes]) -> None:
    worker.terminate()
    try:
        worker.wait(30)
    except subprocess.TimeoutExpired:
        worker.kill()

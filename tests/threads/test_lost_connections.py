"""The database's server drops a connection in the middle of a turn."""

import asyncio
from typing import Any

import pytest
from django.db import connection, connections
from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse

from artifacts import core, pool
from tests.support.models import Script, agent_with, call, hosting, say
from tests.support.racing import Background
from tests.threads.conftest import Chat


def server_pid() -> int:
    """Of this thread's connection."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        pid: int = cursor.fetchone()[0]
        return pid


def drop(*pids: int) -> list[bool]:
    """End the server's side of these connections; whether it was there."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pid, 60000) FROM unnest(%s) pid", [[*pids]])
            return [ended for (ended,) in cursor.fetchall()]
    finally:
        connections.close_all()


@pytest.fixture(autouse=True)
def _only_servers(chat: Chat) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("a file drops no connection")


def test_a_turn_whose_own_connection_dropped_while_its_model_thought_ends_well(chat: Chat) -> None:
    pids: list[int] = []
    dropped: list[bool] = []

    async def thinks(messages: list[ModelMessage]) -> ModelResponse:
        dropped.extend(await asyncio.to_thread(drop, *pids))
        return say("Fine.")

    def turn() -> None:
        connections.close_all()
        pids.append(server_pid())
        chat.run_turn()

    chat.post("Go")
    with hosting(Script(thinks)):
        Background(turn).result()
    assert dropped == [True]
    (ended,) = chat.events(core.RunEnded)
    assert (ended.status, chat.said()) == ("completed", ["Go", "Fine."])


def test_a_step_whose_connection_drops_ends_the_turn_as_unavailable(chat: Chat) -> None:
    dropped: list[bool] = []

    async def tool(ctx: RunContext[Any]) -> str:
        pid = await pool.in_pool(server_pid)
        dropped.extend(await asyncio.to_thread(drop, pid))
        return "done"

    script = Script(call("tool"), say("Fine."))
    chat.post("Go")
    with hosting(agent_with(script.model, tools=[tool])):
        chat.run_turn()
    assert dropped == [True]
    (ended,) = chat.events(core.RunEnded)
    assert (ended.status, ended.reason) == ("failed", "unavailable")
    with hosting(Script(say("Again."))):
        chat.post("And now?")
        chat.run_turn()
    assert chat.said()[-1] == "Again."

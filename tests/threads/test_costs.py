"""What a turn asks of its database: counted in every thread, and the same however long it goes."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.db.backends.signals import connection_created
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolReturnPart

from artifacts import core, pool
from artifacts.workspace import database
from tests.support.models import Script, agent_with, call, hosting, say
from tests.threads.conftest import Chat
from threads.agent import history

# Threads that look for stops and renew claims: by the clock, whatever the turn does.
BY_THE_CLOCK = ("turns", "renew ")
POOLED = "artifactr"  # the pool's threads
A_DAY = 86_400.0
TURNS = 4
CALL = {"statements": 14, "transactions": 2, "hops": 4}


class Counted:
    """Statements and transactions of all threads, calls into the pool, and its connections."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def note(self, what: str, number: int = 1) -> None:
        if threading.current_thread().name.startswith(BY_THE_CLOCK):
            return
        with self._lock:
            self.counts[what] += number


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    seen = Counted()
    kind = type(database())
    run, enter, submit = kind._run, transaction.Atomic.__enter__, pool._submit

    def running(self: Any, statements: Any) -> Any:
        seen.note("statements", len(statements))
        return run(self, statements)

    def entering(self: Any) -> Any:
        if not connections[self.using or "default"].in_atomic_block:
            seen.note("transactions")
        return enter(self)

    def submitting(made: Any) -> None:
        seen.note("hops")
        submit(made)

    def through_django(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if not sql.startswith("BEGIN"):
            seen.note("statements")
        return execute(sql, *rest)

    def connecting(connection: Any, **_: Any) -> None:
        if threading.current_thread().name == POOLED:
            seen.note("connections")
        if through_django not in connection.execute_wrappers:  # it may connect again
            connection.execute_wrappers.append(through_django)

    pool.close_pool()
    with monkeypatch.context() as patch:
        # A machine that stands still for a while is no reason to connect again.
        patch.setattr(pool, "IDLE_SECONDS", A_DAY)
        patch.setattr(pool, "TRUSTED_SECONDS", A_DAY)
        patch.setattr(kind, "_run", running)
        patch.setattr(transaction.Atomic, "__enter__", entering)
        patch.setattr(pool, "_submit", submitting)
        connection_created.connect(connecting, weak=False, dispatch_uid="counted")
        try:
            with connection.execute_wrapper(through_django):
                yield seen.counts
            pool.close_pool()  # whose connections are counted on
        finally:
            connection_created.disconnect(dispatch_uid="counted")


def calling(number: int) -> Script:
    return Script(*[call("note", text=f"Note {each}") for each in range(number)], say("Done."))


def note(text: str) -> str:
    """Take a note."""
    return f"Noted: {text}"


def cost_of(chat: Chat, calls: int, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    script = calling(calls)
    with hosting(agent_with(script.model, tools=[note])):
        chat.post("Go on")
        with counted(monkeypatch) as counts:
            chat.run_turn()
    assert chat.said()[-1] == "Done."
    return counts


def test_a_tool_call_costs_two_transactions_and_few_statements(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounded: a statement more in a whole turn is not one more for each call."""
    cost_of(chat, 1, monkeypatch)  # which makes the row of its claim
    few, many = cost_of(chat, 2, monkeypatch), cost_of(chat, 9, monkeypatch)
    assert {what: round((many[what] - few[what]) / 7) for what in CALL} == CALL


def test_a_turn_does_not_cost_more_as_its_thread_grows(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    cost_of(chat, 1, monkeypatch)
    first = cost_of(chat, 3, monkeypatch)
    for _ in range(TURNS):
        cost_of(chat, 6, monkeypatch)
    last = cost_of(chat, 3, monkeypatch)
    # What grew by one for each turn before it, or by more.
    assert {what: last[what] for what in CALL if last[what] >= first[what] + TURNS} == {}


def test_the_steps_of_a_turn_go_over_one_connection(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of the pool's, whatever the number of calls."""
    assert cost_of(chat, 12, monkeypatch)["connections"] == 1


def test_others_writing_is_met_by_the_next_request(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look that costs one statement while nobody else writes overlooks nothing else."""
    papers: list[str] = []

    async def meanwhile(messages: list[ModelMessage]) -> ModelResponse:
        created = core.CreateArtifact(kind="paper", data={"text": "Hello"})
        await chat.workspace.acommit(created)
        papers.append(created.artifact_id)
        await pool.in_pool(chat.post, f"See {created.artifact_id}")
        return call("note", text="seen")

    script = Script(
        call("note", text="1"), meanwhile, call("note", text="2"), meanwhile, say("Done.")
    )
    with hosting(agent_with(script.model, tools=[note])):
        chat.post("Go on")
        chat.run_turn()
    told = [script.prompts(number) for number in range(len(script.requests))]
    for place, paper in ((2, papers[0]), (4, papers[1])):
        assert f"See {paper}" in told[place]
        assert f"See {paper}" not in told[place - 1]
        assert told[-1].count(f"See {paper}") == 1


def test_only_the_end_of_a_history_is_read_for_what_is_still_open() -> None:
    answered = ModelRequest(parts=[ToolReturnPart("note", "Noted.", "c1")])
    asked = call("note", text="1")
    asked.parts[0].tool_call_id = "c2"  # type: ignore[union-attr]
    chunks = [
        each.data for part in ([say("Hi.")], [asked], [answered]) for each in history.packed(part)
    ]
    assert [each.tool_call_id for each in history.open_calls_of([b"unreadable", *chunks[1:]])] == [
        "c2"
    ]
    assert history.open_calls_of([*chunks, b"unreadable"]) == []

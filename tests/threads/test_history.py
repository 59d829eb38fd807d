"""What the model remembers: stored as bytes with the fact that ends a run, and read back whole."""

import hashlib

import pytest
from django.db import DatabaseError
from pydantic_ai import BinaryContent
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from tests.support.models import Script, call, hosting, say
from tests.threads.conftest import Chat
from threads import models
from threads.agent import history
from threads.services import turns

EVERY_SHAPE: list[ModelMessage] = [
    ModelRequest(
        parts=[
            UserPromptPart(["<notes>", "Hello", BinaryContent(b"\0\xff", media_type="image/png")])
        ]
    ),
    ModelResponse(parts=[ThinkingPart("hm", signature="s"), ToolCallPart("look", {"at": 1}, "c1")]),
    ModelRequest(parts=[ToolReturnPart("look", {"deep": [1, None]}, "c1")]),
    ModelResponse(parts=[TextPart("Seen.")]),
]


def test_the_next_turn_continues_from_it(chat: Chat) -> None:
    chat.post("First")
    with hosting(Script(call("list_artifacts"), say("One."))):
        chat.run_turn()
    chat.post("Second")
    script = Script(say("Two."))
    with hosting(script):
        chat.run_turn()
    assert script.prompts(0) == ["First", "Second"]
    kinds = [part.part_kind for message in script.requests[0] for part in message.parts]
    assert kinds == ["user-prompt", "tool-call", "tool-return", "text", "user-prompt"]


def test_a_segment_names_its_run_its_hash_and_its_place(chat: Chat) -> None:
    chat.post("Hello?")
    with hosting(Script(say("Hello."))):
        chat.run_turn()
    sent, answered = models.HistorySegment.objects.order_by("number")
    for number, segment in enumerate([sent, answered], start=1):
        assert segment.run_id == chat.runs()[0].id
        assert hashlib.sha256(segment.data).hexdigest() == segment.sha256
        assert (segment.number, segment.usable, segment.reason) == (number, True, None)
        assert segment.seen_seq == 3  # the thread, its message, and the start of the run
    assert (sent.told, answered.told) == ("[2]", "[]")


def test_a_failed_turn_is_remembered_with_every_call_answered(chat: Chat) -> None:
    chat.post("First")

    async def explode(messages: object) -> object:
        raise RuntimeError("boom")

    with hosting(Script(call("list_artifacts"), explode)):
        chat.run_turn()
    chat.post("Second")
    script = Script(say("Two."))
    with hosting(script):
        chat.run_turn()
    assert script.prompts(0) == ["First", "Second"]
    calls = [p for m in script.requests[0] for p in m.parts if p.part_kind == "tool-call"]
    returns = [p for m in script.requests[0] for p in m.parts if p.part_kind == "tool-return"]
    assert [each.tool_call_id for each in calls] == [each.tool_call_id for each in returns]


def test_every_message_shape_survives_storage() -> None:
    (stored,) = history.packed(EVERY_SHAPE)
    again = history.unpacked([stored.data])
    assert history.packed(again) == [stored]
    assert [part.part_kind for each in again for part in each.parts] == [
        part.part_kind for each in EVERY_SHAPE for part in each.parts
    ]


def test_a_call_without_its_return_is_closed_when_read() -> None:
    (stored,) = history.packed(EVERY_SHAPE[:2])
    cut = history.unpacked([stored.data])
    (answer,) = cut[-1].parts
    assert isinstance(answer, ToolReturnPart)
    assert answer.tool_call_id == "c1"


def test_large_history_is_cut_into_pieces_where_messages_end() -> None:
    big = [ModelResponse(parts=[TextPart("x" * 2_000_000)]) for _ in range(6)]
    stored = [each.data for each in history.packed(big)]
    assert len(stored) == 3
    assert all(len(data) <= turns.MOST_BYTES for data in stored)
    assert sum(len(ModelMessagesTypeAdapter.validate_json(data)) for data in stored) == 6


def test_a_message_too_large_to_store_is_left_out_with_a_reason(chat: Chat) -> None:
    chat.post("Say much")
    with hosting(Script(say("x" * (turns.MOST_BYTES + 1)))):
        chat.run_turn()
    stored = models.HistorySegment.objects.order_by("number")
    assert [(each.usable, each.reason) for each in stored] == [(True, None), (False, "too_large")]
    assert bytes(stored[1].data) == b""
    chat.post("And now?")
    script = Script(say("ok"))
    with hosting(script):
        chat.run_turn()
    assert script.prompts(0) == ["Say much", "And now?"]


def test_history_of_another_library_version_ends_the_turn_with_a_reason(chat: Chat) -> None:
    with pytest.raises(history.HistoryUnreadable):
        history.unpacked([b'[{"kind": "from the future"}]'])


def test_segments_are_append_only(chat: Chat) -> None:
    chat.post("Hello?")
    with hosting(Script(say("Hello."))):
        chat.run_turn()
    with pytest.raises(DatabaseError, match="append-only"):
        models.HistorySegment.objects.update(data=b"[]")
    with pytest.raises(DatabaseError, match="append-only"):
        models.HistorySegment.objects.all().delete()

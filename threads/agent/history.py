"""The model's history as bytes, and back; what of it is stored, and what is still unanswered."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from pydantic import ValidationError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    repair_messages,
)
from pydantic_core import from_json

from artifacts.pool import in_pool
from artifacts.workspace import Workspace
from threads import selectors
from threads.services.turns import MOST_BYTES, Segment

from .calls import as_text, logged_id
from .failures import HistoryUnreadable

IN_DOUBT = (
    "This call did not come back before the process that made it stopped. It may or may not have "
    "taken effect: look before you make it again."
)
NOT_EXECUTED = "This call was not executed: the run ended before."


def packed(messages: Sequence[ModelMessage]) -> list[Segment]:
    """Messages as few JSON lists, cut between messages where one would grow too large.

    A message that cannot be stored leaves a segment that says so.
    """
    segments: list[Segment] = []
    for message in messages:
        segment = _of_one(message)
        last = segments[-1] if segments else None
        if last and not (last.reason or segment.reason):
            joined = last.data[:-1] + b"," + segment.data[1:]
            if len(joined) <= MOST_BYTES:
                segments[-1] = Segment(joined)
                continue
        segments.append(segment)
    return segments


def unpacked(chunks: Iterable[bytes], *, keeps_open: bool = False) -> list[ModelMessage]:
    """The messages of all chunks, with every tool call answered, so that any model takes them.

    With `keeps_open` the calls of the last response stay as they are: a run may go on with them.
    """
    messages: list[ModelMessage] = []
    for chunk in chunks:
        messages += _read(chunk)
    return repair_messages(messages, repair_last_response=not keeps_open)


def _read(chunk: bytes) -> list[ModelMessage]:
    try:
        return ModelMessagesTypeAdapter.validate_json(chunk)
    except ValidationError as error:
        raise HistoryUnreadable from error


async def load_history(workspace: Workspace, thread_id: str) -> list[ModelMessage]:
    """What a thread's agent remembers, for a host that runs its agent itself."""
    return unpacked(await in_pool(_chunks, workspace, thread_id))


def _chunks(workspace: Workspace, thread_id: str) -> list[bytes]:
    row = selectors.thread_row(workspace, thread_id)
    usable = selectors.segments(row).filter(usable=True).values_list("data", flat=True)
    return [bytes(data) for data in usable if data]


def open_calls(messages: Iterable[ModelMessage]) -> list[ToolCallPart]:
    """The tool calls of the last response that nothing answers yet."""
    calls: list[ToolCallPart] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            calls = list(message.tool_calls)
        else:
            for part in message.parts:
                if isinstance(part, ToolReturnPart):
                    _answer(calls, part.tool_call_id)
    return calls


def open_calls_of(chunks: Sequence[bytes]) -> list[ToolCallPart]:
    """The same for a stored history; none where it cannot be read, which the turn will say.

    It is read from its end, and no further than to the last response.
    """
    messages: list[ModelMessage] = []
    try:
        for chunk in reversed(chunks):
            messages = [*_read(chunk), *messages]
            if any(isinstance(each, ModelResponse) for each in messages):
                break
    except HistoryUnreadable:
        return []
    return open_calls(messages)


def closing(
    calls: Iterable[ToolCallPart], *, in_doubt: Callable[[ToolCallPart], bool]
) -> list[ModelMessage]:
    """What answers calls that will never come back, so that the history can be gone on with."""
    parts = [
        ToolReturnPart(
            call.tool_name,
            IN_DOUBT if in_doubt(call) else NOT_EXECUTED,
            call.tool_call_id,
            outcome="interrupted",
        )
        for call in calls
    ]
    return [ModelRequest(parts=parts)] if parts else []


def closing_of(
    chunks: Sequence[bytes], *, in_doubt: Collection[str], keeps_open: Collection[str]
) -> list[Segment]:
    """The same for a stored history, by the ids that the log has of its calls."""
    calls = open_calls_of(chunks)
    closed = [each for each in calls if logged_id(each.tool_call_id) not in keeps_open]
    return packed(closing(closed, in_doubt=lambda call: logged_id(call.tool_call_id) in in_doubt))


class Stored:
    """Which messages of one attempt are stored, part by part: a request grows after it was stored,
    and the returns of tools are stored before the request that carries them exists."""

    def __init__(self, attempt_id: str, open_calls: Iterable[ToolCallPart] = ()) -> None:
        self._attempt_id = attempt_id
        self._parts: dict[int, object] = {}  # by identity; held, so that it stays theirs
        self._returned: list[str] = []  # calls whose return was stored ahead of its request
        # What was remembered comes first, and need not be looked at again: how many, and the last.
        self._before: tuple[int, ModelMessage | None] = (0, None)
        self.open_calls = list(open_calls)

    def __copy__(self) -> Stored:
        """One that can be thrown away, should the storing fail."""
        made = Stored(self._attempt_id, self.open_calls)
        made._parts, made._returned = dict(self._parts), list(self._returned)
        made._before = self._before
        return made

    def new(self, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        """The part of these messages that is not stored; from now on it counts as stored."""
        found: list[ModelMessage] = []
        for message in self._later(messages):
            if message.run_id != self._attempt_id:
                continue
            if isinstance(message, ModelResponse):
                found += self._of_response(message)
            else:
                found += self._of_request(message)
        return found

    def returned(self, part: ToolReturnPart) -> list[ModelMessage]:
        """The return of a call, ahead of the request that will carry it."""
        if not self._answers(part):
            return []
        self._returned.append(part.tool_call_id)
        return [ModelRequest(parts=[part], run_id=self._attempt_id)]

    def told(self, messages: Iterable[ModelMessage]) -> None:
        """These are stored, and come into the run only after that."""
        for message in messages:
            self._keep(message.parts)

    def _later(self, messages: Sequence[ModelMessage]) -> Sequence[ModelMessage]:
        """The messages behind those that were remembered; a host may have left some of them out."""
        count, last = self._before
        if not count or len(messages) < count or messages[count - 1] is not last:
            is_own = (each.run_id == self._attempt_id for each in messages)
            count = next((place for place, own in enumerate(is_own) if own), len(messages))
            self._before = (count, messages[count - 1] if count else None)
        return messages[count:]

    def _of_response(self, message: ModelResponse) -> list[ModelMessage]:
        if not message.parts or any(id(part) in self._parts for part in message.parts):
            return []
        self._keep(message.parts)
        self.open_calls, self._returned = list(message.tool_calls), []
        return [message]

    def _of_request(self, message: ModelRequest) -> list[ModelMessage]:
        parts = []
        for part in message.parts:
            if id(part) in self._parts:
                continue
            self._parts[id(part)] = part
            if isinstance(part, ToolReturnPart):
                if part.tool_call_id in self._returned:
                    self._returned.remove(part.tool_call_id)
                    continue
                self._answers(part)
            parts.append(part)
        return [replace(message, parts=parts)] if parts else []

    def _answers(self, part: ToolReturnPart) -> bool:
        return _answer(self.open_calls, part.tool_call_id)

    def _keep(self, parts: Iterable[object]) -> None:
        self._parts.update((id(part), part) for part in parts)


def _answer(calls: list[ToolCallPart], tool_call_id: str) -> bool:
    """Take the oldest open call of this id as answered; whether there was one."""
    for index, call in enumerate(calls):
        if call.tool_call_id == tool_call_id:
            del calls[index]
            return True
    return False


def _of_one(message: ModelMessage) -> Segment:
    # Half a character, or a value of a tool that is no JSON: as it would read.
    data = _data(message) or _plain(message)
    if data is None:
        return Segment(b"", reason="not_storable")
    return Segment(data) if len(data) <= MOST_BYTES else Segment(b"", reason="too_large")


def _data(message: ModelMessage) -> bytes | None:
    """The message as JSON that can be read again; more can be written than that."""
    try:
        data = ModelMessagesTypeAdapter.dump_json([message])
        from_json(data)
    except ValueError:
        return None
    return data


def _plain(message: ModelMessage) -> bytes | None:
    """A request whose tool returns are written as text, if that can be stored."""
    if not isinstance(message, ModelRequest):
        return None
    parts = [
        ToolReturnPart(
            part.tool_name,
            as_text(part.content),
            part.tool_call_id,
            outcome=part.outcome,
        )
        if isinstance(part, ToolReturnPart)
        else part
        for part in message.parts
    ]
    return _data(replace(message, parts=parts))

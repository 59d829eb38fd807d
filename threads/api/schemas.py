"""Bodies, pages and answers of the thread and run routes."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from artifacts.core import Envelope, Recorded, Run, Thread
from artifacts.core.commands import (
    AnswerDeferred,
    CreateThread,
    PostMessage,
    SetFocus,
    SetThreadMode,
    StopRun,
)
from artifacts.core.values import Id
from artifacts.surfaces.openapi import body_model, page_model
from artifacts.surfaces.pagination import PageQuery

CreateThreadBody = body_model(CreateThread, name="CreateThreadBody")
PostMessageBody = body_model(PostMessage, "thread_id", name="PostMessageBody")
SetFocusBody = body_model(SetFocus, "thread_id", name="SetFocusBody")
SetThreadModeBody = body_model(SetThreadMode, "thread_id", name="SetThreadModeBody")
AnswerDeferredBody = body_model(AnswerDeferred, "run_id", name="AnswerDeferredBody")
StopRunBody = body_model(StopRun, "run_id", name="StopRunBody")

ThreadPage = page_model(Thread, name="ThreadPage")
RunPage = page_model(Run, name="RunPage")
MessagePage = page_model(Envelope, name="MessagePage")


class ThreadCreatedAnswer(Recorded):
    """The thread is there."""

    thread_id: Id


class MessagePostedAnswer(Recorded):
    """The message is in the log."""

    thread_id: Id
    message_id: Id


class MessageQuery(PageQuery):
    """Which messages: those after a seq."""

    after: Annotated[int, Field(ge=0, le=2**63 - 1)] | None = None  # type: ignore[assignment]


class RunQuery(PageQuery):
    """Which runs: of one thread, or only those that have not ended."""

    thread_id: Id | None = None
    active: bool = False

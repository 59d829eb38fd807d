"""Why a turn failed: a code, and a sentence that people can read. Never a stack trace.

What a provider answered may hold content or credentials, so its words stay out of the log too.
"""

from __future__ import annotations

from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelHTTPError,
    RunTimedOut,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
    UserError,
)

from artifacts.core import Rejection, Unavailable
from artifacts.workspace import is_passing
from threads.services.endings import Ending

from .agents import AgentUnknown, NeverPauses
from .instructions import NoInstructions


class HistoryUnreadable(ValueError):
    """Stored history that this version of the agent library cannot read."""


class EmptyReply(Exception):
    """The model ended without a word."""


class ToolCrashed(Exception):
    """A tool raised what no tool should."""

    def __init__(self, tool_name: str) -> None:
        super().__init__(tool_name)
        self.tool_name = tool_name


class TurnStuck(Exception):
    """The turn went on after it was cancelled, or held its loop up."""


class RequestTimedOut(Exception):
    """One request to the model took too long."""


class ResponseTooLarge(Exception):
    """The model said more at once than it may."""


REASONS: dict[type[Exception], tuple[str, str]] = {
    AgentUnknown: ("agent_unknown", "This installation has no agent of the thread's name."),
    HistoryUnreadable: ("history_unreadable", "The stored history of this thread is unreadable."),
    NeverPauses: ("cannot_pause", "The agent asks people, and is not set up to wait for them."),
    EmptyReply: ("empty_reply", "The model answered nothing."),
    RequestTimedOut: ("model_timeout", "The model did not answer in time."),
    ResponseTooLarge: ("response_too_large", "The model said more at once than it may."),
    RunTimedOut: ("turn_timeout", "The turn took longer than it may."),
    TurnStuck: ("turn_timeout", "The turn took longer than it may."),
    UsageLimitExceeded: ("limit_exceeded", "The turn used more requests or tools than it may."),
    UnexpectedModelBehavior: ("model_misbehaved", "The model did not give a usable answer."),
    ModelAPIError: ("model_failed", "The model could not be reached or refused the request."),
    UserError: ("agent_misconfigured", "The agent or its model is not set up correctly."),
    Unavailable: ("unavailable", "The database was busy for too long."),
    Rejection: ("rejected", "The workspace refused what the turn ended with."),
}


def explained(error: BaseException) -> tuple[str, str]:
    """Reason and sentence for whatever ended a turn."""
    if isinstance(error, ToolCrashed):
        return "tool_failed", f"The tool {error.tool_name} failed."
    if isinstance(error, NoInstructions):
        return "recipe_refused", f"The recipe {error.recipe} was not rendered ({error.code})."
    if isinstance(error, ModelHTTPError):
        return "model_failed", f"The model's provider answered with status {error.status_code}."
    if isinstance(error, Exception) and is_passing(error):
        return REASONS[Unavailable]
    for cls, reason in REASONS.items():
        if isinstance(error, cls):
            return reason
    return "internal_error", "The turn failed for a reason that is in the server's own log."


def failed(error: BaseException) -> Ending:
    """The ending of a turn that this error ended."""
    reason, sentence = explained(error)
    return Ending("failed", reason=reason, error=sentence)

"""The offline model of the demo: it answers by a script, from what the conversation really holds.

Each step follows from the tool results since the last message: find the document and the plan, read
the document, note the request in it, propose a task, and say what came of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from threads.agent import function_model

TITLE_CHARS = 80
LISTED = re.compile(r"^(\S+) \((doc|plan), version \d+\)", re.MULTILINE)


def offline_model() -> FunctionModel:
    return function_model(respond, name="offline-script")


@dataclass(frozen=True, slots=True)
class Situation:
    """What was asked last, and what each tool has answered since."""

    request: str
    answers: dict[str, str]

    @property
    def title(self) -> str:
        first = re.split(r"(?<=[.!?])\s|\n", self.request.strip(), maxsplit=1)[0]
        return first.rstrip(".!?")[:TITLE_CHARS] or "Look into this"

    def artifact(self, kind: str) -> str | None:
        """The id of the first artifact of a kind, as `list_artifacts` gave it."""
        for id, found in LISTED.findall(self.answers.get("list_artifacts", "")):
            if found == kind:
                return str(id)
        return None


def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """The next step of the script."""
    now = _situation(messages)
    if "list_artifacts" not in now.answers:
        return _call("list_artifacts", {})
    doc_id, plan_id = now.artifact("doc"), now.artifact("plan")
    if doc_id and "read_artifact" not in now.answers:
        return _call("read_artifact", {"artifact_id": doc_id})
    if doc_id and "edit_text" not in now.answers:
        edit = _noted(now.answers["read_artifact"], now.title)
        return _call("edit_text", {"artifact_id": doc_id, "edits": [edit]})
    if plan_id and "add_task" not in now.answers:
        return _call("add_task", {"plan_id": plan_id, "title": now.title})
    return ModelResponse(parts=[TextPart(_reply(now))])


def _situation(messages: Sequence[ModelMessage]) -> Situation:
    request = ""
    answers: dict[str, str] = {}
    for message in messages:
        if not isinstance(message, ModelRequest):
            continue
        for part in message.parts:
            if isinstance(part, UserPromptPart):
                request, answers = _last_words(part), {}
            elif isinstance(part, ToolReturnPart):
                answers[part.tool_name] = part.model_response_str()
    return Situation(request, answers)


def _last_words(part: UserPromptPart) -> str:
    """The newest message in a prompt, which may begin with notes of what changed."""
    if isinstance(part.content, str):
        return part.content
    return next((each for each in reversed(part.content) if isinstance(each, str)), "")


def _noted(shown: str, title: str) -> dict[str, str]:
    """An anchored edit that adds a line at the end of the document as it was just read."""
    _, _, text = shown.partition("\n")
    line = f"- {title}"
    if not text:
        return {"old": "", "new": line}
    last = text.rstrip().rsplit("\n\n", 1)[-1]
    anchor = last if last and text.count(last) == 1 else text
    return {"old": anchor, "new": f"{anchor.rstrip()}\n\n{line}"}


def _reply(now: Situation) -> str:
    done = [now.answers[name] for name in ("edit_text", "add_task") if name in now.answers]
    if not done:
        return "There is neither a document nor a plan here yet; create one and ask again."
    return " ".join([f"Noted: {now.title}.", *done])


def _call(tool_name: str, args: dict[str, object]) -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart(tool_name, args)])

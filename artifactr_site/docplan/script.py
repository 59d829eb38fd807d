"""The offline model of the demo: it answers by a script, from what the conversation really holds.

The script is a generator that calls tools and is sent their answers, played again from the start of
the turn for each request. It finds the document and the plan, notes each message in the one and
proposes a task for the other; asks where a message says too little; and may be told to start over,
which somebody has to approve.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator, Sequence

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequestPart,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from threads.agent import function_model

TITLE_CHARS = 80
TRIES = 3
PACE_SECONDS = 0.02
LISTED = re.compile(r"^(\S+) \((doc|plan), version \d+\)", re.MULTILINE)
# What stands in a prompt besides what people wrote.
RETAKEN = "The process that worked on this before stopped"
AUTOMATIC = re.compile(rf"<workspace-changes>|{RETAKEN}|.{{1,100}} wrote meanwhile:$")
VAGUE = re.compile(
    r"(please )?(add|write) (a|an|another|one more) (section|note|task)\W*", re.IGNORECASE
)
START_OVER = re.compile(
    r"\bstart over\b|\b(clear|empty) (the|this) (doc|document)\b", re.IGNORECASE
)

Steps = Generator[ModelResponse, ToolReturnPart, str]
Deed = Generator[ModelResponse, ToolReturnPart, list[str]]


def offline_model() -> FunctionModel:
    return function_model(respond, name="offline-script", pace_seconds=PACE_SECONDS)


def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """The next step of the script."""
    requests: list[str] = []
    steps: Steps | None = None
    step = ModelResponse(parts=[TextPart("What can I do for you?")])
    for part in _since_the_last_reply(messages):
        if isinstance(part, UserPromptPart):
            requests += _words(part)
            if requests and steps is None:
                steps = _work(requests)
                step = next(steps)
        elif isinstance(part, ToolReturnPart) and steps is not None:
            try:
                step = steps.send(part)
            except StopIteration as end:
                # Messages that come with the last answer are new work.
                requests, steps = [], None
                step = ModelResponse(parts=[TextPart(end.value)])
    return step


def _since_the_last_reply(messages: Sequence[ModelMessage]) -> list[ModelRequestPart]:
    """The parts of this turn: what a stopped or failed one was asked is not taken up again."""
    parts: list[ModelRequestPart] = []
    attempt = None
    for message in messages:
        if isinstance(message, ModelResponse):
            if not message.tool_calls:
                parts.clear()
            continue
        prompts = [part for part in message.parts if isinstance(part, UserPromptPart)]
        if any(any(_words(part)) for part in prompts) and message.run_id != attempt:
            attempt = message.run_id
            if not any(RETAKEN in str(part.content) for part in prompts):
                parts.clear()
        parts += message.parts
    return parts


def _words(part: UserPromptPart) -> Iterator[str]:
    """What people wrote in a prompt."""
    texts = [part.content] if isinstance(part.content, str) else part.content
    for each in texts:
        if isinstance(each, str) and not AUTOMATIC.match(each):
            yield each


def _work(requests: list[str]) -> Steps:
    """Every request in turn; more may come while it goes on."""
    listed = yield _call("list_artifacts")
    ids = {kind: id for id, kind in reversed(LISTED.findall(listed.model_response_str()))}
    if not ids:
        return "There is neither a document nor a plan here yet; create one and ask again."
    told: list[str] = []
    for request in requests:
        if START_OVER.search(request):
            told += yield from _start_over(ids.get("doc"))
        else:
            told += yield from _take_up(request, ids.get("doc"), ids.get("plan"))
    return " ".join(told)


def _start_over(doc_id: str | None) -> Deed:
    if doc_id is None:
        return ["There is no document to empty."]
    answer = yield _call("clear_doc", doc_id=doc_id)
    if answer.outcome == "success":
        return ["The document is empty; its history keeps what was in it."]
    return [f"I left the document as it is. {answer.model_response_str()}"]


def _take_up(request: str, doc_id: str | None, plan_id: str | None) -> Deed:
    title = _title(request)
    if VAGUE.fullmatch(request.strip()):
        answer = yield _call(
            "ask_user", question="What should it be about?", choices=["Goals", "Pricing", "Risks"]
        )
        title = _title(answer.model_response_str())
    told = [f"Noted: {title}."]
    if doc_id is not None:
        told += yield from _note(doc_id, title)
    if plan_id is not None:
        answer = yield _call("add_task", plan_id=plan_id, title=title)
        told.append(answer.model_response_str())
    return told


def _note(doc_id: str, title: str) -> Deed:
    """Add a line to the document; somebody may change it in between, so look again then."""
    for _ in range(TRIES):
        answer = yield _call("read_artifact", artifact_id=doc_id)
        shown = answer.model_response_str()
        if f"- {title}" in shown.splitlines():
            return ["The document says so already."]
        answer = yield _call("edit_text", artifact_id=doc_id, edits=[_added(shown, title)])
        if answer.outcome == "success":
            return [answer.model_response_str()]
    return ["I could not write it into the document."]


def _title(text: str) -> str:
    first = re.split(r"(?<=[.!?])\s|\n", text.strip(), maxsplit=1)[0]
    return first.rstrip(".!?")[:TITLE_CHARS] or "Look into this"


def _added(shown: str, title: str) -> dict[str, str]:
    """An anchored edit that adds a line at the end of the document as it was just read."""
    _, _, text = shown.partition("\n")
    line = f"- {title}"
    if not text:
        return {"old": "", "new": line}
    last = text.rstrip().rsplit("\n\n", 1)[-1]
    anchor = last if last and text.count(last) == 1 else text
    return {"old": anchor, "new": f"{anchor.rstrip()}\n\n{line}"}


def _call(tool_name: str, **args: object) -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart(tool_name, args)])

"""What a paused run asks of people, and the forms by which they answer it or stop it.

Reads a command in, sends it through the door, says the outcome or the rejection. Whatever was typed
survives a rejection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from artifacts import core
from artifacts.core.errors import ArtifactrError, ValidationFailed
from artifacts.core.outcomes import AnyOutcome
from artifacts.surfaces.data_view import Node, data_view
from artifacts.surfaces.problems import status_of
from artifacts.workspace import Workspace
from threads.services.stops import request_stop

ANSWER, APPROVE, REFUSE = "answer", "approve", "refuse"
# Choices that are offered as buttons; a longer list is typed.
MOST_CHOICES = 12


class AnswerForm(forms.Form):
    """The answer to one request. A choice that is pressed goes before what was typed."""

    tool_call_id = forms.CharField(widget=forms.HiddenInput)
    command_id = forms.CharField(required=False, max_length=128, widget=forms.HiddenInput)
    decision = forms.ChoiceField(
        choices=[(name, name) for name in (ANSWER, APPROVE, REFUSE)], required=False
    )
    choice = forms.CharField(required=False)
    answer = forms.CharField(required=False, widget=forms.Textarea(attrs={"rows": 2}))

    def __init__(self, data: Any = None, *, request: core.DeferredRequest) -> None:
        self.request = request
        initial = {"tool_call_id": request.tool_call_id, "command_id": core.new_id("cmd")}
        super().__init__(data, initial=initial, auto_id=f"id_{request.tool_call_id}_%s")
        is_question = request.kind == "question"
        self.fields["answer"].label = _("Your answer") if is_question else _("Reason to refuse")

    def clean(self) -> dict[str, Any]:
        """A question needs words, an approval a decision."""
        cleaned: dict[str, Any] = super().clean() or {}
        words = cleaned.get("choice") or cleaned.get("answer", "").strip()
        if self.request.kind == "question" and not words:
            self.add_error("answer", _("Write an answer, or choose one."))
        if self.request.kind == "approval" and cleaned.get("decision") not in (APPROVE, REFUSE):
            self.add_error(None, _("Approve it or refuse it."))
        return {**cleaned, "words": words.replace("\r\n", "\n")}

    def command(self, run_id: str) -> core.AnswerDeferred:
        """The command that the valid form stands for."""
        cleaned, tool_call_id = self.cleaned_data, self.request.tool_call_id
        made: dict[str, Any] = {"run_id": run_id, "tool_call_id": tool_call_id}
        if self.request.kind == "question":
            return core.AnswerDeferred(**made, answer=cleaned["words"])
        if cleaned["decision"] == APPROVE:
            return core.AnswerDeferred(**made, approved=True)
        return core.AnswerDeferred(**made, approved=False, answer=cleaned["words"] or None)


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as the page shows it; `form` is there for whoever may answer it."""

    request: core.DeferredRequest
    title: str
    node: Node | None
    choices: tuple[str, ...] = ()
    answer: core.Answer | None = None
    form: AnswerForm | None = None


class RunDesk:
    """One run in front of one person."""

    def __init__(self, workspace: Workspace, run: core.Run) -> None:
        self.workspace, self.run = workspace, run
        self.problem: ArtifactrError | None = None
        self.status = 200
        self.command_id = core.new_id("cmd")
        self._bound: AnswerForm | None = None

    @property
    def may_stop(self) -> bool:
        """Whether this person gets the button; the door asks again, and whose run it is."""
        return not self.run.has_ended and self._allows("stop_run")

    @property
    def asked(self) -> list[Asked]:
        """What the run waits for, what is answered already included."""
        if self.run.status != "paused":
            return []
        answers = {each.tool_call_id: each for each in self.run.answers}
        return [self._asked(each, answers.get(each.tool_call_id)) for each in self.run.pending]

    def answer(self, posted: Mapping[str, Any]) -> AnyOutcome | None:
        """Send what was posted; None leaves this page with the reason and the person's input."""
        pending = {each.tool_call_id: each for each in self.run.pending}
        request = pending.get(posted.get("tool_call_id", ""))
        if request is None:
            self._refused(core.InvalidState("this is answered already, or no longer asked"))
            return None
        self._bound = AnswerForm(posted, request=request)
        if not self._bound.is_valid():
            self.status = 422
            return None
        command_id = self._bound.cleaned_data["command_id"] or None
        try:
            return self.workspace.commit(self._bound.command(self.run.id), command_id=command_id)
        except core.Forbidden:
            raise
        except ArtifactrError as refusal:
            self._refused(refusal)
            return None

    def stop(self, posted: Mapping[str, Any]) -> AnyOutcome | None:
        """Ask the run to stop; None where it has ended by itself."""
        command_id = posted.get("command_id") or None
        try:
            return request_stop(self.workspace, self.run.id, command_id=command_id)
        except core.NotFound:
            self._refused(core.InvalidState("this run has ended already"))
        except ValidationFailed as refusal:
            self._refused(refusal)
        return None

    def _asked(self, request: core.DeferredRequest, answer: core.Answer | None) -> Asked:
        args = {name: value for name, value in request.args.items() if value is not None}
        question = args.pop("question", None) if request.kind == "question" else None
        choices = args.get("choices")
        offered: tuple[str, ...] = ()
        if request.kind == "question" and _is_short_list(choices):
            offered = tuple(args.pop("choices"))
        if request.metadata:
            args.setdefault("metadata", request.metadata)
        is_question = request.kind == "question"
        title = (
            str(question or request.tool_name)
            if is_question
            else f"May the agent use {request.tool_name}?"
        )
        may = self._allows("answer_question" if is_question else "answer_approval")
        return Asked(
            request=request,
            title=title,
            node=data_view(args) if args else None,
            choices=offered,
            answer=answer,
            form=self._form(request) if may and answer is None else None,
        )

    def _form(self, request: core.DeferredRequest) -> AnswerForm:
        if self._bound is not None and self._bound.request == request:
            return self._bound
        return AnswerForm(request=request)

    def _allows(self, action: str) -> bool:
        access = self.workspace.access
        return access is None or access.allows(action)

    def _refused(self, refusal: ArtifactrError) -> None:
        self.problem, self.status = refusal, status_of(refusal)


def _is_short_list(choices: Any) -> bool:
    return (
        isinstance(choices, list)
        and 0 < len(choices) <= MOST_CHOICES
        and all(isinstance(each, str) and each for each in choices)
    )

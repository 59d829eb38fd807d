"""The decision page: what is proposed, on what, and the one form that settles it.

Reads a command in, sends it through the workspace, says the outcome or the rejection. Whatever was
typed survives a rejection, and what has changed meanwhile is shown with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from pydantic_core import to_json

from artifacts import conf, core, models
from artifacts.core.errors import ArtifactrError, ValidationFailed
from artifacts.core.state import Proposal
from artifacts.surfaces.problems import status_of
from artifacts.workspace import Workspace

from .forms import ACCEPT, EDIT, LOOK, REJECT, DecisionForm, EditForm, unsent
from .preview import Preview, Step, preview, settled

# Accepting as proposed what somebody has just rewritten would lose their work without a word.
UNSENT = "You have edited the result: accept it with these edits, or undo them."


@dataclass(frozen=True, slots=True)
class Settled:
    """A decision that was taken, as the answer says it."""

    decision: str
    outcome: core.Resolved


class Decision:
    """One proposal, or one group of them, in front of one person."""

    def __init__(
        self,
        workspace: Workspace,
        rows: Sequence[models.Proposal],
        *,
        group_id: str | None = None,
    ) -> None:
        self.workspace, self.group_id = workspace, group_id
        self.look_again(rows)
        self.form = DecisionForm(initial={"decision": ACCEPT})
        self.edits: dict[str, EditForm] = {}
        self.problem: ArtifactrError | None = None
        self.status = 200

    def look_again(self, rows: Sequence[models.Proposal]) -> None:
        """Take what these rows stand for as it is now."""
        # First, so that whatever happens while the rest is read comes after it.
        self.seen_seq = self.workspace.head_seq()
        self.proposals = [self.workspace.proposal(row.public_id) for row in rows]
        self.written = {row.public_id: row.resolved_version for row in rows}
        self.__dict__.pop("preview", None)

    @property
    def action(self) -> str:
        return "respond_to_proposal" if self.group_id is None else "resolve_group"

    @property
    def is_open(self) -> bool:
        return any(not each.is_resolved for each in self.proposals)

    @cached_property
    def preview(self) -> Preview:
        if not self.is_open:
            return settled(self.workspace, self.proposals, self.written)
        return preview(self.workspace, self._plain(ACCEPT), self.proposals)

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.preview.steps

    @property
    def has_looked(self) -> bool:
        """Whether the person asked to see it as it is now."""
        return self.form.is_bound and self.form.data.get("decision") == LOOK

    @property
    def may_decide(self) -> bool:
        """Whether this person gets the buttons; the write path asks again."""
        access = self.workspace.access
        return access is None or access.allows(self.action)

    def submit(self, posted: Mapping[str, Any]) -> Settled | None:
        """Send what was posted; None leaves this page with the reason and the person's input."""
        self._require()
        self.form = DecisionForm(posted)
        if not self._is_usable(posted):
            self.status = 422
            return None
        decision = self.form.cleaned_data["decision"]
        if decision == LOOK:
            return None
        if decision == EDIT and not self.edits:
            nothing = ValidationFailed("there is no result here that could be edited")
            self._refused(self.preview.refusal or nothing)
            return None
        try:
            outcome = self.workspace.commit(
                self._command(), command_id=self.form.cleaned_data["command_id"] or None
            )
        except ArtifactrError as refusal:
            self._refused(refusal)
            return None
        assert isinstance(outcome, core.Resolved)
        return Settled(decision, outcome)

    def _is_usable(self, posted: Mapping[str, Any]) -> bool:
        """Whether the forms are valid and say what the person means."""
        typed = {step.proposal.id: self.edit_form(step, posted) for step in self.editable}
        decision = posted.get("decision")
        if decision == EDIT:
            self.edits = typed
        elif decision == LOOK:
            self.edits = {id: form for id, form in typed.items() if form.was_edited}
        elif decision == ACCEPT and any(form.was_edited for form in typed.values()):
            self.edits = typed
            self.form.add_error(None, UNSENT)
        return all([self.form.is_valid(), *(form.is_valid() for form in self.edits.values())])

    @property
    def editable(self) -> list[Step]:
        """The steps whose result a person may write themselves."""
        if self.preview.refusal is not None:
            return []
        return [step for step in self.steps if step.after is not None]

    def edit_form(self, step: Step, posted: Mapping[str, Any] | None = None) -> EditForm:
        assert step.after is not None
        prefix = self._prefix(step.proposal)
        return EditForm(posted, kind=step.proposal.kind, result=step.after, prefix=prefix)

    @property
    def left_over(self) -> list[str]:
        """What the person typed that has no field on the page any more."""
        if not self.form.is_bound:
            return []
        found = [] if self.is_open else [self.form.data.get("reason", "")]
        for each in self.proposals:
            if not (self.is_open and each.id in self.edits):
                found += unsent(self.form.data, self._prefix(each))
        return [text for text in found if text]

    def _prefix(self, proposal: Proposal) -> str | None:
        return None if self.group_id is None else proposal.id

    @property
    def expect_text(self) -> str:
        """What is on the screen, to come back with the decision."""
        return to_json({step.proposal.id: step.expect for step in self.steps}).decode()

    def _require(self) -> None:
        if self.workspace.access is not None:
            self.workspace.access.require(self.action, self.workspace, self._plain(REJECT))

    def _refused(self, refusal: ArtifactrError) -> None:
        self.problem, self.status = refusal, status_of(refusal)
        if isinstance(refusal, ValidationFailed):
            self._say_at_fields(refusal)

    def _say_at_fields(self, refusal: ValidationFailed) -> None:
        for error in refusal.errors:
            loc, text = error["loc"], str(error["msg"])
            if loc and loc[0] == "reason":
                self.form.add_error("reason", text)
            elif loc and loc[0] == "remainder":
                self.form.add_error("keep_rest", text)
            elif len(self.edits) == 1:
                form = next(iter(self.edits.values()))
                form.add_error(*_field_of(form, loc, text))

    def _plain(
        self, decision: Literal["accept", "reject"]
    ) -> core.RespondToProposal | core.ResolveGroup:
        """The decision with nothing of the person's own."""
        if self.group_id is not None:
            return core.ResolveGroup(group_id=self.group_id, decision=decision)
        return core.RespondToProposal(proposal_id=self.proposals[0].id, decision=decision)

    def _command(self) -> core.RespondToProposal | core.ResolveGroup:
        """The command that the valid form stands for."""
        cleaned = self.form.cleaned_data
        is_edit = cleaned["decision"] == EDIT
        plain = self._plain(REJECT if cleaned["decision"] == REJECT else ACCEPT)
        changes = self._changes() if is_edit else {}
        # Edits lie on top of this preview, so they must not meet another one.
        shown = {step.proposal.id: step.expect for step in self.steps} if is_edit else {}
        more: dict[str, Any] = {"reason": cleaned["reason"] or None}
        expect = cleaned["expect"] or shown
        if isinstance(plain, core.ResolveGroup):
            more |= {"changes": changes or None, "expect": expect or None}
        else:
            keeps = is_edit and cleaned["keep_rest"]
            more |= {
                "changes": changes.get(plain.proposal_id),
                "expect": expect.get(plain.proposal_id),
                "remainder": "keep" if keeps else None,
            }
        return plain.model_copy(update=more)

    def _changes(self) -> dict[str, core.Patch]:
        """The person's edits as patches on top of what accepting would write."""
        found = {}
        for step in self.editable:
            assert step.after is not None
            edited = self.edits[step.proposal.id].edited
            patch = core.change_between(step.after, edited, limits=conf.limits())
            if patch.kind == "text_edits" or patch.ops:
                found[step.proposal.id] = patch
        return found


def _field_of(form: EditForm, loc: list[Any], text: str) -> tuple[str | None, str]:
    """Where a problem with the data is said: at the text, or at the JSON with its path."""
    path = [str(part) for part in (loc[1:] if loc and loc[0] == "data" else loc)]
    if form.has_text and path == ["text"]:
        return "text", text
    where = f"{'.'.join(path)}: " if path else ""
    return ("json" if "json" in form.fields else "text"), f"{where}{text}"

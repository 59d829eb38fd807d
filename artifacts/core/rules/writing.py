"""Writing one change on one artifact: base version, patch, validation, and what is recorded.

Every road leads here: the direct command, the making of a proposal, and its acceptance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_json

from artifacts.core.artifact import (
    Address,
    Artifact,
    Versioned,
    artifact_type,
    stored_form,
    validated,
)
from artifacts.core.commands import (
    ArchiveArtifact,
    ArtifactCommand,
    CreateArtifact,
    EditArtifact,
    PutArtifact,
    RevertArtifact,
)
from artifacts.core.errors import (
    InvalidState,
    NotFound,
    PatchFailed,
    ValidationFailed,
    VersionConflict,
)
from artifacts.core.events import (
    ArtifactArchived,
    ArtifactChanged,
    ArtifactCreated,
    ArtifactEvent,
)
from artifacts.core.ids import address_id
from artifacts.core.json_input import check_json
from artifacts.core.patches import Patch, apply_patch, change_between, same_json, summarize_patch
from artifacts.core.state import Revision, Stored, revision_key

from .case import Case


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a written change comes from, and what a reviewer put on top of it."""

    proposal_id: str | None = None
    thread_id: str | None = None
    run_id: str | None = None
    is_rebased: bool = False
    changes: Patch | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """One new version: the artifact as it then is, its revision, its event."""

    artifact: Stored
    revision: Revision
    event: ArtifactEvent


def is_whole(change: ArtifactCommand) -> bool:
    """Whether a change writes a whole value, which is never rebased onto another version."""
    return isinstance(change, PutArtifact | RevertArtifact)


def write(case: Case, change: ArtifactCommand, origin: Origin) -> Written:
    """Work out the version a change would write, or raise the rejection it deserves."""
    match change:
        case CreateArtifact():
            return _create(case, change, origin)
        case EditArtifact():
            return _edit(case, change, origin)
        case ArchiveArtifact():
            return _archive(case, change, origin)
        case PutArtifact():
            return _put(case, change, origin)
        case RevertArtifact():
            return _revert(case, change, origin)


def _create(case: Case, change: CreateArtifact | PutArtifact, origin: Origin) -> Written:
    _check_new_kind(case, change.kind)
    _check_address(change.artifact_id, change.address)
    if case.state.artifacts.get(change.artifact_id) is not None:
        raise InvalidState("this artifact id is already used")
    _, data = _whole(case, change.kind, change.data, origin)
    _check_contract(case, change.address, change.kind, data)
    artifact: Stored = Versioned(
        id=change.artifact_id,
        kind=change.kind,
        version=1,
        data=data,
        updated_by=case.actor,
        address=change.address,
    )
    event = ArtifactCreated(
        artifact_id=artifact.id,
        kind=artifact.kind,
        data=data,
        address=change.address,
        proposal_id=origin.proposal_id,
        thread_id=origin.thread_id,
        run_id=origin.run_id,
    )
    return Written(artifact, _revision(case, artifact, None, origin), event)


def _edit(case: Case, change: EditArtifact, origin: Origin) -> Written:
    artifact = case.artifact(change.artifact_id)
    _check_live(artifact)
    if not origin.is_rebased:
        _check_base(case, artifact, change.base_version)
    case.check_chars("summary", change.summary, case.limits.summary_chars)
    patched = apply_patch(artifact.data, change.patch, limits=case.limits)
    value = validated(artifact.kind, patched)
    exact: Patch | None = change.patch
    if origin.changes is not None:
        patched = apply_patch(stored_form(value), origin.changes, limits=case.limits)
        value, exact = validated(artifact.kind, patched), None
    data = _stored(case, value, given=patched)
    if _is_same(artifact.data, data):
        raise PatchFailed("the patch leaves the data unchanged")
    # Validation may fill defaults or coerce; the recorded patch gives exactly what is stored.
    if exact is None or data is not patched:
        exact = change_between(artifact.data, data)
    return _next(case, artifact, value, data, exact, origin, summary=change.summary)


def _archive(case: Case, change: ArchiveArtifact, origin: Origin) -> Written:
    artifact = case.artifact(change.artifact_id)
    _check_live(artifact)
    if not origin.is_rebased:
        _check_base(case, artifact, change.base_version)
    if origin.changes is not None:
        raise ValidationFailed.at(["changes"], "an archiving has no result to change")
    archived = artifact.model_copy(
        update={"version": artifact.version + 1, "updated_by": case.actor, "archived": True}
    )
    event = ArtifactArchived(
        artifact_id=artifact.id,
        kind=artifact.kind,
        version=archived.version,
        proposal_id=origin.proposal_id,
        thread_id=origin.thread_id,
        run_id=origin.run_id,
    )
    return Written(archived, _revision(case, archived, None, origin), event)


def _put(case: Case, change: PutArtifact, origin: Origin) -> Written:
    artifact = case.state.artifacts.get(change.artifact_id)
    if artifact is None:
        if change.base_version:
            raise NotFound("artifact", change.artifact_id)
        return _create(case, change, origin)
    # The whole value replaces what is there, so even a proposal of it is never rebased.
    _check_base(case, artifact, change.base_version)
    if change.kind != artifact.kind:
        raise ValidationFailed.at(["kind"], "is not the kind of this artifact")
    _check_address(change.artifact_id, change.address)
    if change.address is not None and artifact.address is None:
        raise InvalidState("the artifact under this address's id has no address")
    value, data = _whole(case, artifact.kind, change.data, origin)
    return _next(case, artifact, value, data, change_between(artifact.data, data), origin)


def _revert(case: Case, change: RevertArtifact, origin: Origin) -> Written:
    artifact = case.artifact(change.artifact_id)
    _check_base(case, artifact, change.base_version)
    older = case.state.revisions.get(revision_key(artifact.id, change.to_version))
    if older is None:
        raise NotFound("revision", revision_key(artifact.id, change.to_version))
    value, data = _whole(case, artifact.kind, older.data, origin)
    if _is_same(artifact.data, data) and not artifact.archived:
        raise PatchFailed("that version has the same data as the current one")
    patch = change_between(artifact.data, data)
    return _next(case, artifact, value, data, patch, origin, reverted_to=change.to_version)


def _whole(
    case: Case, kind: str, given: dict[str, Any], origin: Origin
) -> tuple[Artifact, dict[str, Any]]:
    """A whole value as its type takes it, with a reviewer's changes on top."""
    check_json(given, limits=case.limits)
    value = validated(kind, given)
    if origin.changes is not None:
        given = apply_patch(stored_form(value), origin.changes, limits=case.limits)
        value = validated(kind, given)
    return value, _stored(case, value, given=given)


def _stored(case: Case, value: Artifact, *, given: dict[str, Any]) -> dict[str, Any]:
    """The data to keep: `given` itself, within the limits already, where its type added nothing."""
    if value.__pydantic_serializer__.to_json(value, by_alias=True) == to_json(given):
        return given
    data = stored_form(value)
    if same_json(given, data):
        return given
    check_json(data, limits=case.limits)
    return data


def _is_same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """`same_json` of two values within the limits, at a fraction of its price."""
    return one == other and (to_json(one) == to_json(other) or same_json(one, other))


def _next(
    case: Case,
    before: Stored,
    value: Artifact,
    data: dict[str, Any],
    patch: Patch,
    origin: Origin,
    *,
    summary: str | None = None,
    reverted_to: int | None = None,
) -> Written:
    _check_contract(case, before.address, before.kind, data)
    artifact = before.model_copy(
        update={
            "version": before.version + 1,
            "data": data,
            "updated_by": case.actor,
            "archived": False,
        }
    )
    event = ArtifactChanged(
        artifact_id=artifact.id,
        kind=artifact.kind,
        version=artifact.version,
        patch=patch,
        summary=summary or _described(case, before, value, patch, reverted_to),
        address=before.address,
        reverted_to=reverted_to,
        proposal_id=origin.proposal_id,
        thread_id=origin.thread_id,
        run_id=origin.run_id,
    )
    return Written(artifact, _revision(case, artifact, patch, origin), event)


def _revision(case: Case, artifact: Stored, patch: Patch | None, origin: Origin) -> Revision:
    return Revision(
        artifact_id=artifact.id,
        version=artifact.version,
        kind=artifact.kind,
        data=artifact.data,
        patch=patch,
        actor=case.actor,
        proposal_id=origin.proposal_id,
        archived=artifact.archived,
        edited=origin.changes is not None,
    )


def _described(
    case: Case, before: Stored, value: Artifact, patch: Patch, reverted_to: int | None
) -> str:
    if reverted_to is not None:
        return f"reverted to version {reverted_to}"
    if before.archived and _is_same(before.data, stored_form(value)):
        return "brought back"
    described: str | None = None
    if type(value).describe_change is not Artifact.describe_change:
        try:
            described = value.describe_change(type(value).model_validate(before.data))
        except ValidationError:  # the type has changed since: the old value has no words of its own
            described = None
    summary = described or summarize_patch(patch, before.data, limits=case.limits)
    return summary[: case.limits.summary_chars]


def _check_new_kind(case: Case, kind: str) -> None:
    artifact_type(kind)
    if case.kinds is not None and kind not in case.kinds:
        raise ValidationFailed.at(["kind"], "is not allowed in this workspace")


def _check_address(artifact_id: str, address: Address | None) -> None:
    if address is None:
        return
    if artifact_id != address_id(address.collection, address.entity, address.key):
        raise ValidationFailed.at(["artifact_id"], "is not the id of this address")


def _check_contract(case: Case, address: Address | None, kind: str, data: dict[str, Any]) -> None:
    """What stands at an address keeps to what its collection asks, whoever writes it."""
    contract = None if address is None else case.state.contracts.get(address.collection)
    if contract is None:
        return
    if contract.kind is None:
        raise ValidationFailed.at(["address", "collection"], "holds events, which have no address")
    if kind != contract.kind:
        raise ValidationFailed.at(["kind"], f"must be {contract.kind!r} in this collection")
    if problems := contract.problems(data):
        raise ValidationFailed(
            f"the collection {contract.collection!r} does not take this value", errors=problems
        )


def _check_live(artifact: Stored) -> None:
    if artifact.archived:
        raise InvalidState("this artifact is archived and read-only")


def _check_base(case: Case, artifact: Stored, base: int) -> None:
    if base == artifact.version:
        return
    missed = range(base + 1, artifact.version + 1)
    found = (case.state.revisions.get(revision_key(artifact.id, n)) for n in missed)
    raise VersionConflict(
        artifact_id=artifact.id,
        base=base,
        head=artifact.version,
        changes=[_as_change(revision) for revision in found if revision is not None],
    )


def _as_change(revision: Revision) -> dict[str, Any]:
    change: dict[str, Any] = {"version": revision.version, "actor": revision.actor.wire()}
    if revision.patch is not None:
        change["patch"] = revision.patch.wire()
    if revision.archived:
        change["archived"] = True
    return change

"""The values that a use ran on, as they were then and as they stand now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from artifacts.core.visibility import Hidden
from artifacts.models import Artifact, Workspace
from artifacts.surfaces.object_pages import page_of
from learning.models import Record


@dataclass(frozen=True, slots=True)
class HeadNow:
    """One value. `now` is in words; `diff_url` shows what has changed since, if something has."""

    name: str
    record_id: str
    run_id: str | None
    version: int | None
    now: str
    has_moved: bool
    record_url: str | None
    diff_url: str | None


def heads_now(place: Workspace, target: Mapping[str, Any] | None, hidden: Hidden) -> list[HeadNow]:
    """What a learning target names, each with what became of it; two statements."""
    if not target:
        return []
    ids = [head["record_id"] for head in target["heads"]]
    rows = Record.objects.select_related("revision").filter(workspace=place, public_id__in=ids)
    found = {row.public_id: row for row in rows if row.artifact_id not in hidden.artifacts}
    names = {row.artifact_id for row in found.values() if row.artifact_id}
    artifacts = Artifact.objects.filter(workspace=place, public_id__in=names)
    now = {row.public_id: row for row in artifacts.only("public_id", "version", "archived")}
    return [_head(place, each, found.get(each["record_id"]), now) for each in target["heads"]]


def _head(
    place: Workspace,
    head: Mapping[str, Any],
    record: Record | None,
    now: Mapping[str, Artifact],
) -> HeadNow:
    version = record.revision.version if record and record.revision else None
    current = now.get(record.artifact_id or "") if record else None
    words, has_moved, diff_url = "not to be seen", False, None
    if record is not None and current is not None and version is not None:
        words, has_moved = _since(version, current)
        page = page_of("artifact", place.public_id, current.public_id)
        if current.version > version and page:
            diff_url = f"{page}?from={version}&to={current.version}"
    return HeadNow(
        name=f"{head['collection']}/{head['key']}",
        record_id=head["record_id"],
        run_id=head["run_id"],
        version=version,
        now=words,
        has_moved=has_moved,
        record_url=page_of("record", place.public_id, record.public_id) if record else None,
        diff_url=diff_url,
    )


def _since(version: int, current: Artifact) -> tuple[str, bool]:
    if current.archived:
        return "archived since", True
    if current.version > version:
        return f"now at version {current.version}", True
    return "still in force", False

"""What a bind gives back: the text to run on, and the id to keep beside the result.

Shared by the server and the client, so it stands on the standard library alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundArtifact:
    """A use with its text. It says that something was rendered, and not that anything ran."""

    id: str
    content: str
    artifact: Mapping[str, Any]
    render_sha256: str
    telemetry_attributes: Mapping[str, str | int]
    snapshot_id: str | None
    learning_target: Mapping[str, Any] | None
    expires_at: str | None
    truncated: bool

    def wire(self) -> dict[str, Any]:
        """The JSON form; what there is none of is null."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @classmethod
    def of(cls, wire: Mapping[str, Any]) -> BoundArtifact:
        """From its JSON form; members of later servers are left aside."""
        return cls(**{each.name: wire[each.name] for each in fields(cls)})


def telemetry_attributes(
    namespace: str,
    *,
    use_id: str,
    artifact: Mapping[str, Any],
    render_sha256: str,
    snapshot_id: str | None,
) -> dict[str, str | int]:
    """Names and hashes for a span: scalars that tell nothing of what was said."""
    attributes: dict[str, str | int] = {
        f"{namespace}.use.id": use_id,
        f"{namespace}.artifact.name": artifact["name"],
        f"{namespace}.artifact.version": artifact["version"],
        f"{namespace}.artifact.definition_hash": artifact["definition_hash"],
        f"{namespace}.artifact.render_sha256": render_sha256,
    }
    if snapshot_id is not None:
        attributes[f"{namespace}.artifact.snapshot_id"] = snapshot_id
    return attributes

"""A change as it stands on a page: the diff of its text or fields, with its size in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from artifacts.core.artifact import MarkdownArtifact, registered_kinds
from artifacts.surfaces.diffs import TextDiff, text_diff
from artifacts.surfaces.field_diffs import FieldDiff, field_diff


@dataclass(frozen=True, slots=True)
class Display:
    """What differs: `text` for the body of a Markdown kind, `fields` for everything else."""

    text: TextDiff | None = None
    fields: FieldDiff | None = None

    @property
    def is_empty(self) -> bool:
        return not any(part and not part.is_empty for part in (self.text, self.fields))

    @property
    def limit(self) -> str | None:
        """Why not all of it is shown."""
        return next((part.limit for part in (self.text, self.fields) if part and part.limit), None)


def is_markdown(kind: str) -> bool:
    """Whether the data of this kind is one Markdown text, as far as this process knows it."""
    known = registered_kinds().get(kind)
    return known is not None and issubclass(known, MarkdownArtifact)


def change_display(
    kind: str, before: dict[str, Any] | None, after: dict[str, Any] | None
) -> Display:
    """From one version's data to another's; None stands for no data at all."""
    old, new = dict(before or {}), dict(after or {})
    if not is_markdown(kind):
        return Display(fields=field_diff(old, new))
    old_text, new_text = old.pop("text", ""), new.pop("text", "")
    if not (isinstance(old_text, str) and isinstance(new_text, str)):
        return Display(fields=field_diff(before or {}, after or {}))
    fields = field_diff(old, new)
    return Display(text_diff(old_text, new_text), None if fields.is_empty else fields)

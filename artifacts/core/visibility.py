"""What a reader may see: ids an event names, and what is left of it when some are hidden."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic_core import from_json, to_json

from .events import AnyKnownEvent

# Ids never contain it, so a list of ids joined by it can be searched for one of them.
SEPARATOR = "/"


@dataclass(frozen=True, slots=True)
class Hidden:
    """Threads and artifacts of a workspace that an actor may not know of."""

    threads: frozenset[str] = frozenset()
    artifacts: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.threads or self.artifacts)


NOTHING_HIDDEN = Hidden()


def mentions(event: AnyKnownEvent) -> tuple[str, ...]:
    """The artifacts and threads an event names, in a steady order."""
    ids: list[str | None] = [
        getattr(event, "artifact_id", None),
        getattr(event, "thread_id", None),
        *getattr(event, "artifact_ids", ()),
    ]
    target = getattr(event, "target", None)
    ids += [getattr(target, "artifact_id", None), getattr(target, "thread_id", None)]
    return tuple(dict.fromkeys(id for id in ids if id is not None))


def is_touched(named: str, hidden: Hidden) -> bool:
    """Whether any id of a stored `mentions` text is hidden."""
    return bool(hidden) and not hidden.threads.union(hidden.artifacts).isdisjoint(
        named.split(SEPARATOR)
    )


def visible_text(text: str, *, named: str, event_type: str, hidden: Hidden) -> str | None:
    """A stored envelope as a reader may see it: shared as it is, redacted, or None.

    A change of focus loses the hidden ids; any other event that names one is dropped whole.
    """
    if not is_touched(named, hidden):
        return text
    if event_type != "focus_changed" or not hidden.threads.isdisjoint(named.split(SEPARATOR)):
        return None
    envelope = from_json(text)
    event = envelope["event"]
    event["artifact_ids"] = [id for id in event["artifact_ids"] if id not in hidden.artifacts]
    return to_json(envelope).decode()

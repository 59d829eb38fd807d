"""The words in which recipes are bound and uses judged: the same over HTTP and in process, for
callers with and without `await`.

Nothing here knows how a call is carried out: each class is given a function that does it, and
answers what that function answers.
"""

from __future__ import annotations

from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager
from types import MappingProxyType
from typing import Any, Generic, Literal, NotRequired, Protocol, TypedDict, TypeVar, Unpack

from .bound import BoundArtifact
from .telemetry import correlated

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
One = TypeVar("One")
Many = TypeVar("Many")

Kind = Literal[
    "thumbs_up",
    "thumbs_down",
    "correction",
    "task_success",
    "task_failure",
    "exception",
    "evaluation",
]
Source = Literal["end_user", "operator", "evaluator", "application"]
Parameters = Mapping[str, Any]

# Who usually reports what; only a default, as no source counts for more than another.
USUAL_SOURCE: Mapping[Kind, Source] = MappingProxyType(
    {
        "thumbs_up": "end_user",
        "thumbs_down": "end_user",
        "correction": "operator",
        "task_success": "application",
        "task_failure": "application",
        "exception": "application",
        "evaluation": "evaluator",
    }
)


class ExecutionRef(TypedDict):
    """Where a trace backend keeps what happened; never followed."""

    system: str
    id: str
    url: NotRequired[str]


class Details(TypedDict, total=False):
    """What may be said besides the kind of an outcome."""

    source: Source
    score: float | None
    label: str | None
    comment: str | None
    expected: str | None
    actual_excerpt: str | None
    dedupe_key: str | None
    execution_refs: Sequence[ExecutionRef]


class RecordFields(TypedDict, total=False):
    """One record to keep; `entity` and `collection` are required."""

    collection: str
    entity: str
    type: str | None
    key: str | None
    text: str
    content: Mapping[str, Any]
    derived_from: Sequence[str]
    dedupe_key: str | None


class Submitted(TypedDict):
    """The record of a signal. `duplicate`: it was there before, `erased`: and has been emptied."""

    record_id: str
    duplicate: bool
    erased: NotRequired[bool]


class Ingested(TypedDict):
    """What became of a record; where its collection is reviewed, it is a proposal at first."""

    record_id: NotRequired[str]
    proposal_id: NotRequired[str]
    duplicate: bool
    erased: NotRequired[bool]


class Binds(Protocol[R_co]):
    """Binds a recipe as a use."""

    def __call__(self, name: str, parameters: Parameters, *, snapshot: bool) -> R_co: ...


class Artifact:
    """A recipe by its name, for callers that wait."""

    def __init__(self, name: str, bind: Binds[BoundArtifact]) -> None:
        self.name = name
        self._bind = bind

    def bind(
        self, parameters: Parameters | None = None, *, snapshot: bool = False
    ) -> BoundArtifact:
        """Render the recipe and name that render by a use."""
        return self._bind(self.name, parameters or {}, snapshot=snapshot)

    @contextmanager
    def use(
        self, parameters: Parameters | None = None, *, snapshot: bool = False
    ) -> Iterator[BoundArtifact]:
        """Bind once, and have the spans of the block say which use they belong to."""
        bound = self.bind(parameters, snapshot=snapshot)
        with correlated(bound.telemetry_attributes):
            yield bound


class AsyncArtifact:
    """A recipe by its name, for coroutines."""

    def __init__(self, name: str, bind: Binds[Awaitable[BoundArtifact]]) -> None:
        self.name = name
        self._bind = bind

    async def bind(
        self, parameters: Parameters | None = None, *, snapshot: bool = False
    ) -> BoundArtifact:
        """Render the recipe and name that render by a use."""
        return await self._bind(self.name, parameters or {}, snapshot=snapshot)

    @asynccontextmanager
    async def use(
        self, parameters: Parameters | None = None, *, snapshot: bool = False
    ) -> AsyncIterator[BoundArtifact]:
        """Bind once, and have the spans of the block say which use they belong to."""
        bound = await self.bind(parameters, snapshot=snapshot)
        with correlated(bound.telemetry_attributes):
            yield bound


class UseFeedback(Generic[R]):
    """Feedback on one use, a method for each common outcome."""

    def __init__(self, use_id: str, submit: Callable[[str, dict[str, Any]], R]) -> None:
        self.use_id = use_id
        self._submit = submit

    def thumbs_up(self, **details: Unpack[Details]) -> R:
        return self._say("thumbs_up", details)

    def thumbs_down(self, **details: Unpack[Details]) -> R:
        return self._say("thumbs_down", details)

    def correction(self, **details: Unpack[Details]) -> R:
        return self._say("correction", details)

    def evaluation(self, **details: Unpack[Details]) -> R:
        return self._say("evaluation", details)

    def _say(self, kind: Kind, details: Details) -> R:
        return self._submit(
            self.use_id, {"kind": kind, "source": USUAL_SOURCE[kind], **said(details)}
        )


class Feedback(Generic[R]):
    """What came of uses."""

    def __init__(self, submit: Callable[[str, dict[str, Any]], R]) -> None:
        self._submit = submit

    def submit(self, *, use_id: str, kind: Kind, source: Source, **details: Any) -> R:
        """Say what came of a use; the details are those of `Details`."""
        return self._submit(use_id, {"kind": kind, "source": source, **said(details)})

    def for_use(self, use_id: str) -> UseFeedback[R]:
        return UseFeedback(use_id, self._submit)


class Records(Generic[One, Many]):
    """Evidence to keep."""

    def __init__(
        self,
        one: Callable[[RecordFields], One],
        many: Callable[[Sequence[RecordFields]], Many],
    ) -> None:
        self._one, self._many = one, many

    def ingest(self, **record: Unpack[RecordFields]) -> One:
        """Keep one record."""
        return self._one(record)

    def ingest_all(self, records: Sequence[RecordFields]) -> Many:
        """Keep several, all or none."""
        return self._many(records)


def said(details: Mapping[str, Any]) -> dict[str, Any]:
    """What is None was not said."""
    return {name: value for name, value in details.items() if value is not None}

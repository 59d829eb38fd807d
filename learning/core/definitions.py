"""What a catalog declares: collections, artifacts (recipes), views, derivations, packages.

Only the form of one definition; what must hold between several stands in `rules`. What is not
declared here is refused.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import jsonschema_rs
from pydantic import AfterValidator, Field, StrictBool, StringConstraints

from artifacts.core.values import AddressPart, FilledText, Text, Value

from .schemas import compiled

MOST_FIELDS = 20
MOST_BLOCKS = 50
MOST_NAMES = 50
MOST_ROWS = 500
TEMPLATE_CHARS = 65_536


def _scalar(value: Any) -> Any:
    if isinstance(value, str | int | float):
        return value
    raise ValueError("must be a text, a number, true or false")


Scalar = Annotated[Any, AfterValidator(_scalar)]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
Ref = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}@[1-9][0-9]{0,8}$")]
Version = Annotated[int, Field(ge=1, le=999_999_999, strict=True)]
Names = Annotated[tuple[Name, ...], Field(min_length=1, max_length=MOST_NAMES)]
SomeNames = Annotated[tuple[Name, ...], Field(max_length=MOST_NAMES)]
Keys = Annotated[tuple[AddressPart, ...], Field(min_length=1, max_length=MOST_NAMES)]
Tokens = Annotated[int, Field(ge=1, strict=True)]
Rows = Annotated[int, Field(ge=1, le=MOST_ROWS, strict=True)]
Template = Annotated[FilledText, Field(max_length=TEMPLATE_CHARS)]
ScalarType = Literal["string", "integer", "number", "boolean"]
DefinitionType = Literal["collection", "artifact", "view", "derivation", "package"]


class Definition(Value):
    """What all have: `active` says whether applying makes this version the one in force."""

    type_name: ClassVar[DefinitionType]

    name: Name
    version: Version
    description: Text = ""
    active: StrictBool = True

    @property
    def ref(self) -> str:
        return f"{self.name}@{self.version}"


class DeclaredField(Value):
    """A scalar inside the content that queries may use by name."""

    path: Annotated[
        str, StringConstraints(pattern=r"^content(\.[A-Za-z_][A-Za-z0-9_]{0,63}){1,8}$")
    ]
    type: ScalarType
    filter: StrictBool = False
    sort: StrictBool = False
    project: StrictBool = False


class Collection(Definition):
    """Records of one shape. A keyed one has one value in force per entity and key."""

    type_name: ClassVar[DefinitionType] = "collection"

    mode: Literal["event", "keyed"]
    kind: Name | None = None
    content_schema: dict[str, Any] = Field(alias="schema")
    fields: Annotated[dict[Name, DeclaredField], Field(max_length=MOST_FIELDS)] = {}

    @cached_property
    def validator(self) -> jsonschema_rs.Draft202012Validator:
        """What its schema says, ready to be asked; definitions never change."""
        return compiled(self.content_schema)


class Parameter(Value):
    """What a render is given."""

    type: ScalarType = "string"
    required: StrictBool = True
    default: Scalar | None = None
    description: Text = ""


Parameters = Annotated[dict[Name, Parameter], Field(max_length=MOST_NAMES)]
Arguments = Annotated[dict[Name, Scalar], Field(max_length=MOST_NAMES)]


class Document(Value):
    """Maintained values of one entity: those in force, those proposed, or all versions."""

    entity: Template
    collections: Names
    status: Literal["active", "draft", "all"] = "active"


class Block(Value):
    """One part of a recipe: a document, or what a view selects."""

    document: Document | None = None
    view: Ref | None = None
    params: Arguments = {}
    max_tokens: Tokens
    required: StrictBool = False


class SnapshotTarget(Value):
    """Where a copy of a render is kept when a bind asks for one."""

    entity: Template
    collection: Name
    type: Name
    key: Template


class Learning(Value):
    """Which block feedback is about, and which reviewed artifact improves it."""

    target_block: Text | None = None
    artifact: Text | None = None


class Recipe(Definition):
    """A text made of blocks. A reviewed one maintains the collections of its document blocks."""

    type_name: ClassVar[DefinitionType] = "artifact"

    kind: Name
    lifecycle: Literal["live", "reviewed"]
    parameters: Parameters = {}
    blocks: Annotated[dict[Name, Block], Field(min_length=1, max_length=MOST_BLOCKS)]
    template: Template
    snapshot: SnapshotTarget | None = None
    learning: Learning | None = None
    candidate_processor: Ref | None = None
    complete_keys: Keys | None = None

    @property
    def maintained(self) -> frozenset[str]:
        """The collections whose values change only by promotion of this recipe's candidates."""
        if self.lifecycle != "reviewed":
            return frozenset()
        documents = (block.document for block in self.blocks.values() if block.document)
        return frozenset(name for document in documents for name in document.collections)


class Scope(Value):
    """Which records a view selects from; without an entity, those of all."""

    entity: Template | None = None
    collections: Names
    types: SomeNames = ()
    where: Arguments = {}


class Order(Value):
    """Newest first, by a declared field, or by how well the text answers a query."""

    by: Literal["recency", "field", "rank"] = "recency"
    field: Name | None = None
    direction: Literal["asc", "desc"] = "desc"
    query: Template | None = None


class View(Definition):
    """A ranked, bounded selection of records."""

    type_name: ClassVar[DefinitionType] = "view"

    parameters: Parameters = {}
    scope: Scope
    order: Order = Order()
    limit: Rows = 20


class WriteTrigger(Value):
    """The records whose writing asks for a run."""

    collections: Names
    types: SomeNames = ()
    where: Arguments = {}


class Trigger(Value):
    """When a derivation runs: after so many matching records, never more often than it may."""

    write: WriteTrigger
    cooldown_seconds: Annotated[int, Field(ge=0, le=604_800, strict=True)] = 0
    accumulate: Annotated[int, Field(ge=1, le=1_000, strict=True)] = 1


class RecordSource(Value):
    """Records of the run's own entity, which is why no entity is named."""

    kind: Literal["changes", "snapshot", "stale_citations", "current", "record"]
    collections: Names
    types: SomeNames = ()
    statuses: Annotated[
        tuple[Literal["active", "draft", "superseded"], ...], Field(max_length=3)
    ] = ()
    keyed: StrictBool | None = None
    limit: Rows = 100
    max_tokens: Tokens


class ViewSource(Value):
    """What a view selects, of whatever entity its own scope names."""

    kind: Literal["view"]
    view: Ref
    params: Arguments = {}
    max_tokens: Tokens


Source = Annotated[RecordSource | ViewSource, Field(discriminator="kind")]
DRIVERS = frozenset({"changes", "snapshot", "stale_citations"})


class RunLimits(Value):
    """What one run may use up."""

    tasks: Annotated[int, Field(ge=1, le=100, strict=True)] = 10
    model_calls: Annotated[int, Field(ge=0, le=1_000, strict=True)] = 20
    records: Annotated[int, Field(ge=1, le=10_000, strict=True)] = 500
    tokens: Annotated[int, Field(ge=1, le=10_000_000, strict=True)] = 200_000
    seconds: Annotated[int, Field(ge=1, le=3_600, strict=True)] = 300


class ModelTask(Value):
    """A question to a model, whose answer has a schema."""

    name: Name
    kind: Literal["llm"]
    prompt: Template
    output_schema: dict[str, Any]


class FunctionTask(Value):
    """A function that the host registered under this name."""

    name: Name
    kind: Literal["function"]
    function: Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][\w.]{0,199}$")]


Task = Annotated[ModelTask | FunctionTask, Field(discriminator="kind")]


class Emit(Value):
    """Where a run's results go; with `review: required` they become a candidate."""

    collection: Name
    type: Name | None = None
    keys: Keys | None = None
    complete: StrictBool = False
    review: Literal["required", "none"] = "none"


class Derivation(Definition):
    """How records become new ones: when, from what, by which tasks, at what cost."""

    type_name: ClassVar[DefinitionType] = "derivation"

    trigger: Trigger
    sources: Annotated[dict[Name, Source], Field(min_length=1, max_length=MOST_NAMES)]
    model: Text | None = None
    limits: RunLimits = RunLimits()
    tasks: Annotated[tuple[Task, ...], Field(min_length=1, max_length=MOST_NAMES)]
    emit: Emit


Refs = Annotated[tuple[Ref, ...], Field(max_length=200)]


class Package(Definition):
    """What is applied together: every definition it lists, at the version it lists."""

    type_name: ClassVar[DefinitionType] = "package"

    collections: Refs = ()
    artifacts: Refs = ()
    views: Refs = ()
    derivations: Refs = ()

    def listed(self) -> list[tuple[DefinitionType, str]]:
        """Type and `name@version` of all that it lists."""
        return [
            (type_name, ref)
            for member, (type_name, _) in SECTIONS.items()
            for ref in getattr(self, member)
        ]


AnyDefinition: TypeAlias = Collection | Recipe | View | Derivation | Package
# The name of a folder, of the list in its files, of a package's list, and of a route.
SECTIONS: dict[str, tuple[DefinitionType, type[Collection | Recipe | View | Derivation]]] = {
    "collections": ("collection", Collection),
    "artifacts": ("artifact", Recipe),
    "views": ("view", View),
    "derivations": ("derivation", Derivation),
}
MODELS: dict[str, type[AnyDefinition]] = {
    "package": Package,
    **dict(SECTIONS.values()),
}
PLURALS: dict[str, str] = {
    "packages": "package",
    **{section: type_name for section, (type_name, _) in SECTIONS.items()},
}

"""Bodies, queries and pages of the catalog and record routes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictBool

from artifacts.core.values import AddressPart, Id, Text, Value
from artifacts.surfaces.openapi import page_model
from artifacts.surfaces.pagination import PageQuery, page_size
from learning.core.records import RecordInput
from learning.selectors.catalog import DefinitionEntry
from learning.selectors.records import RecordInfo, RecordQuery
from learning.services.records import Ingested


class CatalogBundle(Value):
    """The files of a package, each text by its path; `check` only says what applying would do."""

    files: dict[Annotated[Text, Field(max_length=200)], Text]
    check: StrictBool = False


class DefinitionQuery(PageQuery):
    """Which definitions: of one type, of one name, in force or not."""

    type: Literal["collection", "artifact", "view", "derivation", "package"] | None = None
    name: Id | None = None
    active: bool | None = None


class IngestBody(Value):
    """Records to keep, all or none."""

    records: tuple[RecordInput, ...]


class IngestAnswer(Value):
    """What became of each record, in the order they were sent."""

    results: tuple[Ingested, ...]


class RecordListQuery(PageQuery):
    """Which records, in which order, and which page of them."""

    collection: tuple[Id, ...] = ()
    entity: AddressPart | None = None
    type: tuple[Id, ...] = ()
    key: AddressPart | None = None
    where: tuple[Text, ...] = ()
    sort: Text = "seq"
    status: Literal["current", "all"] = "current"

    @property
    def asked(self) -> RecordQuery:
        return RecordQuery(**self.model_dump(exclude={"after", "limit"}))


class SearchQuery(Value):
    """The words to look for, and the records to look in."""

    q: Text
    collection: tuple[Id, ...] = ()
    entity: AddressPart | None = None
    type: tuple[Id, ...] = ()
    where: tuple[Text, ...] = ()
    limit: Annotated[int, Field(ge=1)] | None = None

    @property
    def size(self) -> int:
        return page_size(self.limit)

    @property
    def asked(self) -> RecordQuery:
        return RecordQuery(**self.model_dump(exclude={"limit", "q"}))


class SearchAnswer(Value):
    """The best matches, the best first."""

    results: tuple[RecordInfo, ...]


DefinitionPage = page_model(DefinitionEntry, name="DefinitionPage")
RecordPage = page_model(RecordInfo, name="RecordPage")

"""Full-text search of records: every word must be there, the best match comes first."""

from __future__ import annotations

from django.db import connections, router
from django.db.models import FloatField
from django.db.models.expressions import RawSQL

from artifacts.core.errors import ValidationFailed
from artifacts.core.visibility import Hidden
from learning import models
from learning.core.records import WORD

from .records import RecordInfo, RecordQuery, as_infos, narrowed, record_rows

QUERY_CHARS = 1_000
MOST_WORDS = 32

# One text in each pair finds by the index, the other ranks what is left; both take the query.
MATCHING = {
    "postgresql": """SELECT record_id FROM artifactr_learning_recordtext
        WHERE to_tsvector('simple', text) @@ plainto_tsquery('simple', %s)""",
    "sqlite": """SELECT rowid FROM artifactr_learning_recordtext_fts
        WHERE artifactr_learning_recordtext_fts MATCH %s""",
}
RANK = {
    "postgresql": """(SELECT -ts_rank(to_tsvector('simple', text), plainto_tsquery('simple', %s))
        FROM artifactr_learning_recordtext WHERE record_id = "artifactr_learning_record"."id")""",
    "sqlite": """(SELECT bm25(artifactr_learning_recordtext_fts)
        FROM artifactr_learning_recordtext_fts
        WHERE artifactr_learning_recordtext_fts MATCH %s
        AND rowid = "artifactr_learning_record"."id")""",
}


def search_records(
    workspace_pk: int, text: str, query: RecordQuery, hidden: Hidden, *, limit: int
) -> list[RecordInfo]:
    """The best matches among the records that a query is about; of equal ones the newest."""
    if len(text) > QUERY_CHARS:
        raise ValidationFailed.at(["q"], f"at most {QUERY_CHARS} characters", "too_long")
    words = WORD.findall(text.lower())[:MOST_WORDS]
    if not words:
        return []
    vendor = connections[router.db_for_read(models.Record)].vendor
    # Quoted, a word is text to FTS5, whatever its query language makes of it.
    asked = " ".join(f'"{word}"' for word in words) if vendor == "sqlite" else " ".join(words)
    rows = narrowed(workspace_pk, record_rows(workspace_pk, hidden), query)
    found = (
        rows.filter(pk__in=RawSQL(MATCHING[vendor], (asked,)))  # noqa: S611 - parameters
        .annotate(rank=RawSQL(RANK[vendor], (asked,), output_field=FloatField()))  # noqa: S611
        .order_by("rank", "-seq")
    )
    return as_infos(workspace_pk, list(found[:limit]), hidden)

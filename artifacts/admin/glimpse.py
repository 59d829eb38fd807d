"""A few words that tell one artifact from another in a list, taken from the start of its data."""

from __future__ import annotations

import json
import re

from django.db.models import F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Left

from artifacts.models import Revision

START_CHARS = 600
WORDS_CHARS = 60
# The first of these members names the thing; a string that the cut ended is none.
NAMED = re.compile(r'"(?:title|name|label|text|summary)":\s*("(?:[^"\\]|\\.)+(?:"|$))')


def data_start(workspace: str, artifact_id: str) -> Subquery:
    """The start of the data in force of the artifact that these two columns name."""
    found: QuerySet[Revision] = Revision.objects.filter(
        artifact__workspace=OuterRef(workspace),
        artifact__public_id=OuterRef(artifact_id),
        version=F("artifact__version"),
    )
    return Subquery(found.values_list(Left("data", START_CHARS))[:1])


def glimpse(start: str | None) -> str:
    """The name an artifact gives itself, or the beginning of its text."""
    match = NAMED.search(start or "")
    if match is None:
        return ""
    text = match.group(1)
    try:
        words: str = json.loads(text if text.endswith('"') else text.rstrip("\\") + '"')
    except ValueError:  # cut in the middle of an escape
        return ""
    line = next((each.strip("# \t") for each in words.splitlines() if each.strip("# \t")), "")
    return line if len(line) <= WORDS_CHARS else line[: WORDS_CHARS - 1] + "…"

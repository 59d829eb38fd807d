"""A few words that tell one artifact from another in a list, taken from the start of its data."""

from __future__ import annotations

import json
import re

from django.db.models import F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Left

from artifacts.models import Revision

START_CHARS = 600
WORDS_CHARS = 60
# The first of these members names the thing, unless it is a part's; what a command wants to be the
# data is looked into. Other strings are matched so that no bracket within them counts.
PIECE = re.compile(
    r'"(?:title|name|label|goal|text|summary)":\s*(?P<name>"(?:[^"\\]|\\.)+(?:"|$))'
    r'|(?P<data>"data":\s*\{)|"(?:[^"\\]|\\.)*(?:"|$)|(?P<opens>[{\[])|(?P<closes>[}\]])'
)


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
    text = _named(start or "")
    try:
        words: str = json.loads(text if text.endswith('"') else text.rstrip("\\") + '"')
    except ValueError:  # cut in the middle of an escape
        return ""
    line = next((each.strip("# \t") for each in words.splitlines() if each.strip("# \t")), "")
    return line if len(line) <= WORDS_CHARS else line[: WORDS_CHARS - 1] + "…"


def _named(start: str) -> str:
    """The string that names it, as JSON; empty if the start holds none."""
    depth = 0
    for piece in PIECE.finditer(start):
        if piece["name"] and depth == 1:
            return piece["name"]
        if piece["opens"]:
            depth += 1
        elif piece["closes"]:
            depth -= 1
        elif piece["data"] and depth > 1:
            depth += 1
    return '""'

"""The rows of the learning half: what is declared, and what was observed.

Rows are written by `learning.store` alone.
"""

from .catalog import ActiveDefinition, Definition
from .records import (
    CurrentRecord,
    DedupeKey,
    LearningSignal,
    ProposalSource,
    Record,
    RecordField,
    RecordHead,
    RecordLink,
    RecordText,
)

__all__ = [
    "ActiveDefinition",
    "CurrentRecord",
    "DedupeKey",
    "Definition",
    "LearningSignal",
    "ProposalSource",
    "Record",
    "RecordField",
    "RecordHead",
    "RecordLink",
    "RecordText",
]

"""The feedback types that come with the app; a host adds its own in a module of this name.

Given on a turn that ran on a recipe, or on a message of it, each of them is a learning signal too:
`to_signal()` says which. A host's type has none until it says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from artifacts.core import Feedback
from artifacts.core.values import Text


class Thumbs(Feedback, targets={"turn", "message", "artifact", "thread"}):
    """Good or not, with a word on why."""

    up: bool
    comment: Text | None = None

    def to_signal(self) -> Mapping[str, Any]:
        return {"kind": "thumbs_up" if self.up else "thumbs_down", "comment": self.comment}


class Correction(Feedback, targets={"turn", "message", "artifact", "thread"}):
    """What should have been there instead."""

    expected: Text
    comment: Text | None = None

    def to_signal(self) -> Mapping[str, Any]:
        return {"kind": "correction", "expected": self.expected, "comment": self.comment}

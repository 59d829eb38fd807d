"""The feedback types that come with the app; a host adds its own in a module of this name."""

from __future__ import annotations

from artifacts.core import Feedback
from artifacts.core.values import Text


class Thumbs(Feedback, targets={"turn", "message", "artifact", "thread"}):
    """Good or not, with a word on why."""

    up: bool
    comment: Text | None = None


class Correction(Feedback, targets={"turn", "message", "artifact", "thread"}):
    """What should have been there instead."""

    expected: Text
    comment: Text | None = None

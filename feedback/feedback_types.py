"""The feedback types that come with the app; a host adds its own in a module of this name."""

from __future__ import annotations

from artifacts.core import Feedback


class Thumbs(Feedback, targets={"turn", "message", "artifact", "thread"}):
    """Good or not, with a word on why."""

    up: bool
    comment: str | None = None


class Correction(Feedback, targets={"turn", "message", "artifact", "thread"}):
    """What should have been there instead."""

    expected: str
    comment: str | None = None

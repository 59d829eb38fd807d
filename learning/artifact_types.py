"""The built-in kind of addressed artifacts: a maintained value, which agents never change alone."""

from __future__ import annotations

from typing import Any, ClassVar

from artifacts.core import Artifact, WritePolicy


class MaintainedValue(Artifact, name="maintained_value"):
    """A text, and whatever else the collection it stands in keeps beside it."""

    write_policy: ClassVar[WritePolicy] = "propose"

    text: str = ""
    content: dict[str, Any] = {}

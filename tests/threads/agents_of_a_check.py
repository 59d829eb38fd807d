"""A factory that leaves a mark where it is called, for processes that tests start."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from pydantic_ai import Agent

from tests.support.kinds import Paper
from threads.agent import ArtifactWorkspace


def make() -> Agent[Any, Any]:
    """An agent that would ask, and cannot wait."""
    Path(os.environ["MADE_MARK"]).touch()
    return Agent("test", capabilities=[ArtifactWorkspace(types=[Paper], ask=True)])

"""Where pydantic-ai meets the workspace: import from here to make an agent a collaborator."""

from .agents import Hosted
from .capability import ArtifactWorkspace
from .forward import ArtifactDraft, NullChannel, forward_live
from .history import load_history
from .models import function_model
from .own import OwnTurn
from .session import Session

__all__ = [
    "ArtifactDraft",
    "ArtifactWorkspace",
    "Hosted",
    "NullChannel",
    "OwnTurn",
    "Session",
    "forward_live",
    "function_model",
    "load_history",
]

"""Where pydantic-ai meets the workspace: import from here to make an agent a collaborator."""

from .agents import Hosted
from .capability import ArtifactWorkspace
from .models import function_model
from .session import Session

__all__ = ["ArtifactWorkspace", "Hosted", "Session", "function_model"]

"""The Python client of uses, feedback and records, for programs that are not the Django site.

    with Client("https://site/api/v1", workspace="wsp_…", key=API_KEY) as client:
        with client.artifact("daily_agent_prompt").use({"entity": "agent:ada"}) as use:
            answer = model.run(use.content)
        client.feedback.for_use(use.id).thumbs_down(comment="Wrong status.")

`AsyncClient` has the same methods for coroutines. It needs no Django, and httpx from the extra
`client`. In process, `feedback.local` has the same names.
"""

from feedback.bound import BoundArtifact
from feedback.fluent import (
    Artifact,
    AsyncArtifact,
    Ingested,
    Kind,
    Source,
    Submitted,
    UseFeedback,
)

from .clients import AsyncClient, Client
from .errors import (
    AnswerUnreadable,
    ApiError,
    ArtifactBlock,
    ArtifactNotFound,
    ArtifactParameter,
    ArtifactSnapshot,
    ArtifactUseExpired,
    ArtifactUseNotFound,
    BodyTooLarge,
    ClientError,
    ConnectionFailed,
    DedupeConflict,
    Forbidden,
    LearningSignalsUnavailable,
    NotFound,
    RenderChanged,
    RequestSchema,
    Unauthorized,
    Unavailable,
    ValidationFailed,
)

__all__ = [
    "AnswerUnreadable",
    "ApiError",
    "Artifact",
    "ArtifactBlock",
    "ArtifactNotFound",
    "ArtifactParameter",
    "ArtifactSnapshot",
    "ArtifactUseExpired",
    "ArtifactUseNotFound",
    "AsyncArtifact",
    "AsyncClient",
    "BodyTooLarge",
    "BoundArtifact",
    "Client",
    "ClientError",
    "ConnectionFailed",
    "DedupeConflict",
    "Forbidden",
    "Ingested",
    "Kind",
    "LearningSignalsUnavailable",
    "NotFound",
    "RenderChanged",
    "RequestSchema",
    "Source",
    "Submitted",
    "Unauthorized",
    "Unavailable",
    "UseFeedback",
    "ValidationFailed",
]

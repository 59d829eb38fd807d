"""Models that only answer whole: where a run is watched, their answer is streamed as it came."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import (
    CompletedStreamedResponse,
    Model,
    ModelRequestParameters,
    StreamedResponse,
)
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings


def streaming(model: Model) -> Model:
    """The model, or one that stands for it and can be streamed."""
    return model if _streams(model) else Whole(model)


def _streams(model: Model) -> bool:
    match model:
        case FallbackModel():
            return all(map(_streams, model.models))
        case WrapperModel():
            return _streams(model.wrapped)
        case FunctionModel():
            return model.stream_function is not None
    return type(model).request_stream is not Model.request_stream


class Whole(WrapperModel):
    """Asks its model without streaming, and replays the answer."""

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: Any = None,
    ) -> AsyncGenerator[StreamedResponse]:
        response = await self.wrapped.request(messages, model_settings, model_request_parameters)
        yield CompletedStreamedResponse(
            response, model_request_parameters=model_request_parameters, replay_events=True
        )

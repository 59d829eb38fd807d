"""One static Content-Security-Policy for every page, on every supported Django."""

from collections.abc import Awaitable, Callable

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

HEADER = "Content-Security-Policy"
SyncView = Callable[[HttpRequest], HttpResponseBase]
AsyncView = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


@sync_and_async_middleware
def content_security_policy(get_response: SyncView | AsyncView) -> SyncView | AsyncView:
    """Add the policy of the settings unless the view has set one of its own."""
    if iscoroutinefunction(get_response):

        async def secured_async(request: HttpRequest) -> HttpResponseBase:
            return _with_policy(await get_response(request))

        return secured_async

    def secured(request: HttpRequest) -> HttpResponseBase:
        return _with_policy(get_response(request))  # type: ignore[arg-type]

    return secured


def _with_policy(response: HttpResponseBase) -> HttpResponseBase:
    response.headers.setdefault(HEADER, settings.CONTENT_SECURITY_POLICY)
    return response

"""Makes daphne's `send` wait for slow clients.

It hands everything to Twisted's buffer at once, which has no end, so a bounded queue before it
would never fill. Twisted tells a registered producer when that buffer is full and when it has
drained. Servers whose `send` waits by itself, as uvicorn's does, are left alone.

A socket may also send many text frames with one call, which here costs little more than one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

Send = Callable[[dict[str, Any]], Awaitable[None]]
Application = Callable[[dict[str, Any], Any, Any], Awaitable[Any]]

# The scope's extension: a function that sends a list of texts, each as a frame of its own.
TEXTS = "artifactr.texts"
FINAL_TEXT = b"\x81"  # first byte of a whole text frame (RFC 6455, 5.2)
# How long the close frame waits for its turn behind what a client has not read.
CLOSE_SECONDS = 10.0


def paced(application: Application) -> Application:
    """Wrap an ASGI application, on the outside of all others."""

    async def waiting(scope: dict[str, Any], receive: Any, send: Send) -> Any:
        protocol = _protocol_of(send)
        if scope["type"] not in ("http", "websocket") or protocol is None:
            return await application(scope, receive, send)
        pace = _Pace(protocol)
        if scope["type"] == "websocket" and hasattr(protocol, "sendData"):
            extensions = {**scope.get("extensions", {}), TEXTS: pace.send_texts}
            scope = {**scope, "extensions": extensions}
        try:
            return await application(scope, receive, partial(pace.send, send))
        finally:
            pace.leave()

    return waiting


class _Pace:
    """A push producer of Twisted: told to pause and to go on."""

    def __init__(self, protocol: Any) -> None:
        self._protocol = protocol
        self._is_registered = False
        self._may_send = asyncio.Event()
        self._may_send.set()

    async def send(self, send: Send, message: dict[str, Any]) -> None:
        if not self._may_send.is_set():
            longest = CLOSE_SECONDS if message["type"] == "websocket.close" else None
            # Not `wait_for`, which may lose a cancellation on Python 3.11.
            with suppress(TimeoutError):
                async with asyncio.timeout(longest):
                    await self._may_send.wait()
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            self.leave()  # Twisted counts a producer at the end of a response as a mistake
        await send(message)
        if message["type"] in ("websocket.accept", "http.response.start"):
            self._join()

    async def send_texts(self, texts: list[str]) -> None:
        """What `send` does for each, but handed to the connection in one piece."""
        if not self._may_send.is_set():
            await self._may_send.wait()
        if self._protocol.state != self._protocol.STATE_OPEN:
            return
        if self._protocol.websocket_extensions_in_use:  # such as compression
            for text in texts:
                self._protocol.sendMessage(text.encode())
        elif self._protocol.send_queue:
            self._protocol.sendData(b"".join(map(_framed, texts)))
        else:  # what `sendData` does, after it has made up a line for its log
            self._protocol.transport.write(b"".join(map(_framed, texts)))

    def _join(self) -> None:
        transport = getattr(self._protocol, "transport", None)
        if transport is None or self._is_registered:
            return
        with suppress(RuntimeError, ValueError, AttributeError):
            if hasattr(self._protocol, "makeConnection"):
                # An upgraded connection still has the HTTP channel as its producer.
                transport.unregisterProducer()
            self._protocol.registerProducer(self, True)
            self._is_registered = True

    def leave(self) -> None:
        self._may_send.set()
        if self._is_registered:
            self._is_registered = False
            with suppress(RuntimeError, AttributeError):
                self._protocol.unregisterProducer()

    # Twisted's names

    def pauseProducing(self) -> None:  # noqa: N802
        self._may_send.clear()

    def resumeProducing(self) -> None:  # noqa: N802
        self._may_send.set()

    def stopProducing(self) -> None:  # noqa: N802
        self._may_send.set()


def _framed(text: str) -> bytes:
    """A text as a whole frame of a server, which is not masked."""
    data = text.encode()
    size = len(data)
    if size < 126:
        return FINAL_TEXT + size.to_bytes(1) + data
    if size < 2**16:
        return FINAL_TEXT + b"\x7e" + size.to_bytes(2) + data
    return FINAL_TEXT + b"\x7f" + size.to_bytes(8) + data


def _protocol_of(send: Any) -> Any:
    """Daphne's `send` is bound to the connection it answers."""
    if not isinstance(send, partial) or not send.args:
        return None
    protocol = send.args[0]
    return protocol if hasattr(protocol, "registerProducer") else None

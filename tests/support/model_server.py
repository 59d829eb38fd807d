"""A model's HTTP service on this machine, as far as the chat completions of OpenAI's API go.

It counts the connections it gets, which tells how many clients talk to it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class ModelServer(ThreadingHTTPServer):
    """Answers every request with the same words, streamed if asked to."""

    daemon_threads = True

    def __init__(self, words: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.words = words
        self.connections = 0
        self.requests: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # connections stay open
    server: ModelServer

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(asked)
        body = "".join(self._chunks()).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _chunks(self) -> Iterator[str]:
        for word in self.server.words.split():
            yield _chunk({"role": "assistant", "content": f"{word} "}, None)
        yield _chunk({}, "stop")
        yield "data: [DONE]\n\n"

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


def _chunk(delta: dict[str, str], finish_reason: str | None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    chunk = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "local",
        "choices": [choice],
    }
    return f"data: {json.dumps(chunk)}\n\n"


@contextmanager
def model_server(words: str) -> Iterator[ModelServer]:
    """Serve until the block ends."""
    with ModelServer(words) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join(60)

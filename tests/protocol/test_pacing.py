"""Many frames with one write, where the server can: each its own, as any client reads them."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest
from websockets.frames import Frame, Opcode
from websockets.streams import StreamReader

from threads.consumers.pacing import TEXTS, paced

pytestmark = pytest.mark.once

SIZES = (1, 124, 125, 126, 127, 65_534, 65_535, 65_536, 200_000)
WAYS = [*("x" * size for size in SIZES), *("é" * (size // 2 + 1) for size in SIZES), "雪🙂"]


class Connection:
    """The parts of Autobahn's connection that are used, which keep what is written."""

    STATE_OPEN = 3

    def __init__(self, *, extensions: tuple[str, ...] = ()) -> None:
        self.state = self.STATE_OPEN
        self.websocket_extensions_in_use = extensions
        self.send_queue: list[bytes] = []
        self.transport = self
        self.written: list[bytes] = []
        self.messages: list[bytes] = []

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        self.producer = producer

    def unregisterProducer(self) -> None: ...

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def sendData(self, data: bytes) -> None:
        self.send_queue.append(data)

    def sendMessage(self, payload: bytes) -> None:
        self.messages.append(payload)


async def sent_plainly(connection: Any, message: dict[str, Any]) -> None:
    """As daphne's `send` is: bound to its connection."""


def served(connection: Connection, application: Any) -> None:
    """Run an application on a socket of this connection."""

    async def go() -> None:
        receive = asyncio.Event()  # nobody sends
        await paced(application)(
            {"type": "websocket"}, receive.wait, partial(sent_plainly, connection)
        )

    asyncio.run(asyncio.wait_for(go(), 60))


def read(data: bytes) -> list[str]:
    """What a client's parser makes of bytes from a server."""
    reader, texts = StreamReader(), list[str]()
    reader.feed_data(data)
    while reader.buffer:
        with pytest.raises(StopIteration) as parsed:
            next(Frame.parse(reader.read_exact, mask=False, max_size=None))
        frame = parsed.value.value
        assert frame.opcode is Opcode.TEXT
        assert frame.fin
        texts.append(bytes(frame.data).decode())
    return texts


def test_texts_of_every_size_are_frames_of_one_write() -> None:
    connection = Connection()

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await scope["extensions"][TEXTS](WAYS)

    served(connection, application)
    [data] = connection.written
    assert read(data) == WAYS


def test_what_waits_in_autobahn_goes_first() -> None:
    connection = Connection()
    connection.send_queue.append(b"first")

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await scope["extensions"][TEXTS](["a"])

    served(connection, application)
    assert (len(connection.send_queue), connection.written) == (2, [])


def test_an_extension_of_the_connection_gets_each_text() -> None:
    connection = Connection(extensions=("permessage-deflate",))

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await scope["extensions"][TEXTS](["a", "é"])

    served(connection, application)
    assert connection.messages == [b"a", "é".encode()]
    assert connection.written == []


def test_nothing_is_written_to_one_that_closed() -> None:
    connection = Connection()
    connection.state = 0

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await scope["extensions"][TEXTS](["a"])

    served(connection, application)
    assert connection.written == connection.messages == []


def test_a_full_connection_is_waited_for() -> None:
    connection = Connection()

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "websocket.accept"})
        connection.producer.pauseProducing()
        writing = asyncio.create_task(scope["extensions"][TEXTS](["a"]))
        await asyncio.sleep(0)
        assert connection.written == []
        connection.producer.resumeProducing()
        await writing
        assert len(connection.written) == 1

    served(connection, application)


def test_other_servers_are_left_alone() -> None:
    scopes = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        scopes.append(scope)

    asyncio.run(paced(application)({"type": "websocket"}, None, lambda message: None))  # type: ignore[arg-type]
    assert scopes == [{"type": "websocket"}]

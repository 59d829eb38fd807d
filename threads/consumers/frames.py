"""Reading what a client sends: strict JSON, then the models of the protocol."""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic import ValidationError

from artifacts import conf
from artifacts.core.artifact import validation_failed
from artifacts.core.errors import UnsupportedProtocol, ValidationFailed
from artifacts.core.json_input import parse_json
from artifacts.core.protocol import PROTOCOL, CommandFrame, Hello
from artifacts.core.values import is_id
from threads.surfaces.subscription import Start

# Where in a frame that is no strict JSON the id of its answer is looked for.
NAMED_WITHIN_CHARS = 65_536
# Brackets, and strings with the colon that makes one a name. It never goes back over a text.
_TOKEN = re.compile(r'[\[{]++|[\]}]++|("(?:[^"\\]++|\\.)*+"?)(\s*+:)?', re.DOTALL)


class BadCommand(Exception):
    """A command that is none, from a client that named the id of its answer."""

    def __init__(self, command_id: str, rejection: ValidationFailed) -> None:
        super().__init__(rejection.message)
        self.command_id, self.rejection = command_id, rejection


def members_of(message: dict[str, Any]) -> dict[str, Any]:
    """The JSON object that a message carries."""
    text = message.get("text")
    if text is None:
        raise ValidationFailed.at(["frame"], "must be a text frame")
    value = parse_json(text, limits=conf.limits(), field="frame")
    if not isinstance(value, dict):
        raise ValidationFailed.at(["frame"], "must be a JSON object", "dict_type")
    return value


def read_hello(message: dict[str, Any]) -> Start:
    """Where the client wants to begin."""
    members = members_of(message)
    if members.get("type") != "hello":
        raise ValidationFailed.at(["type"], "must be 'hello' in the first frame")
    if members.get("protocol") != PROTOCOL:
        raise UnsupportedProtocol(f"unsupported_protocol: {PROTOCOL} is spoken here")
    try:
        hello = Hello.model_validate(members)
    except ValidationError as error:
        raise validation_failed(error) from None
    if hello.from_head and hello.resume_after_seq:
        raise ValidationFailed.at(["resume_after_seq"], "must be 0 with from_head")
    most = conf.settings().FOLLOWED_THREADS
    if hello.threads is not None and len(hello.threads) > most:
        raise ValidationFailed.at(["threads"], f"names more than {most} threads", "too_long")
    return Start(
        after_seq=hello.resume_after_seq,
        from_head=hello.from_head,
        threads=None if hello.threads is None else frozenset(hello.threads),
    )


def read_command(message: dict[str, Any]) -> CommandFrame:
    """The command of a frame; what is wrong with it is told under its own id, if it has one."""
    try:
        return _command(message)
    except ValidationFailed as rejection:
        command_id = _named_in(message.get("text") or "")
        if command_id is None:
            raise
        raise BadCommand(command_id, rejection) from None


def _command(message: dict[str, Any]) -> CommandFrame:
    members = members_of(message)
    if members.get("type") != "command":
        raise ValidationFailed.at(["type"], "must be 'command' after the first frame")
    try:
        return CommandFrame.model_validate(members)
    except ValidationError as error:
        raise validation_failed(error) from None


def _named_in(text: str) -> str | None:
    """The frame's own `command_id`, whatever else in the frame cannot be read."""
    level, is_next = 0, False
    for token in _TOKEN.finditer(text, 0, NAMED_WITHIN_CHARS):
        string, colon = token.groups()
        if string is None:
            level += len(token[0]) if token[0][0] in "[{" else -len(token[0])
            is_next = False
        elif colon is not None:
            is_next = level == 1 and string == '"command_id"'
        elif is_next:
            return _id(string)
    return None


def _id(string: str) -> str | None:
    try:
        value = json.loads(string)
    except ValueError:  # it is cut off
        return None
    return value if is_id(value) else None

"""Reading what a client sends: strict JSON, then the models of the protocol."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from artifacts import conf
from artifacts.core.artifact import validation_failed
from artifacts.core.errors import UnsupportedProtocol, ValidationFailed
from artifacts.core.json_input import parse_json
from artifacts.core.protocol import PROTOCOL, CommandFrame, Hello
from artifacts.core.values import is_id
from threads.surfaces.subscription import Start


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
    members = members_of(message)
    if members.get("type") != "command":
        raise ValidationFailed.at(["type"], "must be 'command' after the first frame")
    try:
        return CommandFrame.model_validate(members)
    except ValidationError as error:
        rejection = validation_failed(error)
    command_id = members.get("command_id")
    if not isinstance(command_id, str) or not is_id(command_id):
        raise rejection
    raise BadCommand(command_id, rejection)

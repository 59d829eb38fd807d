"""The live protocol as an AsyncAPI 3.0 document, made from the JSON Schema of its frames.

Frames and their parts come from the same models as everything on the wire, so only what a schema
cannot say is written here: where the socket is, who speaks first, and what its close codes mean.
"""

from __future__ import annotations

import json
from typing import Any

import yaml

from artifacts.core.protocol import PROTOCOL, protocol_schema
from threads.surfaces.closing import MEANINGS

ADDRESS = "/ws/v1/workspaces/{workspace_id}/stream"
KEY_PROTOCOL = "artifactr.key."
ABOUT = f"""\
A workspace has one log, numbered without gaps by `seq`. A client says `hello` with the last seq it
has seen, is told `welcome`, gets what it missed, then `replay_complete`, then everything as it
happens. After any drop it does the same again, so nothing is lost and nothing comes twice. With
`reset` in the welcome it first forgets what it has. A client that follows some threads only, or
from whom something is hidden, does not get every number.

Commands go over the same socket. One that was not answered before a drop is sent again under the
same `command_id`, and has its effect once. What cannot be read as a command is refused under the
frame's `command_id`, wherever that can be read; put it before the command.

`live` frames are what a run produces while it goes on; they are not in the log, and losing them
loses nothing durable.

The subprotocol `{PROTOCOL}` is accepted when offered.
"""
# By the name on the wire: the definition, and what the frame is for.
FROM_CLIENT = {
    "hello": ("Hello", "The first frame of a client"),
    "command": ("CommandFrame", "A command, to be answered under its id"),
}
FROM_SERVER = {
    "welcome": ("Welcome", "The answer to hello"),
    "event": ("EventFrame", "An event at its place in the log"),
    "replay_complete": ("ReplayComplete", "What was missed has been sent"),
    "live": ("Live", "What a run produces right now"),
    "command_result": ("CommandResult", "What became of a command"),
    "error": ("ErrorFrame", "A frame was not understood"),
}
MESSAGES = {**FROM_CLIENT, **FROM_SERVER}
ANSWERS = {"hello": "welcome", "command": "command_result"}


def asyncapi() -> dict[str, Any]:
    """The document, as the server's own view: it receives what clients send."""
    return {
        "asyncapi": "3.0.0",
        "info": {"title": PROTOCOL, "version": "1.0.0", "description": ABOUT},
        "defaultContentType": "application/json",
        "servers": {"site": _server()},
        "channels": {"stream": _channel()},
        "operations": _operations(),
        "components": {
            "messages": {name: _message(name) for name in MESSAGES},
            "schemas": _schemas(),
            "securitySchemes": _security(),
        },
    }


class _Dumper(yaml.SafeDumper):
    """Plain YAML to read: no anchors, and paragraphs as they are."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def asyncapi_text() -> str:
    """The document as it is checked in, byte for byte."""
    return yaml.dump(asyncapi(), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def _server() -> dict[str, Any]:
    return {
        "host": "{host}",
        "protocol": "wss",
        "variables": {"host": {"default": "localhost", "description": "Host and port of the site"}},
        "security": [_ref("securitySchemes", name) for name in _security()],
    }


def _security() -> dict[str, Any]:
    return {
        "session": {
            "type": "httpApiKey",
            "in": "cookie",
            "name": "sessionid",
            "description": "The cookie of a signed-in person, from a page of the site itself.",
        },
        "key": {
            "type": "http",
            "scheme": "bearer",
            "description": "An API key. A browser, which cannot set the header, offers "
            f"`{KEY_PROTOCOL}<key>` as a subprotocol.",
        },
    }


def _channel() -> dict[str, Any]:
    codes = "\n".join(f"- `{code}` {meaning}" for code, meaning in MEANINGS.items())
    return {
        "address": ADDRESS,
        "title": "The log of one workspace",
        "description": f"The server closes the socket with one of these codes:\n\n{codes}\n",
        "parameters": {"workspace_id": {"description": "Public id of the workspace"}},
        "messages": {name: _ref("messages", name) for name in MESSAGES},
        "bindings": {"ws": {"method": "GET"}},
        "x-close-codes": {str(code): meaning for code, meaning in MEANINGS.items()},
        "x-subprotocols": [PROTOCOL],
    }


def _operations() -> dict[str, Any]:
    alone = [name for name in FROM_SERVER if name not in ANSWERS.values()]
    return {
        "hello": _operation("receive", "Begin or resume", ["hello"]),
        "command": _operation("receive", "Ask for a change", ["command"]),
        "follow": _operation("send", "Tell what is in the log, and what goes on", alone),
    }


def _operation(action: str, summary: str, messages: list[str]) -> dict[str, Any]:
    channel = {"$ref": "#/channels/stream"}
    operation = {
        "action": action,
        "channel": channel,
        "summary": summary,
        "messages": [_in_channel(name) for name in messages],
    }
    if answer := ANSWERS.get(messages[0]):
        operation["reply"] = {"channel": channel, "messages": [_in_channel(answer)]}
    return operation


def _message(name: str) -> dict[str, Any]:
    definition, title = MESSAGES[name]
    message: dict[str, Any] = {
        "name": name,
        "title": title,
        "payload": _ref("schemas", definition),
    }
    if name in ("command", "command_result"):
        message["correlationId"] = {"location": "$message.payload#/command_id"}
    return message


def _schemas() -> dict[str, Any]:
    """The definitions of the protocol, at home in this document."""
    definitions = json.dumps(protocol_schema()["$defs"], sort_keys=True)
    moved: dict[str, Any] = json.loads(
        definitions.replace('"#/$defs/', '"#/components/schemas/'),
        object_hook=_without_mapping,
    )
    return moved


def _without_mapping(members: dict[str, Any]) -> dict[str, Any]:
    """In AsyncAPI a discriminator is a bare name; each variant has its own constant anyway."""
    given = members.get("discriminator")
    if isinstance(given, dict) and "propertyName" in given:
        return {name: value for name, value in members.items() if name != "discriminator"}
    return members


def _ref(kind: str, name: str) -> dict[str, str]:
    return {"$ref": f"#/components/{kind}/{name}"}


def _in_channel(name: str) -> dict[str, str]:
    return {"$ref": f"#/channels/stream/messages/{name}"}

"""What threads offer to a host: commands as every surface sends them, and turns to wait for."""

from .door import (
    Answer,
    Handle,
    aexecute,
    aresume,
    asend,
    astop,
    execute,
    resume,
    send,
    stop,
    watch,
)

__all__ = [
    "Answer",
    "Handle",
    "aexecute",
    "aresume",
    "asend",
    "astop",
    "execute",
    "resume",
    "send",
    "stop",
    "watch",
]

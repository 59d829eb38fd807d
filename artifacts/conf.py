"""Everything a host may set, as `ARTIFACTR = {…}` in its Django settings, with types and defaults.

Read live, so `override_settings` works: `conf.settings().RECEIPT_DAYS`, `conf.limits()`,
`conf.function("AUTHORIZE")`. What is wrong with the values is told by `artifacts.checks`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from django.conf import settings as django_settings
from django.utils.module_loading import import_string

from .core.errors import ConfigurationError
from .core.limits import DEFAULT_LIMITS, Limits

NAME = "ARTIFACTR"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One field per setting; the string below a field is its line in the documentation."""

    # Who the caller is and what they may do.
    RESOLVE_ACTOR: str | None = None
    """Function `(request or scope) -> Principal | None` in place of sessions and API keys."""
    ACTOR_FOR_USER: str = "artifacts.surfaces.authentication.actor_for_user"
    """Function `(user) -> UserActor`: how a signed-in user stands in the log."""
    AUTHORIZE: str | None = None
    """Function `(actor, workspace, action, target) -> bool`, asked after roles; only refuses."""
    HIDDEN: str | None = None
    """Function `(actor, workspace) -> Hidden`: threads and artifacts that this actor never sees."""

    # What may be written, and how much.
    KINDS: tuple[str, ...] | list[str] | None = None
    """Kinds that may be created where the workspace names none itself; None allows all."""
    LIMITS: Mapping[str, int] = field(default_factory=dict)
    """Limits that differ from their defaults, by the names of `artifacts.core.limits.Limits`."""

    # The log and what is kept beside it.
    RECEIPT_DAYS: int = 7
    """Days for which a repeated command id still gets its first result."""
    FOLLOW_POLL_SECONDS: float | None = None
    """How often a follower looks at the log itself, should a wake-up have been lost; None is every
    second in one process, every five with a channel layer between several."""
    LEASE_TTL_SECONDS: int = 30
    """How long a claim lasts unless renewed; its holder renews it at a third of that."""

    POOL_THREADS: int = 8
    """Threads of a process that do the database work of its asynchronous callers."""

    # The live protocol; what is counted is counted in each process.
    HELLO_SECONDS: float = 10.0
    """How long a socket may take until it says hello."""
    ACCESS_CHECK_SECONDS: float = 3.0
    """How often open sockets are asked whether their credential still holds."""
    SOCKETS_PER_USER: int = 20
    """Open sockets and event streams of one user or key."""
    FOLLOWED_THREADS: int = 200
    """Threads that one socket may name."""
    COMMANDS_AT_ONCE: int = 4
    """Commands of one socket that are carried out at the same time; others wait for them."""
    COMMANDS_WAITING: int = 200
    """Commands of one socket that may wait; further ones are told to try again."""
    OUTBOX_FRAMES: int = 1_000
    """Frames that may wait for a slow reader before its socket is closed."""
    OUTBOX_BYTES: int = 8 * 1024 * 1024
    """The same in bytes."""
    LIVE_FRAMES: int = 2_000
    """Live frames that are kept of one run, and that may wait for one slow watcher."""
    LIVE_BYTES: int = 1024 * 1024
    """The same in bytes."""
    LIVE_KEPT_SECONDS: int = 600
    """How long the live frames of a run are kept after its end."""

    # Agents.
    AGENTS: Mapping[str, str] = field(default_factory=dict)
    """Agents by name, each a dotted path; `default` answers where a thread names none."""
    MODEL: str | None = None
    """Name of the model agents use, such as `anthropic:…`; None leaves it to the agent."""
    EXECUTOR: Literal["threads", "celery"] = "threads"
    """Where tasks run: on threads of this process, or on Celery workers."""
    TURN_SECONDS: int = 900
    """The longest a turn may take."""
    REQUEST_SECONDS: int = 120
    """The longest one request to a model may take."""
    RESPONSE_CHARS: int = 4_000_000
    """Characters that a model may answer to one request."""
    TURN_REQUESTS: int = 50
    """Requests to the model in one turn."""
    TURN_TOOL_CALLS: int = 100
    """Tool calls in one turn."""
    TURN_TRIES: int = 3
    """How often a turn whose process died is tried before its messages count as taken."""
    DRAIN_SECONDS: int = 20
    """How long a worker that is told to end lets running turns go on before it hands them over."""
    TURN_CONTEXT: str | None = None
    """Function `(session) -> context manager`, entered around each attempt of a turn."""
    TURN_ENDED: tuple[str, ...] | list[str] = ()
    """Functions `(ended) -> None`, called with each turn that ended or paused."""

    # What a recipe's renders cost, and feedback on them.
    TOKEN_COUNTER: str | None = None
    """Function `(text) -> int` that counts tokens; None counts one for every four bytes."""
    USE_RETENTION_DAYS: int | None = 90
    """Days for which a use takes feedback before it expires and is purged; None keeps all."""
    USE_PURGE_BATCH: int = 500
    """Expired uses that one purge deletes at a time."""
    FEEDBACK_COMMENT_MAX_CHARS: int = 2_000
    """Characters kept of a comment; what is longer is cut."""
    FEEDBACK_EVIDENCE_MAX_CHARS: int = 4_000
    """Characters kept of what was expected and of what came; what is longer is cut."""
    ROUTE_POLICY: str | None = None
    """Function `(signal) -> Route | None`: the evidence that a new learning signal becomes; None
    routes nothing."""
    TELEMETRY_NAMESPACE: str = "artifactr"
    """What the names of a use's attributes on spans begin with."""


NAMES = tuple(each.name for each in fields(Settings))
# Settings that hold the dotted path of a function.
FUNCTIONS = (
    "RESOLVE_ACTOR",
    "ACTOR_FOR_USER",
    "AUTHORIZE",
    "HIDDEN",
    "TURN_CONTEXT",
    "TOKEN_COUNTER",
    "ROUTE_POLICY",
)


def given() -> Any:
    """What the host wrote, unchecked: a dict, if it is right."""
    return getattr(django_settings, NAME, {})


def settings() -> Settings:
    """The settings as they are at this moment."""
    try:
        return Settings(**given())
    except TypeError:
        unknown = sorted(set(given()) - set(NAMES))
        raise ConfigurationError(f"{NAME} has unknown settings: {', '.join(unknown)}") from None


def limits() -> Limits:
    """Core's limits with the host's changes."""
    changed = given().get("LIMITS")
    return replace(DEFAULT_LIMITS, **changed) if changed else DEFAULT_LIMITS


def function(name: str) -> Callable[..., Any] | None:
    """The function a setting names, or None where it names none."""
    path = getattr(settings(), name)
    return None if path is None else import_string(path)


def functions(name: str) -> list[tuple[str, Callable[..., Any]]]:
    """The functions a setting names, each with its path."""
    return [(path, import_string(path)) for path in getattr(settings(), name)]

"""Agents and models by configuration: what is made once, what is refused, and what is shared."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core import checks
from django.test import override_settings
from pydantic_ai import Agent, DeferredToolRequests, RunContext
from pydantic_ai.exceptions import UserError
from pydantic_ai.models import override_allow_model_requests
from pydantic_ai.toolsets import FunctionToolset

from artifacts import core
from tests.support.kinds import Paper
from tests.support.model_server import model_server
from tests.support.models import Script, say
from tests.threads.conftest import Chat
from threads import selectors
from threads.agent import ArtifactWorkspace, Hosted, agents, loop, models
from threads.checks import check_agents, check_model

HERE = __name__
CAN_PAUSE = [str, DeferredToolRequests]

made = 0

steady: Agent[Any, Any] = Agent(Script(say("From the agent itself")).model)
nothing = None


def factory() -> Hosted:
    global made
    made += 1
    return Hosted(Agent(Script(*[say(f"From agent {made}")] * 3).model), app=made)


def broken() -> Hosted:
    raise RuntimeError("no key")


def agent_that_asks() -> Agent[Any, Any]:
    return Agent("test", capabilities=[ArtifactWorkspace(types=[Paper], ask=True)])


def agent_with_an_approval() -> Agent[Any, Any]:
    toolset: FunctionToolset[Any] = FunctionToolset()

    @toolset.tool(requires_approval=True)
    def publish(ctx: RunContext[Any]) -> str:
        """Publish."""
        return "published"

    return Agent("test", toolsets=[toolset.prefixed("site")])


def agent_with_a_guarded_toolset() -> Agent[Any, Any]:
    def erase() -> str:
        """Erase."""
        return "erased"

    return Agent("test", toolsets=[FunctionToolset([erase]).approval_required()])


@pytest.fixture(autouse=True)
def _nothing_made_yet() -> None:
    global made
    made = 0


def naming(**agents: str) -> Any:
    """Settings that name these agents of this module."""
    named = {name: f"{HERE}.{path}" for name, path in agents.items()}
    return override_settings(ARTIFACTR={**django_settings.ARTIFACTR, "AGENTS": named})


def test_a_factory_is_called_once_until_the_settings_change() -> None:
    with naming(default="factory", other="steady"):
        first = agents.hosted(None)
        assert agents.hosted("default") is first
        assert agents.hosted("other").agent is steady
        assert (first.app, made) == (1, 1)
    with naming(default="factory"):
        assert agents.hosted(None).app == 2
        assert made == 2


@pytest.mark.parametrize("path", ["nothing", "broken", "not_there"])
def test_what_gives_no_agent_is_a_mistake_of_the_settings(path: str) -> None:
    with naming(default=path), pytest.raises(UserError, match=HERE):
        agents.hosted(None)


def test_a_name_that_nobody_gave_is_unknown() -> None:
    with naming(default="steady"), pytest.raises(agents.AgentUnknown):
        agents.hosted("writer")


@pytest.mark.parametrize(
    ("path", "tool"),
    [
        ("agent_that_asks", "ask_user"),
        ("agent_with_an_approval", "publish"),
        ("agent_with_a_guarded_toolset", "erase"),
    ],
)
def test_an_agent_that_would_ask_and_cannot_wait_is_refused(path: str, tool: str) -> None:
    with naming(default=path):
        (found,) = check_agents()
        assert found.id == "artifactr.E020"
        assert tool in found.msg
        assert "output_type=[str, DeferredToolRequests]" in str(found.hint)
        with pytest.raises(agents.NeverPauses, match=tool):
            agents.hosted(None)


@pytest.mark.parametrize("output", [CAN_PAUSE, str | DeferredToolRequests])
def test_with_an_output_that_can_wait_it_is_welcome(output: Any) -> None:
    asks = ArtifactWorkspace(types=[Paper], ask=True)
    agents.check_pausing(Agent("test", output_type=output, capabilities=[asks]))


@pytest.mark.parametrize(
    ("ask", "output", "has_it"),
    [
        (None, CAN_PAUSE, True),
        (None, str, False),
        (False, CAN_PAUSE, False),
        (True, CAN_PAUSE, True),
    ],
)
def test_who_can_wait_may_ask(ask: bool | None, output: Any, has_it: bool) -> None:
    capability = ArtifactWorkspace(types=[Paper], ask=ask)
    agent: Agent[Any, Any] = Agent("test", output_type=output, capabilities=[capability])
    found = ArtifactWorkspace.of(agent)
    assert found is not None
    assert ("ask_user" in found.get_toolset().tools) is has_it


@pytest.mark.parametrize("path", ["nothing", "broken", "not_there"])
def test_a_check_warns_of_what_gives_no_agent(path: str) -> None:
    with naming(default="steady", other=path):
        (found,) = check_agents()
    assert (found.id, found.level) == ("artifactr.W020", checks.WARNING)
    assert "AGENTS'['other']" not in found.msg
    assert "['AGENTS']['other']" in found.msg


@pytest.mark.parametrize("name", ["nobody:knows", "no-provider", "openai-chat:local"])
def test_a_check_warns_of_a_model_that_cannot_be_used(
    name: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    settings.ARTIFACTR = {**settings.ARTIFACTR, "MODEL": name}
    (found,) = check_model()
    assert (found.id, found.level) == ("artifactr.W021", checks.WARNING)
    assert name in found.msg


@pytest.mark.parametrize("name", [None, "test"])
def test_a_model_that_can_be_used_is_no_matter(name: str | None, settings: Any) -> None:
    settings.ARTIFACTR = {**settings.ARTIFACTR, "MODEL": name}
    assert check_model() == []


@pytest.mark.django_db  # Django's own checks ask the database what it can do
def test_the_check_is_registered() -> None:
    with naming(default="agent_that_asks"):
        assert "artifactr.E020" in [each.id for each in checks.run_checks()]


def test_each_thread_has_the_agent_it_names(chat: Chat) -> None:
    with naming(default="factory", other="steady"):
        command = core.CreateThread(title="Elsewhere", agent="other")
        chat.workspace.commit(command)
        other = Chat(chat.workspace, command.thread_id)
        for each in (chat, other):
            each.post("Hello")
            each.run_turn()
    assert chat.said()[-1] == "From agent 1"
    assert other.said()[-1] == "From the agent itself"
    assert selectors.thread(chat.workspace, other.id).agent == "other"


def test_turns_of_a_process_share_a_loop_and_a_client(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    """Two turns, one connection: the second found the first one's client alive on its loop."""
    models.named.cache_clear()
    with model_server("Hello from afar") as server, override_allow_model_requests(True):
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none needed")
        settings.ARTIFACTR = {
            **settings.ARTIFACTR,
            "AGENTS": {"default": f"{HERE}.agent_of_no_model"},
            "MODEL": "openai-chat:local",
        }
        for _ in range(2):
            chat.post("Hello")
            chat.run_turn()
        assert chat.said() == ["Hello", "Hello from afar "] * 2
        assert [each["model"] for each in server.requests] == ["local", "local"]
        assert server.connections == 1
        model: Any = models.named("openai-chat:local")
        loop.submit(model.client.close()).done.result(
            60
        )  # or its sockets are some later test's garbage
    models.named.cache_clear()


def agent_of_no_model() -> Agent[Any, Any]:
    return Agent()

"""`manage.py demo --once`: the story in one process, on an empty database and on a full one."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from artifacts import pool
from tests.support import sites
from tests.support.models import Script, hosting, say

STORY = [
    "thread_created",
    "artifact_created",
    "artifact_created",
    "focus_changed",
    "artifact_changed",
    "message_posted",
    "run_started",
    *["tool_called", "tool_returned"] * 2,
    *["tool_called", "artifact_changed", "tool_returned"],
    *["tool_called", "proposal_created", "tool_returned"],
    "message_posted",
    "run_ended",
    "artifact_changed",
    "proposal_resolved",
]


def test_it_tells_the_story_and_again(tmp_path: Path) -> None:
    with sites.site(tmp_path) as site:
        for _ in range(2):
            _check(site)


def test_it_stays_in_its_process_where_redis_is_named(tmp_path: Path, redis_url: str) -> None:
    with sites.site(tmp_path, redis_url=f"{redis_url}/9") as site:
        _check(site)


def _check(site: sites.Site) -> None:
    told = site.manage("demo", "--once")
    assert told.returncode == 0, told.stdout + told.stderr
    first, header, *rows = told.stdout.splitlines()
    assert "offline scripted model" in first
    assert header.split() == ["seq", "actor", "event", "summary"]
    cells = [re.split(r"\s{2,}", row) for row in rows]
    assert [each[0] for each in cells] == [str(number + 1) for number in range(len(STORY))]
    assert [each[2] for each in cells] == STORY
    assert {each[1] for each in cells} == {"Ana", "assistant for Ana"}
    assert cells[-1][1] == "Ana"


@pytest.fixture
def closed_pool() -> Iterator[None]:
    yield
    pool.close_pool()


def test_a_step_that_goes_another_way_is_exit_code_1(
    transactional_db: None, closed_pool: None, capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        hosting(Script(say("I do nothing."))),
        pytest.raises(CommandError, match="the agent did not edit the document") as refused,
    ):
        call_command("demo", "--once")
    assert refused.value.returncode == 1
    assert "said: I do nothing." in capsys.readouterr().out

"""`manage.py learn_demo`: the walk-through on an empty database, and on the one it left."""

from __future__ import annotations

import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings

from artifactr_site.docplan.seed import USERNAME, WORKSPACE_ID, seed
from artifacts.models import Membership
from tests.support import sites

KINDS = ["thumbs_down", "correction", "evaluation", "task_success"]

Tables = dict[str, list[list[str]]]


def tables_of(printed: str) -> Tables:
    """The rows of each table by its title, without its header."""
    found: Tables = {}
    for block in printed.strip().split("\n\n"):
        title, _, *rows = block.splitlines()
        found[title] = [re.split(r"\s{2,}", row.strip()) for row in rows]
    return found


def check(told: Tables) -> None:
    applied = told["The package skills@1 is in force"]
    assert ["artifact", "daily_agent_prompt@1"] in applied
    skill = {key: record for key, record, _ in told["The skill of agent:ada"]}
    assert list(skill) == ["steps", "pitfalls", "examples"]
    heads = told["What was in force when it was bound"]
    assert heads == [[f"skills/{key}", record] for key, record in skill.items()]

    first = dict(told["A use of the prompt"])
    later = dict(told["A use of the prompt after that"])
    assert re.fullmatch("use_[0-9a-f]{32}", first["use"])
    assert first["use"] != later["use"]
    assert first["render"] != later["render"]
    assert first["to improve"] == later["to improve"] == "maintained_skill@1"

    signals = told["What came of it"]
    assert [kind for kind, _, _ in signals] == KINDS
    evidence = told["What was made evidence"]
    assert [row[:2] for row in evidence] == [["agent:ada", kind] for kind in KINDS[:3]]
    assert [row[3] for row in evidence] == [record for _, _, record in signals[:3]]


def test_it_walks_through_on_an_empty_database_and_again(tmp_path: Path) -> None:
    with sites.site(tmp_path) as site:
        for _ in range(2):
            walked = site.manage("learn_demo")
            assert walked.returncode == 0, walked.stdout + walked.stderr
            check(tables_of(walked.stdout))


def test_a_step_that_goes_another_way_is_exit_code_1(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("feedback.services.uses.signals", lambda *args, **kwargs: [])
    with pytest.raises(CommandError, match="the signals are not those") as refused:
        call_command("learn_demo")
    assert refused.value.returncode == 1
    assert "A use of the prompt" in capsys.readouterr().out


def nobody_binds(actor: Any, workspace: Any, action: str, target: Any) -> bool:
    return action != "bind"


def test_a_host_that_refuses_a_step_is_exit_code_1(transactional_db: None) -> None:
    with (
        override_settings(ARTIFACTR={"AUTHORIZE": f"{__name__}.nobody_binds"}),
        pytest.raises(CommandError, match="refused: bind is not allowed here") as refused,
    ):
        call_command("learn_demo")
    assert refused.value.returncode == 1


def test_whoever_signs_in_to_the_demo_may_make_evidence_there(transactional_db: None) -> None:
    seed()
    call_command("learn_demo", stdout=StringIO())
    (joined,) = Membership.objects.filter(user__username=USERNAME).exclude(
        workspace__public_id=WORKSPACE_ID
    )
    assert joined.role == "reviewer"

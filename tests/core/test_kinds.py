"""Defining a type registers it: artifacts by kind, feedback by type."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from pydantic import BaseModel

from artifacts.core import (
    Artifact,
    ConfigurationError,
    Feedback,
    MarkdownArtifact,
    UserActor,
    ValidationFailed,
    Versioned,
    artifact_type,
    registered_feedback_types,
    registered_kinds,
)
from artifacts.core import artifact as artifact_module
from artifacts.core import feedback as feedback_module
from artifacts.core.feedback import validated_feedback
from tests.support.dict_host import DictHost
from tests.support.kinds import Board, Card, Paper

ADA = UserActor(id="1", name="Ada")


@pytest.fixture(autouse=True)
def _own_registries(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is gone after it."""
    monkeypatch.setattr(artifact_module, "_registry", dict(artifact_module._registry))
    monkeypatch.setattr(feedback_module, "_registry", dict(feedback_module._registry))


def test_the_class_name_in_snake_case_is_the_kind() -> None:
    class LaunchPlan(Artifact):
        goal: str = ""

    class HTTPLog2(Artifact):
        pass

    assert registered_kinds()["launch_plan"] is LaunchPlan
    assert LaunchPlan.artifact_kind == "launch_plan"
    assert HTTPLog2.artifact_kind == "http_log2"


def test_a_name_on_the_class_line_is_the_kind() -> None:
    class Plan2(Artifact, name="other"):
        pass

    assert artifact_type("other") is Plan2
    with pytest.raises(ValidationFailed):
        artifact_type("plan2")


def test_an_abstract_base_is_no_kind_and_its_subclasses_are() -> None:
    class Base(Artifact, abstract=True):
        owner: str = ""

    class Leaf(Base):
        pass

    assert "base" not in registered_kinds()
    assert "markdown_artifact" not in registered_kinds()
    assert Base.artifact_kind == ""
    assert artifact_type("leaf") is Leaf
    assert "owner" in Leaf.model_fields


def test_the_registry_entry_has_fields_and_schema_at_once() -> None:
    class Shelf(Artifact):
        width: int
        books: dict[str, Card] = {}

    entry = registered_kinds()["shelf"]
    assert set(entry.model_fields) == {"width", "books"}
    assert entry.model_json_schema()["required"] == ["width"]


def test_an_unknown_write_policy_fails_at_definition() -> None:
    with pytest.raises(ConfigurationError, match="write_policy"):

        class Loose(Artifact):
            write_policy: ClassVar[Any] = "whenever"

    assert "loose" not in registered_kinds()


def test_a_write_policy_is_inherited() -> None:
    class Cautious(Artifact, abstract=True):
        write_policy = "propose"

    class Contract(Cautious):
        pass

    assert Contract.write_policy == "propose"
    assert Paper.write_policy == "direct"


def test_two_classes_of_one_kind_are_a_mistake() -> None:
    with pytest.raises(ConfigurationError, match="paper"):

        class Other(Artifact, name="paper"):
            pass

    assert artifact_type("paper") is Paper


def test_registered_kinds_is_a_copy() -> None:
    registered_kinds().clear()  # type: ignore[attr-defined]
    assert "paper" in registered_kinds()


def test_an_empty_markdown_subclass_is_complete() -> None:
    class Letter(MarkdownArtifact):
        pass

    assert Letter().render_for_agent() == ""
    assert Letter(text="Dear").render_for_agent() == "Dear"
    assert Letter(text="x").describe_change(Letter()) is None


def test_without_its_own_words_a_value_is_shown_as_json() -> None:
    shown = Card(title="Fix").render_for_agent()
    assert Card.model_validate_json(shown) == Card(title="Fix")


def _board(version: int = 3) -> Versioned[Board]:
    value = Board.model_validate({"goal": "Ship", "jobs": {"j1": {"title": "Write"}}})
    return Versioned[Board](id="art_b", kind="board", version=version, data=value, updated_by=ADA)


def test_edit_gives_a_copy_and_carries_the_diff_and_its_version() -> None:
    held = _board()

    def change(board: Board) -> None:
        board.jobs["j1"].status = "done"

    command = held.edit(change)
    assert held.data.jobs["j1"].status == "todo"
    assert (command.artifact_id, command.base_version) == ("art_b", 3)
    assert command.patch.wire() == {
        "kind": "json_patch",
        "ops": [{"op": "replace", "path": "/jobs/j1/status", "value": "done"}],
    }


def test_edit_leaves_validation_to_core() -> None:
    def spoil(board: Board) -> None:
        board.goal = 5  # type: ignore[assignment]

    held = _board(1)
    stored = held.model_copy(update={"data": held.data.model_dump(mode="json")})
    with pytest.raises(ValidationFailed, match=r"data\.goal"):
        DictHost(artifacts=[stored]).commit(held.edit(spoil), actor=ADA)


def test_a_member_keeps_its_path_when_others_are_added() -> None:
    held = _board()

    def add(board: Board) -> None:
        board.jobs = {"j0": board.jobs["j1"].model_copy(), **board.jobs}

    paths = [op.path for op in held.edit(add).patch.ops]
    assert paths == ["/jobs/j0"]


class Mood(BaseModel):
    word: str


def test_a_feedback_type_is_registered_by_name_with_its_targets() -> None:
    class QuickTake(Feedback, targets={"turn"}):
        good: bool

    class Take(Feedback, name="slow_take", targets={"message", "artifact"}):
        mood: Mood

    assert registered_feedback_types()["quick_take"] is QuickTake
    assert Take.feedback_type == "slow_take"
    assert Take.targets == {"message", "artifact"}
    assert validated_feedback("slow_take", "message", {"mood": {"word": "calm"}}) == {
        "mood": {"word": "calm"}
    }


@pytest.mark.parametrize("targets", [set(), {"planet"}, {"turn", "planet"}])
def test_feedback_without_known_targets_is_a_mistake(targets: Any) -> None:
    with pytest.raises(ConfigurationError, match="targets"):

        class Lost(Feedback, targets=targets):
            pass


def test_an_abstract_feedback_base_needs_no_targets() -> None:
    class Common(Feedback, abstract=True):
        why: str = ""

    class Praise(Common, targets={"thread"}):
        pass

    assert "common" not in registered_feedback_types()
    assert "why" in registered_feedback_types()["praise"].model_fields


def test_two_feedback_types_of_one_name_are_a_mistake() -> None:
    with pytest.raises(ConfigurationError, match="clarity"):

        class Other(Feedback, name="clarity", targets={"turn"}):
            pass

"""Fresh ids, ids of addresses, and the ids that commands bring."""

from __future__ import annotations

import hashlib
import re
from typing import Any, get_args

import pytest

from artifacts.core import address_id, command_adapter, new_id, revision_key
from artifacts.core.commands import AnyCommand

PREFIXES = ["art", "thr", "run", "prp", "msg", "evt", "chs", "grp", "cnd", "lea"]


@pytest.mark.parametrize("prefix", PREFIXES)
def test_a_fresh_id_has_16_hex_digits(prefix: str) -> None:
    assert re.fullmatch(rf"{prefix}_[0-9a-f]{{16}}", new_id(prefix))


@pytest.mark.parametrize("prefix", ["use", "rec"])
def test_an_id_that_is_a_capability_has_32(prefix: str) -> None:
    assert re.fullmatch(rf"{prefix}_[0-9a-f]{{32}}", new_id(prefix))


def test_fresh_ids_differ() -> None:
    assert len({new_id("art") for _ in range(1_000)}) == 1_000


def test_the_id_of_an_address() -> None:
    digest = hashlib.sha256(b"skills\0agent:ada\0greeting").hexdigest()
    assert address_id("skills", "agent:ada", "greeting") == f"art_{digest[:16]}"
    assert address_id("a", "bc", "d") != address_id("ab", "c", "d")


def test_a_revision_key_is_not_ambiguous() -> None:
    assert revision_key("art_1", 3) == "art_1@3"
    assert revision_key("a@1", 2).rpartition("@") == ("a@1", "@", "2")


def test_a_command_brings_the_id_of_everything_it_may_create() -> None:
    """Deciding makes no ids, so a command that left them out got them when it was read."""
    made: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
        "create_artifact": ({"kind": "card"}, {"artifact_id": "art", "proposal_id": "prp"}),
        "edit_artifact": (
            {"artifact_id": "a", "base_version": 1, "patch": {"kind": "json_patch", "ops": []}},
            {"proposal_id": "prp"},
        ),
        "archive_artifact": ({"artifact_id": "a", "base_version": 1}, {"proposal_id": "prp"}),
        "put_artifact": (
            {"artifact_id": "a", "kind": "card", "data": {}, "base_version": 0},
            {"proposal_id": "prp"},
        ),
        "revert_artifact": (
            {"artifact_id": "a", "base_version": 2, "to_version": 1},
            {"proposal_id": "prp"},
        ),
        "propose_change": (
            {"change": {"type": "archive_artifact", "artifact_id": "a", "base_version": 1}},
            {"proposal_id": "prp"},
        ),
        "respond_to_proposal": (
            {"proposal_id": "p", "decision": "accept"},
            {"remainder_proposal_id": "prp"},
        ),
        "create_thread": ({"title": "x"}, {"thread_id": "thr"}),
        "post_message": ({"thread_id": "t", "content": "x"}, {"message_id": "msg"}),
    }
    others = {"resolve_group", "set_focus", "set_thread_mode", "answer_deferred", "give_feedback"}
    types = {model.model_fields["type"].default for model in get_args(AnyCommand)}
    assert types == made.keys() | others
    for type, (fields, ids) in made.items():
        one, other = (command_adapter.validate_python({"type": type, **fields}) for _ in range(2))
        for name, prefix in ids.items():
            assert re.fullmatch(rf"{prefix}_[0-9a-f]{{16}}", getattr(one, name))
            assert getattr(one, name) != getattr(other, name)
            assert command_adapter.validate_python(one.wire()) == one

"""`verify_commit`: one command, and everything that must hold of what it did.

The state replayed from the whole log equals what is stored, the log is whole, every envelope is
valid, and sending the command again gives the same answer and writes nothing.
"""

from __future__ import annotations

import pytest

from artifacts.core import Envelope, Rejection, new_id
from artifacts.core.commands import AnyCommand
from artifacts.core.outcomes import AnyOutcome
from artifacts.workspace import Workspace


def verify_commit(workspace: Workspace, command: AnyCommand) -> AnyOutcome:
    """Commit and check; a rejection is raised once it was seen to have changed nothing."""
    before = workspace.head_seq()
    command_id = new_id("cmd")
    try:
        outcome = workspace.commit(command, command_id=command_id)
    except Rejection as rejection:
        assert workspace.head_seq() == before, "a rejection used a number"
        _check_repeated_rejection(workspace, command, command_id, rejection)
        assert_whole(workspace)
        raise
    envelopes = workspace.read(after_seq=before)
    assert [each.seq for each in envelopes] == list(range(before + 1, before + 1 + len(envelopes)))
    assert outcome.seq == before + len(envelopes)
    assert {each.actor for each in envelopes} <= {workspace.actor}
    assert workspace.commit(command, command_id=command_id) == outcome
    assert workspace.head_seq() == outcome.seq, "a repeat wrote something"
    assert_whole(workspace)
    return outcome


def assert_whole(workspace: Workspace) -> None:
    """The log is as written, and what is stored is what it says."""
    assert _plain(workspace).verify() == []


def log_of(workspace: Workspace) -> list[tuple[int, str]]:
    """Numbers and types of the whole log."""
    return [(each.seq, each.event.type) for each in envelopes_of(workspace)]


def envelopes_of(workspace: Workspace) -> list[Envelope]:
    return _plain(workspace).read()


def _plain(workspace: Workspace) -> Workspace:
    return Workspace(
        id=workspace.id, tenant_id=workspace.tenant_id, actor=workspace.actor, pk=workspace.pk
    )


def _check_repeated_rejection(
    workspace: Workspace, command: AnyCommand, command_id: str, first: Rejection
) -> None:
    with pytest.raises(type(first)) as caught:
        workspace.commit(command, command_id=command_id)
    assert caught.value.payload() == first.payload()

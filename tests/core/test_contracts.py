"""What a collection asks of the values at its addresses, looked up when needed."""

from __future__ import annotations

from typing import Any

import pytest

from artifacts.core import (
    Address,
    ArchiveArtifact,
    CreateArtifact,
    EditArtifact,
    JsonPatch,
    ProposeChange,
    PutArtifact,
    RevertArtifact,
    State,
    UserActor,
    ValidationFailed,
    needs,
)
from artifacts.core.commands import AnyCommand
from artifacts.core.state import Contract
from tests.support import kinds
from tests.support.dict_host import DictHost

ANA = UserActor(id="ana")
ADDRESS = Address(collection="skills", entity="agent:ada", key="steps")
REGISTERED = kinds


def short(data: dict[str, Any]) -> list[dict[str, Any]]:
    if len(data["text"]) <= 5:
        return []
    return [{"loc": ["data", "text"], "msg": "is too long", "type": "schema"}]


def host(kind: str | None = "paper") -> DictHost:
    made = DictHost()
    made.families["contracts"]["skills"] = Contract("skills", kind, short)
    return made


def put(base: int, text: str, **members: Any) -> PutArtifact:
    return PutArtifact(
        address=ADDRESS, kind="paper", data={"text": text}, base_version=base, **members
    )


ID = put(0, "").artifact_id


def edit(base: int, text: str) -> EditArtifact:
    op = {"op": "replace", "path": "/text", "value": text}
    patch = JsonPatch.model_validate({"ops": [op]})
    return EditArtifact(artifact_id=ID, base_version=base, patch=patch)


def refused(host: DictHost, command: AnyCommand) -> ValidationFailed:
    with pytest.raises(ValidationFailed) as found:
        host.commit(command, actor=ANA)
    return found.value


def test_every_writing_command_is_held_to_it() -> None:
    made = host()
    create = CreateArtifact(kind="paper", data={"text": "longer"}, address=ADDRESS)
    assert refused(made, create).errors == [
        {"loc": ["data", "text"], "msg": "is too long", "type": "schema"}
    ]
    refused(made, put(0, "longer"))
    refused(made, ProposeChange(change=put(0, "longer")))
    made.commit(put(0, "short"), actor=ANA)
    refused(made, put(1, "longer"))
    refused(made, edit(1, "longer"))
    made.commit(edit(1, "brief"), actor=ANA)
    made.commit(ArchiveArtifact(artifact_id=ID, base_version=2), actor=ANA)
    made.families["contracts"]["skills"] = Contract("skills", "paper", lambda data: short(
        {"text": data["text"] + "x"}))  # fmt: skip
    refused(made, RevertArtifact(artifact_id=ID, base_version=3, to_version=1))


def test_the_kind_and_the_address_are_the_collections_own() -> None:
    assert refused(host("card"), put(0, "short")).errors[0]["loc"] == ["kind"]
    assert refused(host(None), put(0, "short")).errors[0]["loc"] == ["address", "collection"]


def test_without_a_contract_nothing_is_asked() -> None:
    DictHost().commit(put(0, "as long as you like"), actor=ANA)


def test_it_is_looked_up_for_addressed_artifacts_alone() -> None:
    state = State()
    assert needs(put(0, "x"), actor=ANA, state=state).contracts == {"skills"}
    plain = CreateArtifact(kind="paper", data={})
    assert not needs(plain, actor=ANA, state=state).contracts
    made = host()
    made.commit(put(0, "short"), actor=ANA)
    made.commit(edit(1, "brief"), actor=ANA)
    assert [each.contracts for each in made.rounds] == [frozenset(), {"skills"}]

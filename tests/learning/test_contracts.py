"""What a declared collection asks of the values at its addresses, whoever writes them and how."""

from __future__ import annotations

from typing import Any

import pytest

from artifacts import core
from artifacts.workspace import Workspace
from learning.models import Record
from tests.learning.catalogs import apply, catalog
from tests.support import kinds
from tests.support.builders import make_thread
from tests.support.cast import ANA, Cast, make_cast
from tests.support.verify import assert_whole, verify_commit

pytestmark = pytest.mark.django_db(transaction=True)
REGISTERED = kinds


def put(base: int, *, collection: str = "skills", **members: Any) -> core.PutArtifact:
    values = {"kind": "maintained_value", "data": {"text": "Ask first.", "content": {}}, **members}
    address = core.Address(collection=collection, entity="agent:ada", key="steps")
    return core.PutArtifact(address=address, base_version=base, **values)


def data(**content: Any) -> dict[str, Any]:
    return {"text": "Ask first.", "content": content}


ID = core.address_id("skills", "agent:ada", "steps")


def refused(workspace: Workspace, command: Any) -> core.ValidationFailed:
    before = Record.objects.count()
    with pytest.raises(core.ValidationFailed) as found:
        verify_commit(workspace, command)
    assert Record.objects.count() == before
    return found.value


def test_a_value_that_fits_is_written(cast: Cast) -> None:
    outcome = verify_commit(cast.ana, put(0, data=data(level=2)))
    assert isinstance(outcome, core.Applied)


def test_every_way_to_write_is_checked(cast: Cast) -> None:
    told = refused(cast.ana, put(0, data=data(level=0)))
    assert told.errors[0]["loc"] == ["data", "content", "level"]
    assert "'skills'" in told.message

    create = core.CreateArtifact(
        kind="maintained_value", data=data(colour="red"),
        address=core.Address(collection="skills", entity="agent:ada", key="steps"),
    )  # fmt: skip
    refused(cast.ana, create)
    verify_commit(cast.ana, put(0, data=data(level=2)))
    refused(cast.ana, put(1, data=data(level="two")))
    edit = core.EditArtifact(
        artifact_id=ID, base_version=1,
        patch=core.JsonPatch.model_validate(
            {"ops": [{"op": "replace", "path": "/content/level", "value": -1}]}
        ),
    )  # fmt: skip
    refused(cast.ana, edit)
    assert cast.ana.artifact(ID).data == data(level=2)


def test_proposals_are_checked_when_made_and_when_accepted(cast: Cast) -> None:
    scribe = cast.scribe(make_thread(cast.ana))
    refused(scribe, put(0, data=data(level=0)))
    proposed = scribe.commit(put(0, data=data(level=3)))
    assert isinstance(proposed, core.Proposed)
    changes = core.JsonPatch.model_validate(
        {"ops": [{"op": "replace", "path": "/content/level", "value": 0}]}
    )
    accept = core.RespondToProposal(
        proposal_id=proposed.proposal_id, decision="accept", changes=changes
    )
    refused(cast.ana, accept)
    cast.ana.commit(core.RespondToProposal(proposal_id=proposed.proposal_id, decision="accept"))
    assert cast.ana.artifact(ID).data == data(level=3)


def test_a_group_is_checked(cast: Cast) -> None:
    scribe = cast.scribe(make_thread(cast.ana))
    changes = {}
    for key in ("steps", "pitfalls"):
        change = core.PutArtifact(
            address=core.Address(collection="skills", entity="agent:ada", key=key),  # type: ignore[call-arg]
            kind="maintained_value", data=data(level=1), base_version=0,
        )  # fmt: skip
        command = core.ProposeChange(change=change, group_id="grp_1")
        scribe.commit(command)
        changes[command.proposal_id] = core.JsonPatch.model_validate(
            {"ops": [{"op": "replace", "path": "/content/level", "value": 0}]}
        )
    resolve = core.ResolveGroup(group_id="grp_1", decision="accept", changes=changes)
    refused(cast.ana, resolve)
    cast.ana.commit(core.ResolveGroup(group_id="grp_1", decision="accept"))
    assert Record.objects.count() == 2
    assert_whole(cast.ana)


def test_a_revert_to_what_no_longer_fits_is_refused(cast: Cast) -> None:
    cast.ana.commit(put(0, data=data(level=2)))
    cast.ana.commit(put(1, data=data()))
    stricter = catalog()
    stricter["package"]["version"] = 2
    stricter["package"]["collections"][0] = "skills@2"
    stricter["collections"][0].update(version=2, fields={}, schema={"maxProperties": 0})
    apply(cast.ana, stricter)
    revert = core.RevertArtifact(artifact_id=ID, base_version=2, to_version=1)
    refused(cast.ana, revert)


def test_archiving_asks_nothing(cast: Cast) -> None:
    cast.ana.commit(put(0, data=data(level=2)))
    verify_commit(cast.ana, core.ArchiveArtifact(artifact_id=ID, base_version=1))


def test_the_kind_is_that_of_the_collection(cast: Cast) -> None:
    told = refused(cast.ana, put(0, kind="paper", data={"text": "x"}))
    assert told.errors == [
        {"loc": ["kind"], "msg": "must be 'maintained_value' in this collection",
         "type": "value_error"}
    ]  # fmt: skip


def test_another_kind_is_checked_as_a_whole(cast: Cast) -> None:
    own = {
        "package": {"name": "own", "version": 1, "collections": ["papers@1"]},
        "collections": [
            {"name": "papers", "version": 1, "mode": "keyed", "kind": "paper",
             "schema": {"properties": {"text": {"maxLength": 5}}}}
        ],
    }  # fmt: skip
    apply(cast.ana, own)
    cast.ana.commit(put(0, collection="papers", kind="paper", data={"text": "short"}))
    told = refused(cast.ana, put(1, collection="papers", kind="paper", data={"text": "too long"}))
    assert told.errors[0]["loc"] == ["data", "text"]


def test_events_have_no_address(cast: Cast) -> None:
    told = refused(cast.ana, put(0, collection="outcomes"))
    assert told.errors[0]["loc"] == ["address", "collection"]


def test_a_collection_that_nobody_declared_asks_nothing(cast: Cast) -> None:
    verify_commit(cast.ana, put(0, collection="free", data=data(anything=1)))
    [record] = Record.objects.all()
    assert (record.collection, record.collection_version) == ("free", None)


def test_another_tenants_contract_is_not_ours(cast: Cast) -> None:
    verify_commit(cast.otto, put(0, data=data(level=0)))


def test_a_declared_field_holds_its_type() -> None:
    cast = make_cast()
    loose = catalog()
    loose["collections"][0]["schema"] = {}
    apply(cast.ana, loose)
    told = refused(cast.ana, put(0, data=data(level="high")))
    assert told.errors[0]["msg"] == "field level must be an integer"


def test_the_actor_of_an_address_is_kept(cast: Cast) -> None:
    cast.ana.commit(put(0, data=data(level=2)))
    assert cast.ana.artifact(ID).updated_by == ANA

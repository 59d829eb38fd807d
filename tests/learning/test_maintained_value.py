"""The built-in kind of addressed artifacts."""

import pytest

from artifacts import core
from tests.support.builders import make_thread
from tests.support.cast import make_cast

pytestmark = pytest.mark.django_db

ADDRESS = core.Address(collection="skills", entity="agent:ada", key="steps")
ARTIFACT_ID = core.address_id(ADDRESS.collection, ADDRESS.entity, ADDRESS.key)


def put(base_version: int, **data: object) -> core.PutArtifact:
    return core.PutArtifact(
        artifact_id=ARTIFACT_ID,
        address=ADDRESS,
        kind="maintained_value",
        data=data,
        base_version=base_version,
    )


def test_people_write_it_and_agents_only_propose() -> None:
    cast = make_cast()
    cast.ana.commit(put(0, text="Ask first."))
    stored = cast.ana.artifact(ARTIFACT_ID)
    assert stored.data == {"text": "Ask first.", "content": {}}
    assert stored.address == ADDRESS

    scribe = cast.scribe(make_thread(cast.ana))
    outcome = scribe.commit(put(1, text="Never ask.", content={"why": "faster"}))
    assert isinstance(outcome, core.Proposed)
    assert cast.ana.artifact(ARTIFACT_ID).version == 1

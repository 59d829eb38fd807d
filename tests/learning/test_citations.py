"""What an agent's proposed value was derived from reaches the record of the accepted value."""

from __future__ import annotations

from typing import Any

import pytest

from artifacts import core
from artifacts.core import (
    ExternalAgentActor,
    JsonPatch,
    ResolveGroup,
    RespondToProposal,
)
from artifacts.models import Revision
from artifacts.workspace import Workspace
from learning.core.errors import RequestSchema
from learning.models import ProposalSource, Record
from learning.services.records import ingest, record
from tests.learning.catalogs import apply
from tests.support.builders import make_thread
from tests.support.cast import ANA, Cast
from tests.support.desk import Desk, make_desk
from tests.support.verify import assert_whole

pytestmark = pytest.mark.django_db(transaction=True)
STEP = {
    "collection": "skills",
    "entity": "agent:ada",
    "key": "steps",
    "text": "Ask first.",
    "content": {"level": 1},
}


@pytest.fixture
def agent(cast: Cast) -> Workspace:
    return cast.scribe(make_thread(cast.ana))


def noted(workspace: Workspace, text: str = "It was paid twice.") -> str:
    note = {"collection": "notes", "entity": "agent:ada", "type": "note", "text": text}
    [taken] = ingest(workspace, [note])
    assert taken.record_id is not None
    return taken.record_id


def proposed(agent: Workspace, *cited: str, **members: Any) -> str:
    [taken] = ingest(agent, [{**STEP, "derived_from": cited, **members}])
    assert taken.record_id is None
    assert taken.proposal_id is not None
    return taken.proposal_id


def newest(workspace: Workspace) -> Any:
    row = Record.objects.filter(workspace=workspace.pk, collection="skills").order_by("-seq")[0]
    return record(workspace, row.public_id)


def test_what_was_cited_is_said_by_the_record_of_the_accepted_value(
    cast: Cast, agent: Workspace
) -> None:
    [direct] = ingest(cast.ana, [STEP])
    revision = Revision.objects.get(record__public_id=direct.record_id)
    cited = [noted(cast.ana), revision.public_id, str(direct.record_id)]
    id = proposed(agent, *cited, text="Ask before you answer.")
    cast.ana.commit(RespondToProposal(proposal_id=id, decision="accept"))
    assert newest(cast.ana).text == "Ask before you answer."
    assert list(newest(cast.ana).derived_from) == cited
    assert_whole(cast.ana)


def test_an_edited_accept_keeps_them(cast: Cast, agent: Workspace) -> None:
    cited = noted(cast.ana)
    changes = JsonPatch.model_validate(
        {"ops": [{"op": "replace", "path": "/text", "value": "Ask, then answer."}]}
    )
    accept = RespondToProposal(
        proposal_id=proposed(agent, cited), decision="accept", changes=changes
    )
    cast.ana.commit(accept)
    assert newest(cast.ana).text == "Ask, then answer."
    assert newest(cast.ana).derived_from == (cited,)


def test_what_is_left_over_keeps_them_too(cast: Cast, agent: Workspace) -> None:
    cited = noted(cast.ana)
    taken = JsonPatch.model_validate(
        {"ops": [{"op": "replace", "path": "/content/level", "value": 2}]}
    )
    accept = RespondToProposal(
        proposal_id=proposed(agent, cited), decision="accept", changes=taken, remainder="keep"
    )
    cast.ana.commit(accept)
    rest = RespondToProposal(proposal_id=accept.remainder_proposal_id, decision="accept")
    cast.ana.commit(rest)
    assert newest(cast.ana).content == {"level": 1}
    assert newest(cast.ana).derived_from == (cited,)


def test_a_batch_keeps_each_ones_own(cast: Cast, agent: Workspace) -> None:
    one, two = noted(cast.ana, "one"), noted(cast.ana, "two")
    sent = [
        {**STEP, "derived_from": [one]},
        {**STEP, "key": "pitfalls", "derived_from": [two, one]},
        {**STEP, "key": "examples"},
    ]
    for each in ingest(agent, sent):
        assert each.proposal_id is not None
        cast.ana.commit(RespondToProposal(proposal_id=each.proposal_id, decision="accept"))
    rows = Record.objects.filter(workspace=cast.ana.pk, collection="skills")
    found = {row.key: record(cast.ana, row.public_id).derived_from for row in rows}
    assert found == {"steps": (one,), "pitfalls": (two, one), "examples": ()}


def test_a_rejected_one_leaves_no_record_and_no_link(cast: Cast, agent: Workspace) -> None:
    before = Record.objects.count()
    cited = noted(cast.ana)
    id = proposed(agent, cited)
    cast.ana.commit(RespondToProposal(proposal_id=id, decision="reject", reason="no"))
    assert Record.objects.count() == before + 1
    assert record(cast.ana, cited).derived_from == ()


def test_what_cannot_be_cited_is_refused_when_it_is_proposed(cast: Cast, agent: Workspace) -> None:
    apply(cast.otto)
    for foreign in (noted(cast.otto), "rec_" + "0" * 32, "art_1"):
        with pytest.raises(RequestSchema) as found:
            ingest(agent, [{**STEP, "derived_from": [foreign]}])
        assert found.value.errors[0]["loc"] == ["records", 0, "derived_from", 0]
    assert not ProposalSource.objects.exists()


def test_a_repeat_cites_once(cast: Cast, agent: Workspace) -> None:
    cited = noted(cast.ana)
    first = proposed(agent, cited, dedupe_key="once")
    [again] = ingest(agent, [{**STEP, "derived_from": [cited], "dedupe_key": "once"}])
    assert (again.proposal_id, again.duplicate) == (first, True)
    assert ProposalSource.objects.count() == 1


def test_an_external_agents_are_kept_like_a_threads(cast: Cast) -> None:
    external = cast.ana.as_actor(ExternalAgentActor(client_id="cli_1", on_behalf_of=ANA))
    cited = noted(cast.ana)
    id = proposed(external, cited)
    cast.ben.commit(RespondToProposal(proposal_id=id, decision="accept"))
    assert newest(cast.ana).derived_from == (cited,)


def test_the_desk_accepts_with_them() -> None:
    """Through the page where a person edits what was proposed, and the record's own page."""
    desk: Desk = make_desk()
    apply(desk.door())
    cited = noted(desk.door())
    id = proposed(desk.scribe(run_id="run_desk"), cited)
    page = desk.decide(desk.page(id), decision="accept")
    assert page.status_code == 200
    found = newest(desk.door())
    assert found.derived_from == (cited,)
    row = Record.objects.get(public_id=found.id)
    text = desk.client("ana").get(f"/admin/artifactr_learning/record/{row.pk}/change/")
    assert cited in text.content.decode()


def test_a_group_of_proposals_that_nobody_cited_for_has_no_sources(
    cast: Cast, agent: Workspace
) -> None:
    """Commands cite nothing: only what was ingested does."""
    put = core.PutArtifact(
        address=core.Address(collection="skills", entity="agent:ada", key="steps"),  # type: ignore[call-arg]
        kind="maintained_value", data={"text": "Ask.", "content": {}}, base_version=0,
    )  # fmt: skip
    agent.commit(core.ProposeChange(change=put, group_id="grp_1"))
    cast.ana.commit(ResolveGroup(group_id="grp_1", decision="accept"))
    assert newest(cast.ana).derived_from == ()

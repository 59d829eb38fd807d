"""`verify_log` checks records and catalog too, and names whatever was tampered with."""

from __future__ import annotations

import pytest
from django.db import connection

from artifacts import extensions
from artifacts.core import ArchiveArtifact, RespondToProposal, address_id
from artifacts.core.errors import ConfigurationError
from artifacts.store.erasure import erasure
from learning.models import Record, RecordText
from learning.services.records import ingest
from tests.artifacts.test_store_verify import verified
from tests.learning.catalogs import apply
from tests.support.builders import make_thread
from tests.support.cast import Cast, make_cast
from tests.support.tampering import unguarded
from tests.support.verify import assert_whole

pytestmark = pytest.mark.django_db(transaction=True)
STEPS = address_id("skills", "agent:ada", "steps")
PITFALLS = address_id("skills", "agent:ada", "pitfalls")
RECORD = "artifactr_learning_record"
CURRENT = "artifactr_learning_currentrecord"
LINK = "artifactr_learning_recordlink"

# What is said, and the writes past every guard that make it so. Records: 1 a note with a key to
# dedupe, 2 and 3 two versions of steps, the second from a proposal that cites 1, 4 pitfalls, 5 its
# end, 6 a note that cites 1.
CRIMES = {
    "record 3 is missing: the next one is 4": [f"DELETE FROM {RECORD} WHERE seq = 3"],
    "record 1 is missing: the next one is 2": [f"DELETE FROM {RECORD} WHERE seq = 1"],
    "the head of the records is 6, the last record is 5": [f"DELETE FROM {RECORD} WHERE seq = 6"],
    "the head of the records is 9, the last record is 6": [
        "UPDATE artifactr_learning_recordhead SET seq = 9"
    ],
    "what it says is not what was written": [
        f"UPDATE {RECORD} SET text = 'forged' WHERE seq = 1",
        f"UPDATE {RECORD} SET content = '{{{{}}}}' WHERE seq = 1",
        f"UPDATE {RECORD} SET digest = salt WHERE seq = 1",
        f"UPDATE {RECORD} SET digest = salt WHERE seq = 2",
        "UPDATE artifactr_revision SET data = replace(data, 'Ask first', 'Never ask')",
    ],
    "it cannot be read": ["UPDATE artifactr_revision SET data = 'no json'"],
    "it has lost its salt and still says something": [
        f"UPDATE {RECORD} SET salt = {{nothing}} WHERE seq = 1"
    ],
    "it was erased and search still finds it": [
        f"UPDATE {RECORD} SET salt = {{nothing}}, text = '', content = '{{{{}}}}' WHERE seq = 1"
    ],
    "it says something beside its revision": [f"UPDATE {RECORD} SET text = 'x' WHERE seq = 2"],
    "it is not where and when its revision was written": [
        f"UPDATE {RECORD} SET entity = 'agent:eve' WHERE seq = 2",
        f"UPDATE {RECORD} SET key = 'other' WHERE seq = 2",
        f"UPDATE {RECORD} SET artifact_id = 'art_0' WHERE seq = 2",
        f"UPDATE {RECORD} SET actor = '{{{{}}}}' WHERE seq = 2",
        f"UPDATE {RECORD} SET at = '2001-01-01 00:00:00+00:00' WHERE seq = 2",
    ],
    f"revision {STEPS}@1: it has no record": [f"DELETE FROM {RECORD} WHERE seq = 2"],
    "search finds it by another text": [
        "UPDATE artifactr_learning_recordtext SET text = 'forged'",
        "DELETE FROM artifactr_learning_recordtext",
    ],
    f"value {STEPS}: another record is in force than the newest": [
        (
            f"UPDATE {CURRENT} SET record_id = (SELECT id FROM {RECORD} WHERE seq = 2) "
            "WHERE entity = 'agent:ada'"
        ),
        f"UPDATE {CURRENT} SET entity = 'agent:eve'",
    ],
    f"value {STEPS}: its newest record is not in force": [f"DELETE FROM {CURRENT}"],
    f"value {PITFALLS}: nothing is in force there": [
        (
            f"INSERT INTO {CURRENT} (workspace_id, address_id, collection, entity, record_id) "
            f"SELECT workspace_id, '{PITFALLS}', collection, entity, id FROM {RECORD} WHERE seq = 4"
        )
    ],
    "its source 0 is missing": [f"UPDATE {LINK} SET position = 1"],
    "it is derived from what came after it": [
        f"UPDATE {LINK} SET source_id = (SELECT id FROM {RECORD} WHERE seq = 6)"
    ],
    "it is derived from another workspace's": [
        f"UPDATE {LINK} SET source_id = (SELECT id FROM {RECORD} WHERE entity = 'agent:otto')"
    ],
    "what came of it is missing": [
        "UPDATE artifactr_learning_dedupekey SET record_id = 'rec_0'",
        "UPDATE artifactr_learning_dedupekey SET proposal_id = 'prp_0'",
    ],
    "it cites and is missing": ["UPDATE artifactr_learning_proposalsource SET proposal_id = 'p'"],
    "definition collection skills@1: it is not what was applied": [
        "UPDATE artifactr_learning_definition SET body = '{{}}'"
    ],
    "another one is in force under its name": [
        "UPDATE artifactr_learning_activedefinition SET name = 'x' WHERE name = 'skills'"
    ],
}
EACH = [(said, crime) for said, crimes in CRIMES.items() for crime in crimes]


@pytest.fixture
def cast() -> Cast:
    cast = make_cast()
    for workspace in (cast.ana, cast.otto):
        apply(workspace)
    note = {"collection": "notes", "entity": "agent:ada", "type": "note", "text": "Paid twice."}
    ingest(cast.otto, [{**note, "entity": "agent:otto"}])
    noted = {**note, "content": {"about": "Ada"}, "dedupe_key": "once"}
    step = {"collection": "skills", "entity": "agent:ada", "key": "steps", "text": "Ask first."}
    [first] = ingest(cast.ana, [noted])
    ingest(cast.ana, [step])
    agent = cast.scribe(make_thread(cast.ana))
    [proposed] = ingest(agent, [{**step, "text": "Ask twice.", "derived_from": [first.record_id]}])
    assert proposed.proposal_id is not None
    cast.ana.commit(RespondToProposal(proposal_id=proposed.proposal_id, decision="accept"))
    ingest(cast.ana, [{**step, "key": "pitfalls"}])
    cast.ana.commit(ArchiveArtifact(artifact_id=PITFALLS, base_version=1))
    ingest(cast.ana, [{**note, "derived_from": [first.record_id]}])
    return cast


def test_what_was_only_written_through_the_door_is_whole(cast: Cast) -> None:
    assert Record.objects.filter(workspace=cast.ana.pk).count() == 6
    assert_whole(cast.ana)
    assert verified(cast.ana.id, cast.otto.id)[0] == 0


@pytest.mark.parametrize(("said", "crime"), EACH)
def test_tampering_is_named(cast: Cast, said: str, crime: str) -> None:
    nothing = "''::bytea" if connection.vendor == "postgresql" else "x''"
    with unguarded() as cursor:
        cursor.execute(crime.format(nothing=nothing))
    code, text = verified(cast.ana.id)
    assert code == 1
    assert said in text


def test_an_erasure_is_no_tampering(cast: Cast) -> None:
    """As it empties a record: text, content and salt, and what search knew of it."""
    with erasure():
        rows = Record.objects.filter(workspace=cast.ana.pk, seq=1)
        rows.update(text="", content="{}", salt=b"")
        RecordText.objects.filter(record__in=rows.values("pk")).delete()
    assert_whole(cast.ana)


def test_an_app_adds_its_verifier_once_and_it_is_asked_for_each_workspace(cast: Cast) -> None:
    asked: list[int] = []

    def strict(workspace_pk: int) -> list[str]:
        asked.append(workspace_pk)
        return ["the host's own row is odd"] if workspace_pk == cast.ana.pk else []

    with extensions.isolated():
        extensions.register_verifier(strict)
        with pytest.raises(ConfigurationError, match="already registered"):
            extensions.register_verifier(strict)
        code, text = verified(cast.ana.id, cast.otto.id)
    assert (code, asked) == (1, [cast.ana.pk, cast.otto.pk])
    assert f"{cast.ana.id}: the host's own row is odd\n" in text
    assert verified(cast.ana.id)[0] == 0

"""Each list and page of records, catalog, uses and signals asks the same statements at any size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin import site
from django.urls import reverse

from artifacts import core
from feedback.api import urls as feedback_urls
from feedback.local import Local
from feedback.models import ArtifactUse
from feedback.services.uses import bind
from learning.api import urls as learning_urls
from learning.models import Definition, LearningSignal, Record
from learning.services.records import ingest
from tests.artifacts.routes import routes
from tests.feedback.desks import make_skilled_desk
from tests.support.asked import asked
from tests.support.desk import Desk
from tests.support.skilled import RECIPE, TASK

pytestmark = pytest.mark.django_db
SIZES = (10, 100, 1_000)
BATCH = 100


class Place:
    """A workspace that grows: outcomes that cite one another, uses on one value, signals on one
    use, and verdicts in the log."""

    def __init__(self) -> None:
        self.desk: Desk = make_skilled_desk()
        self.ben = self.desk.door("ben")
        self.use = bind(self.ben, RECIPE, TASK)
        [first] = ingest(self.ben, [outcome(0)])
        self.first = str(first.record_id)
        self.size = 0

    def grow(self, size: int) -> None:
        for start in range(self.size, size, BATCH):
            numbers = range(start, min(start + BATCH, size))
            cited = {"derived_from": [self.first]}
            ingest(self.ben, [{**outcome(number), **cited} for number in numbers])
            self.ben.commit_all([verdict(self.desk) for _ in numbers])
        said = Local(self.ben).feedback.for_use(self.use.id)
        for number in range(self.size, size):
            bind(self.ben, RECIPE, TASK)
            said.evaluation(score=number % 10 / 10, label=f"label {number % 7}")
        self.size = size

    def rest(self, path: str) -> str:
        return f"/api/v1/workspaces/{self.desk.row.public_id}/{path}"

    def head(self) -> str:
        assert self.use.learning_target is not None
        id: str = self.use.learning_target["heads"][0]["record_id"]
        return id


def outcome(number: int) -> dict[str, Any]:
    return {
        "collection": "outcomes",
        "entity": f"agent:{number % 3}",
        "type": "failure",
        "text": f"The refund was late, {number}.",
        "content": {"kind": "failure"},
    }


def verdict(desk: Desk) -> core.GiveFeedback:
    target = core.ThreadTarget(thread_id="thr_desk")
    return core.GiveFeedback(feedback_type="thumbs", target=target, value={"up": True})


def admin(name: str) -> str:
    return reverse(f"admin:artifactr_{name}_changelist")


def row_of(model: Any, page: str, **names: Any) -> str:
    row = model.objects.filter(**names).order_by("pk")[0]
    return reverse(f"admin:artifactr_{page}_change", args=[row.pk])


OURS = {each.name for each in (*learning_urls.workspace, *feedback_urls.workspace)}
SIGNALS = "collection=learning_signals"
READS: dict[str, Callable[[Place], str]] = {
    "records": lambda p: p.rest("records/?limit=500"),
    "records by a field": lambda p: p.rest(
        f"records/?limit=500&{SIGNALS}&where=signal_score>=0.2&sort=-signal_score"
    ),
    "record": lambda p: p.rest(f"records/{p.first}/"),
    "search": lambda p: p.rest("records/search/?q=refund&limit=500"),
    "catalog": lambda p: p.rest("catalog/?limit=500"),
    "definition": lambda p: p.rest(f"catalog/artifacts/{RECIPE}/"),
    "version": lambda p: p.rest(f"catalog/artifacts/{RECIPE}/versions/1/"),
    "uses": lambda p: p.rest("artifact-uses/?limit=500"),
    "uses of a recipe": lambda p: p.rest(f"artifact-uses/?limit=500&recipe={RECIPE}@1"),
    "uses on a value": lambda p: p.rest(f"artifact-uses/?limit=500&head={p.head()}"),
    "use": lambda p: p.rest(f"artifact-uses/{p.use.id}/"),
    "signals of a use": lambda p: p.rest(f"artifact-uses/{p.use.id}/signals/?limit=500"),
    "admin: records": lambda p: admin("learning_record"),
    "admin: records of a collection": lambda p: admin("learning_record") + "?collection=outcomes",
    "admin: records found": lambda p: admin("learning_record") + "?q=agent:1",
    "admin: record": lambda p: row_of(Record, "learning_record", public_id=p.first),
    "admin: definitions": lambda p: admin("learning_definition"),
    "admin: definition": lambda p: row_of(Definition, "learning_definition", name=RECIPE),
    "admin: signals": lambda p: admin("learning_learningsignal"),
    "admin: signals narrowed": lambda p: (
        admin("learning_learningsignal") + "?kind=evaluation&label=label+3&score=fair&p=1"
    ),
    "admin: signal": lambda p: row_of(LearningSignal, "learning_learningsignal"),
    "admin: uses": lambda p: admin("feedback_artifactuse"),
    "admin: uses on a value": lambda p: admin("feedback_artifactuse") + f"?q={p.head()}",
    "admin: use": lambda p: row_of(ArtifactUse, "feedback_artifactuse", public_id=p.use.id),
    "admin: typed feedback": lambda p: admin("feedback_givenfeedback"),
}


def counted(place: Place, name: str) -> int:
    client, url = place.desk.client("ana"), READS[name](place)
    with asked() as statements:
        answer = client.get(url)
        assert answer.status_code == 200, (name, answer.content[:200])
    return len(statements)


def test_every_list_and_page_asks_the_same_at_any_size() -> None:
    place, found = Place(), {}
    for size in SIZES:
        place.grow(size)
        for name in READS:
            counted(place, name)  # what is asked once per process
        found[size] = {name: counted(place, name) for name in READS}
    least, *more = found.values()
    for each in more:
        assert each == least
    assert max(least.values()) < 30


def test_every_list_and_page_is_counted() -> None:
    """The read-only routes and admin classes of learning and feedback, from the code."""
    place = Place()
    place.grow(1)
    paths = [READS[name](place) for name in READS]
    for route in routes():
        if route.name in OURS and route.method == "GET":
            given = {"workspace_id": place.desk.row.public_id, "use_id": place.use.id}
            given |= {"record_id": place.first, "section": "artifacts", "name": RECIPE}
            assert any(path.split("?")[0] == route.path(**given) for path in paths), route
    for model in site._registry:
        if model._meta.app_label in ("artifactr_learning", "artifactr_feedback"):
            name = f"{model._meta.app_label.removeprefix('artifactr_')}_{model._meta.model_name}"
            assert any(path.split("?")[0] == admin(name) for path in paths), model

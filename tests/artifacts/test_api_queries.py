"""A request costs the same number of statements, however much there is."""

from collections.abc import Callable

import pytest

from artifacts.core import CreateArtifact, CreateThread, EditArtifact, JsonPatch, ProposeChange
from artifacts.core.commands import AnyCommand
from artifacts.core.patches import ReplaceOp
from artifacts.models import Membership, Workspace
from tests.artifacts.rest import Cast, make_cast
from tests.support.asked import asked

pytestmark = pytest.mark.django_db
SIZES = (10, 100, 1_000)
AT_ONCE = 100
# A page as large as a site gives.
PAGE = "limit=500"
# Session, user, membership, workspace: what every request of a signed-in person asks first.
OPENING = 4
LISTS = {
    "artifacts/": 1,
    "artifacts/art_0/revisions/": 2,
    "proposals/": 1,
    "events/": 1,
    "threads/": 1,
    "threads/thr_0/messages/": 2,
    "runs/": 1,
}


def artifact(number: int) -> AnyCommand:
    return CreateArtifact(artifact_id=f"art_{number}", kind="rest_note", data={"title": ""})


def revision(number: int) -> AnyCommand:
    patch = JsonPatch(ops=(ReplaceOp(path="/title", value=str(number)),))
    return EditArtifact(artifact_id="art_0", base_version=number, patch=patch)


def proposal(number: int) -> AnyCommand:
    patch = JsonPatch(ops=(ReplaceOp(path="/title", value=f"p{number}"),))
    change = EditArtifact(artifact_id="art_1", base_version=1, patch=patch)
    return ProposeChange(proposal_id=f"prp_{number}", change=change)


def thread(number: int) -> AnyCommand:
    return CreateThread(thread_id=f"thr_{number}", title="t")


MAKERS: tuple[Callable[[int], AnyCommand], ...] = (artifact, thread, proposal)


def grow(cast: Cast, *, start: int, end: int) -> None:
    for first in range(start, end, AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, end))
        for maker in MAKERS:
            cast.door.commit_all([maker(number) for number in numbers])
        cast.door.commit_all([revision(number + 1) for number in numbers])


def statements(cast: Cast, path: str) -> int:
    with asked() as found:
        answer = cast.vera.get(path)
    assert answer.status == 200
    return len(found)


def test_lists_and_details_cost_the_same_at_any_size(cast: Cast) -> None:
    details = {"artifacts/art_0/": 1, "proposals/prp_1/": 1, "threads/thr_0/": 1}
    start, counted = 0, {}
    for size in SIZES:
        grow(cast, start=start, end=size)
        start = size
        counted[size] = {
            **{path: statements(cast, f"{path}?{PAGE}") for path in LISTS},
            **{path: statements(cast, path) for path in details},
        }
    expected = {path: OPENING + number for path, number in {**LISTS, **details}.items()}
    assert counted == dict.fromkeys(SIZES, expected)


def test_the_list_of_workspaces_costs_the_same_at_any_size(cast: Cast) -> None:
    user = Membership.objects.get(user__username="vera").user
    counts = []
    for size in SIZES[:2]:
        for number in range(size):
            workspace = Workspace.objects.create(tenant=cast.tenant, name=f"{size}/{number}")
            Membership.objects.create(workspace=workspace, user=user, role="viewer")
        counts.append(statements(cast, f"/api/v1/workspaces/?{PAGE}"))
    assert counts == [3, 3]


@pytest.fixture
def cast() -> Cast:
    return make_cast()

"""Who sees what in the admin, and who may decide: walked over every page and every person."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.test import override_settings
from django.urls import reverse

from artifacts import access, models
from artifacts.core import (
    AppEvent,
    GiveFeedback,
    Hidden,
    ProposeChange,
    SetFocus,
    TurnTarget,
)
from artifacts.surfaces.object_pages import WorkspaceAdmin
from tests.feedback.uses import bound, furnish, say
from tests.support.builders import edit_text, make_artifact, make_run
from tests.support.desk import THREAD, Desk, make_desk
from tests.support.kinds import Paper

OURS = {m: a for m, a in admin.site._registry.items() if m._meta.app_label.startswith("artifactr")}
OF_WORKSPACE = {m: a for m, a in OURS.items() if isinstance(a, WorkspaceAdmin)}
INLINE = re.compile(
    r"<style|<script(?![^>]*\bsrc=)|\sstyle=|\son[a-z]+=|javascript:", re.IGNORECASE
)


@dataclass
class Filled:
    """A desk with one of everything, and the same for Otto elsewhere."""

    desk: Desk
    paper: str
    proposal: str


@pytest.fixture
def filled(transactional_db: None) -> Iterator[Filled]:
    desk = make_desk()
    run_id = make_run(desk.scribe(), THREAD)
    paper = make_artifact(desk.door(), Paper(text="one two"))
    change = ProposeChange(change=edit_text(paper, 1, "two", "2"))
    desk.scribe(run_id=run_id).commit(change)
    furnish(desk.door("mia"))
    say(desk.door("mia"), bound(desk.door("mia")).id)
    thumbs = GiveFeedback(
        feedback_type="thumbs", target=TurnTarget(run_id=run_id), value={"up": True}
    )
    desk.door().commit(thumbs)
    theirs = make_artifact(desk.door("otto"), Paper(text="secret"), artifact_id="art_theirs")
    assert theirs
    access.forget_hidden()
    yield Filled(desk, paper, change.proposal_id)
    access.forget_hidden()


def pages(filled: Filled) -> list[str]:
    """Every page about a row of the desk's workspace."""
    found = [filled.desk.page(filled.proposal)]
    for model, model_admin in OF_WORKSPACE.items():
        row = model._default_manager.filter(workspace=filled.desk.row).first()
        assert row is not None, f"nothing to look at for {model_admin}"
        found.append(
            reverse(f"admin:{model._meta.label_lower.replace('.', '_')}_change", args=[row.pk])
        )
    return found


def lists() -> list[str]:
    return [reverse(f"admin:{m._meta.label_lower.replace('.', '_')}_changelist") for m in OURS]


def test_every_list_and_page_is_registered() -> None:
    assert {m.__name__ for m in OF_WORKSPACE} == {
        "Artifact", "ArtifactUse", "ChangeSet", "Definition", "Event", "GivenFeedback",
        "LearningSignal", "Proposal", "Record", "Run", "Thread",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["ana", "ben", "vera", "mia", "root"])
def test_members_and_superusers_see_everything(filled: Filled, name: str) -> None:
    for url in pages(filled):
        page = filled.desk.client(name).get(url, follow=True)
        assert page.status_code == 200, url


@pytest.mark.parametrize("name", ["otto", "nora"])
def test_others_find_nothing(filled: Filled, name: str) -> None:
    """A foreign row answers as an unknown one; who has no workspace at all has no pages."""
    client = filled.desk.client(name)
    status = 404 if name == "otto" else 403
    for url in pages(filled):
        assert client.get(url).status_code == status, url
        unknown = re.sub(r"/\d+/", "/999999/", url)
        assert client.get(unknown).status_code == status, unknown
    assert (
        client.post(filled.desk.page(filled.proposal), {"decision": "accept"}).status_code == status
    )
    assert models.Proposal.objects.get().status == "pending"


def test_foreign_rows_are_in_no_list_filter_or_count(filled: Filled) -> None:
    client = filled.desk.client("otto")
    for url in lists():
        page = client.get(url)
        if page.status_code == 403:
            continue
        text = page.content.decode()
        for told in (filled.paper, filled.proposal, THREAD, "scribe for", ">Desk<"):
            assert told not in text, (url, told)
    url = reverse("admin:artifactr_artifact_changelist")
    assert "1 artifact\n" in client.get(url).content.decode()
    assert "4 artifacts\n" in filled.desk.client("ana").get(url).content.decode()
    assert "5 artifacts\n" in filled.desk.client("root").get(url).content.decode()


def test_a_filter_names_only_what_is_seen(filled: Filled) -> None:
    client = filled.desk.client("otto")
    for query in (f"?workspace={filled.desk.row.public_id}", f"?q={filled.paper}", "?kind=paper"):
        for name in ("proposal", "artifact", "event"):
            url = reverse(f"admin:artifactr_{name}_changelist") + query
            page = client.get(url, follow=True)
            rows = page.context["cl"].result_list
            assert {row.workspace for row in rows} <= {filled.desk.elsewhere}, url


@pytest.mark.parametrize("name", ["ben", "vera", "root"])
def test_who_may_not_decide_has_no_buttons_and_is_refused(filled: Filled, name: str) -> None:
    url = filled.desk.page(filled.proposal)
    client = filled.desk.client(name)
    text = client.get(url).content.decode()
    assert "needs the role of a reviewer" in text
    assert 'value="reject"' not in text
    assert "<textarea" not in text
    for decision in ("accept", "edit", "reject", "nonsense"):
        assert client.post(url, {"decision": decision}).status_code == 403
    assert models.Proposal.objects.get().status == "pending"


@pytest.mark.parametrize("name", ["ana", "mia"])
def test_reviewers_and_admins_decide(filled: Filled, name: str) -> None:
    filled.desk.decide(filled.desk.page(filled.proposal), name, decision="accept")
    assert models.Proposal.objects.get().status == "accepted"


def test_a_superuser_decides_with_a_membership(filled: Filled) -> None:
    root = filled.desk.users["root"]
    models.Membership.objects.create(workspace=filled.desk.row, user=root, role="reviewer")
    filled.desk.decide(filled.desk.page(filled.proposal), "root", decision="reject")
    assert models.Proposal.objects.get().status == "rejected"


@pytest.mark.parametrize("name", ["sam", None])
def test_who_is_no_staff_is_sent_to_the_login(filled: Filled, name: str | None) -> None:
    client = filled.desk.client(name) if name else type(filled.desk.client("ana"))()
    for url in [*pages(filled), *lists()]:
        for answer in (client.get(url), client.post(url, {"decision": "accept"})):
            assert answer.status_code == 302
            assert "/login/" in answer.headers["Location"]


def refuse(actor: object, workspace: object, action: str, target: object) -> bool:
    return action != "respond_to_proposal"


def test_the_hosts_authorize_can_refuse(filled: Filled) -> None:
    with override_settings(ARTIFACTR={"AUTHORIZE": f"{__name__}.refuse"}):
        url = filled.desk.page(filled.proposal)
        assert filled.desk.client("ana").post(url, {"decision": "accept"}).status_code == 403
    assert models.Proposal.objects.get().status == "pending"


@pytest.mark.parametrize("model", OF_WORKSPACE, ids=lambda model: model.__name__)
def test_rows_of_the_write_path_are_read_only(filled: Filled, model: type) -> None:
    """No add, change or delete, for a superuser with every permission either."""
    client, name = filled.desk.client("root"), model._meta.label_lower.replace(".", "_")  # type: ignore[attr-defined]
    row = model._default_manager.first()  # type: ignore[attr-defined]
    before = model._default_manager.filter(pk=row.pk).values().get()  # type: ignore[attr-defined]
    values = dict.fromkeys(before, "1")
    for url in (reverse(f"admin:{name}_add"), reverse(f"admin:{name}_delete", args=[row.pk])):
        assert client.get(url).status_code == 403
        assert client.post(url, {**values, "post": "yes"}).status_code == 403
    client.post(reverse(f"admin:{name}_change", args=[row.pk]), values)
    bulk = {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
    client.post(reverse(f"admin:{name}_changelist"), bulk)
    assert model._default_manager.filter(pk=row.pk).values().get() == before  # type: ignore[attr-defined]
    history = client.get(reverse(f"admin:{name}_history", args=[row.pk]))
    assert history.status_code == 404


@pytest.mark.parametrize("name", ["ana", "root"])
def test_pages_need_nothing_inline(filled: Filled, name: str) -> None:
    """A static Content-Security-Policy without exceptions suffices."""
    for url in [*pages(filled), *lists(), reverse("admin:index")]:
        page = filled.desk.client(name).get(url, follow=True)
        if page.status_code == 403:
            continue
        found = INLINE.findall(page.content.decode())
        assert not found, (url, found)


def refuse_reading(actor: object, workspace: object, action: str, target: object) -> bool:
    return action not in REFUSED


REFUSED: set[str] = set()


@pytest.mark.parametrize(
    "action",
    [
        "read_artifacts",
        "read_proposals",
        "read_events",
        "read_threads",
        "read_runs",
        "read_change_sets",
    ],
)
@pytest.mark.parametrize("name", ["ana", "root"])
def test_the_hosts_authorize_can_refuse_to_show(filled: Filled, action: str, name: str) -> None:
    """Its rows are in no list then, and their pages answer 403 or as if they were not there."""
    of_action = {each.read_action: each for each in OF_WORKSPACE.values()}
    REFUSED.add(action)
    try:
        with override_settings(ARTIFACTR={"AUTHORIZE": f"{__name__}.refuse_reading"}):
            client = filled.desk.client(name)
            for url in pages(filled):
                assert client.get(url, follow=True).status_code in (200, 403, 404), url
            route = of_action[action].opts.label_lower.replace(".", "_")
            rows = client.get(reverse(f"admin:{route}_changelist")).context["cl"].result_list
            assert rows == []
            if action in ("read_artifacts", "read_proposals"):
                assert client.get(filled.desk.page(filled.proposal)).status_code in (403, 404)
    finally:
        REFUSED.clear()


HIDES: dict[str, Hidden] = {}


def hide(actor: object, workspace: object) -> Hidden:
    return HIDES.get(getattr(actor, "name", ""), Hidden())


@pytest.fixture
def hiding(filled: Filled) -> Iterator[Filled]:
    """The paper and the thread are hidden from Ana; other things happened too."""
    desk = filled.desk
    other = make_artifact(desk.door(), Paper(text="other"), artifact_id="art_seen")
    desk.door().commit(SetFocus(thread_id=THREAD, artifact_ids=(filled.paper, other)))
    desk.scribe().record(AppEvent(name="noted", thread_id=THREAD))
    with override_settings(ARTIFACTR={"HIDDEN": f"{__name__}.hide"}):
        yield filled
    HIDES.clear()


def test_a_hidden_artifact_is_nowhere(hiding: Filled) -> None:
    HIDES["Ana"] = Hidden(artifacts=frozenset({hiding.paper}))
    client = hiding.desk.client("ana")
    for url in lists():
        page = client.get(url)
        if page.status_code == 200:
            assert hiding.paper not in page.content.decode(), url
            assert hiding.proposal not in page.content.decode(), url
    assert (
        "4 artifacts\n"
        in client.get(reverse("admin:artifactr_artifact_changelist")).content.decode()
    )
    assert client.get(hiding.desk.page(hiding.proposal)).status_code == 404
    assert client.post(hiding.desk.page(hiding.proposal), {"decision": "accept"}).status_code == 404
    thread = client.get(
        reverse("admin:artifactr_thread_by_id", args=[hiding.desk.row.public_id, THREAD]),
        follow=True,
    )
    assert thread.status_code == 200
    assert hiding.paper not in thread.content.decode()
    assert "art_seen" in thread.content.decode()
    seen = reverse("admin:artifactr_artifact_by_id", args=[hiding.desk.row.public_id, "art_seen"])
    assert client.get(seen, follow=True).status_code == 200
    for event in models.Event.objects.filter(artifact_id=hiding.paper):
        assert (
            client.get(reverse("admin:artifactr_event_change", args=[event.pk])).status_code == 404
        )
    focus = models.Event.objects.get(type="focus_changed")
    page = client.get(reverse("admin:artifactr_event_change", args=[focus.pk]))
    assert hiding.paper not in page.content.decode()
    assert "art_seen" in page.content.decode()
    assert (
        hiding.paper
        in hiding.desk.client("mia").get(hiding.desk.page(hiding.proposal)).content.decode()
    )


def test_a_hidden_thread_is_nowhere(hiding: Filled) -> None:
    HIDES["Ana"] = Hidden(threads=frozenset({THREAD}))
    client = hiding.desk.client("ana")
    for url in lists():
        page = client.get(url)
        if page.status_code == 200:
            assert THREAD not in page.content.decode(), url
    for model in ("thread", "run"):
        text = client.get(reverse(f"admin:artifactr_threads_{model}_changelist")).content.decode()
        assert f"0 {model}s\n" in text
    assert client.get(hiding.desk.page(hiding.proposal)).status_code == 404
    for event in models.Event.objects.filter(thread_id=THREAD):
        assert (
            client.get(reverse("admin:artifactr_event_change", args=[event.pk])).status_code == 404
        )


def test_every_page_of_ours_asks_the_membership() -> None:
    """A page that is added later must inherit the wall, or be one of administration."""
    for model, model_admin in OURS.items():
        administration = model.__name__ in {"Tenant", "Workspace", "Membership", "ApiKey"}
        assert administration or isinstance(model_admin, WorkspaceAdmin), model
        assert isinstance(model_admin, ModelAdmin)

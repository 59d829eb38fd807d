"""Applying a catalog: all or nothing, the same twice is nothing, and one version is in force."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
import rfc8785

from artifacts.access import Access
from artifacts.core import ArtifactrError, Forbidden, NotFound, UserActor
from artifacts.workspace import Workspace, open_workspace
from learning.core.errors import ArtifactNotFound, CatalogInvalid
from learning.models import ActiveDefinition, Definition
from learning.selectors import catalog as selectors
from learning.services.catalog import Applied, apply_catalog
from tests.learning.catalogs import Catalog, apply, catalog, files
from tests.support.cast import ANA, Cast, make_cast
from tests.support.racing import together
from tests.support.verify import assert_whole

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast() -> Cast:
    return make_cast()


def raised(catalog: Catalog, section: str, name: str, **members: Any) -> Catalog:
    """Version 2 of a definition in version 2 of the package, in the place of version 1."""
    catalog["package"]["version"] = 2
    for each in catalog[section]:
        if each["name"] == name:
            each.update(version=2, **members)
    refs = catalog["package"][section]
    catalog["package"][section] = [f"{name}@2" if ref == f"{name}@1" else ref for ref in refs]
    return catalog


def in_force(workspace: Workspace) -> dict[str, int]:
    rows = ActiveDefinition.objects.filter(workspace_id=workspace.pk).select_related("definition")
    return {f"{row.type} {row.name}": row.definition.version for row in rows}


def test_everything_listed_is_kept_and_in_force(cast: Cast) -> None:
    applied = apply(cast.ana)
    assert applied.package == "desk@1"
    assert set(applied.created) == set(applied.activated)
    assert len(applied.created) == 9
    assert set(in_force(cast.ana).values()) == {1}
    found = selectors.definition(cast.ana, "artifact", "prompt")
    assert (found.version, found.active, found.package, found.versions) == (1, True, "desk@1", (1,))
    assert found.actor == ANA
    assert found.body is not None
    assert found.body["learning"] == {"target_block": "skill", "artifact": "skill@1"}


def test_the_hash_is_of_the_canonical_json_without_active(cast: Cast) -> None:
    changed = catalog()
    recipe = changed["artifacts"][0]
    expected = hashlib.sha256(rfc8785.dumps(recipe)).hexdigest()
    recipe["active"] = True
    apply(cast.ana, changed)
    assert selectors.definition(cast.ana, "artifact", "prompt").definition_hash == expected


def test_the_same_twice_changes_nothing(cast: Cast) -> None:
    apply(cast.ana)
    before = [
        list(model.objects.order_by("pk").values()) for model in (Definition, ActiveDefinition)
    ]
    again = apply(cast.ana)
    assert (again.created, again.activated, again.retired) == ((), (), ())
    assert len(again.unchanged) == 9
    after = [
        list(model.objects.order_by("pk").values()) for model in (Definition, ActiveDefinition)
    ]
    assert after == before


def test_another_body_under_the_same_version_is_refused(cast: Cast) -> None:
    apply(cast.ana)
    changed = catalog()
    changed["views"][0]["limit"] = 7
    changed["artifacts"][0]["description"] = "other"
    with pytest.raises(CatalogInvalid) as refused:
        apply(cast.ana, changed)
    assert [(each.rule, each.file) for each in refused.value.problems] == [
        ("immutable", "artifacts/all.yaml"),
        ("immutable", "views/all.yaml"),
    ]
    assert Definition.objects.count() == 9


def test_a_new_version_takes_the_place_of_the_old_one(cast: Cast) -> None:
    apply(cast.ana)
    first = selectors.definition(cast.ana, "collection", "notes")
    applied = apply(cast.ana, raised(catalog(), "collections", "notes", description="later"))
    assert applied.activated == ("collection notes@2", "package desk@2")
    assert in_force(cast.ana)["collection notes"] == 2
    found = selectors.definition(cast.ana, "collection", "notes")
    assert (found.version, found.versions) == (2, (1, 2))
    older = selectors.definition(cast.ana, "collection", "notes", 1)
    assert (older.body, older.active) == (first.body, False)


def test_an_inactive_version_is_kept_and_not_in_force(cast: Cast) -> None:
    changed = catalog()
    changed["package"]["collections"].append("notes@2")
    note = next(each for each in changed["collections"] if each["name"] == "notes")
    changed["collections"].append({**note, "version": 2, "active": False})
    apply(cast.ana, changed)
    assert in_force(cast.ana)["collection notes"] == 1
    assert selectors.definition(cast.ana, "collection", "notes").versions == (1, 2)


def test_what_a_package_no_longer_lists_is_out_of_force_and_kept(cast: Cast) -> None:
    apply(cast.ana)
    other = {
        "package": {"name": "other", "version": 1, "collections": ["extra@1"]},
        "collections": [{"name": "extra", "version": 1, "mode": "event", "schema": {}}],
    }
    apply(cast.ana, other)
    changed = catalog()
    changed["package"].update(version=2)
    changed["package"]["collections"].remove("notes@1")
    changed["collections"] = [each for each in changed["collections"] if each["name"] != "notes"]
    assert apply(cast.ana, changed).retired == ("collection notes",)
    assert "collection notes" not in in_force(cast.ana)
    assert "collection extra" in in_force(cast.ana)
    with pytest.raises(NotFound):
        selectors.definition(cast.ana, "collection", "notes")
    assert not selectors.definition(cast.ana, "collection", "notes", 1).active
    # Applying the older package puts it back.
    assert "collection notes@1" in apply(cast.ana).activated


def test_a_package_builds_on_what_is_there(cast: Cast) -> None:
    apply(cast.ana)
    view = {**catalog()["views"][0], "name": "mine"}
    small: Catalog = {
        "package": {"name": "small", "version": 1, "collections": ["outcomes@1"],
                    "views": ["mine@1"]},
        "views": [view],
    }  # fmt: skip
    assert apply(cast.ana, small).created == ("package small@1", "view mine@1")
    small["package"].update(version=2, collections=[])
    with pytest.raises(CatalogInvalid) as refused:
        apply(cast.ana, small)
    assert [each.rule for each in refused.value.problems] == ["collection_unlisted"]


def test_a_check_says_what_it_would_do_and_does_not(cast: Cast) -> None:
    said = apply_catalog(cast.ana, files(catalog()), check=True)
    assert len(said.created) == 9
    assert not Definition.objects.exists()
    with pytest.raises(CatalogInvalid):
        apply_catalog(cast.ana, {"package.yaml": "name: x"}, check=True)


def test_nothing_is_kept_of_a_catalog_with_a_problem(cast: Cast) -> None:
    changed = catalog()
    changed["derivations"][0]["emit"]["review"] = "none"
    with pytest.raises(CatalogInvalid) as refused:
        apply(cast.ana, changed)
    assert refused.value.payload()["problems"][0]["rule"] == "emit_review"
    assert not Definition.objects.exists()


def test_workspaces_share_nothing(cast: Cast) -> None:
    apply(cast.ana)
    assert selectors.definitions(cast.otto) == []
    with pytest.raises(ArtifactNotFound):
        selectors.definition(cast.otto, "artifact", "prompt")
    changed = catalog()
    changed["artifacts"][0]["description"] = "theirs"
    apply(cast.otto, changed)
    assert selectors.definition(cast.ana, "artifact", "prompt").body != (
        selectors.definition(cast.otto, "artifact", "prompt").body
    )


@pytest.mark.parametrize("role", ["viewer", "editor", "reviewer"])
def test_only_an_admin_applies(cast: Cast, role: str) -> None:
    access = Access(actor=ANA, role=role)
    with pytest.raises(Forbidden):
        apply(open_workspace(cast.ana.id, actor=ANA, access=access))


def test_a_number_beyond_what_json_carries_is_no_definition(cast: Cast) -> None:
    made = files(catalog())
    made["collections/all.yaml"] = made["collections/all.yaml"].replace(
        "minimum: 1", "minimum: 90071992547409920"
    )
    with pytest.raises(CatalogInvalid) as refused:
        apply_catalog(cast.ana, made)
    assert refused.value.problems[0].rule == "yaml_number"


def test_pages_of_definitions(cast: Cast) -> None:
    apply(cast.ana)
    apply(cast.ana, raised(catalog(), "collections", "notes", description="later"))
    everything = selectors.definitions(cast.ana)
    assert len(everything) == 11
    assert selectors.definitions(cast.ana, after=everything[3].id, limit=2) == everything[4:6]
    notes = selectors.definitions(cast.ana, name="notes")
    assert [(each.type, each.version, each.active) for each in notes] == [
        ("collection", 1, False), ("collection", 2, True),
    ]  # fmt: skip
    assert selectors.definitions(cast.ana, name="notes", active=False) == notes[:1]
    assert {each.type for each in selectors.definitions(cast.ana, type_name="view")} == {"view"}


@pytest.mark.django_db(transaction=True)
def test_one_catalog_that_many_apply_is_applied_once(cast: Cast) -> None:
    results = together(6, lambda number: apply(cast.ana))
    assert all(isinstance(each, Applied) for each in results)
    assert sorted(len(each.created) for each in results)[:-1] == [0] * 5
    keys = list(Definition.objects.values_list("type", "name", "version"))
    assert len(keys) == len(set(keys)) == ActiveDefinition.objects.count()
    assert_whole(cast.ana)


@pytest.mark.django_db(transaction=True)
def test_racing_versions_leave_one_in_force() -> None:
    cast = make_cast()
    apply(cast.ana)

    def race(number: int) -> object:
        made = catalog()
        made["package"].update(name=f"desk{number}")
        made["views"][0].update(version=number + 2, limit=number + 2)
        made["package"]["views"] = [f"recent@{number + 2}"]
        made["artifacts"][0]["blocks"].pop("history")
        made["artifacts"][0].update(version=number + 2, template="{{skill}}")
        made["package"]["artifacts"] = [f"prompt@{number + 2}", "skill@1"]
        return apply(open_workspace(cast.ana.id, actor=UserActor(id=str(number))), made)

    results = together(4, race)
    assert not [each for each in results if isinstance(each, ArtifactrError)]
    assert ActiveDefinition.objects.filter(type="view", name="recent").count() == 1
    assert Definition.objects.filter(type="view", name="recent").count() == 5


@pytest.mark.django_db(transaction=True)
def test_racing_with_the_same_version_and_other_bodies_keeps_one() -> None:
    cast = make_cast()

    def race(number: int) -> object:
        made = catalog()
        made["views"][0]["limit"] = number + 1
        return apply(open_workspace(cast.ana.id, actor=ANA), made)

    results = together(4, race)
    refused = [each for each in results if isinstance(each, CatalogInvalid)]
    assert len(refused) == 3
    assert {each.problems[0].rule for each in refused} == {"immutable"}
    assert Definition.objects.filter(type="view").count() == 1


def test_statements_do_not_grow_with_the_catalog(
    cast: Cast, django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    many = catalog()
    for number in range(50):
        name = f"extra{number}"
        many["collections"].append({"name": name, "version": 1, "mode": "event", "schema": {}})
        many["package"]["collections"].append(f"{name}@1")
    with django_assert_max_num_queries(20):
        apply(cast.ana, many)


def with_views_in_a_ring(changed: Catalog) -> None:
    changed["views"][0]["scope"]["view"] = "recent@1"


def with_itself_to_learn_from(changed: Catalog) -> None:
    changed["artifacts"][0]["learning"]["artifact"] = "prompt@1"


def with_a_schema_that_refers_to_itself(changed: Catalog) -> None:
    changed["collections"][0]["schema"] = {
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a",
    }  # fmt: skip


def with_too_many(changed: Catalog) -> None:
    one = changed["collections"][2]
    more = [{**deepcopy(one), "name": f"notes{number}"} for number in range(3_000)]
    changed["collections"] += more
    changed["package"]["collections"] += [f"{each['name']}@1" for each in more]


def with_a_huge_template(changed: Catalog) -> None:
    changed["artifacts"][0]["template"] = "{{skill}}{{history}}" + "x" * 3_000_000


@pytest.mark.parametrize(
    "spoil",
    [
        with_views_in_a_ring,
        with_itself_to_learn_from,
        with_a_schema_that_refers_to_itself,
        with_too_many,
        with_a_huge_template,
    ],
)
def test_a_catalog_that_turns_in_a_ring_or_is_huge_is_refused(cast: Cast, spoil: Any) -> None:
    changed = catalog()
    spoil(changed)
    with pytest.raises(CatalogInvalid) as refused:
        apply(cast.ana, changed)
    assert refused.value.problems
    assert not Definition.objects.exists()

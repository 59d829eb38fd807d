"""The OpenAPI schema: a committed snapshot, and generated requests that it must describe."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
import yaml
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiYamlRenderer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import checks

from artifacts.models import Event
from tests.artifacts.rest import Cast, make_cast
from tests.artifacts.routes import routes, streams

SNAPSHOT = Path(__file__).resolve().parents[2] / "docs" / "openapi.yaml"
REFRESH = "a reviewed change? then: manage.py spectacular --file docs/openapi.yaml"
SCHEMA = yaml.load(SNAPSHOT.read_text(), Loader=yaml.CSafeLoader)
OPERATIONS = [(path, method) for path, item in SCHEMA["paths"].items() for method in item]
ENDLESS = {(route.template, route.method.lower()) for route in streams()}
HELD = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
EXAMPLES = 10
KNOWN = {
    "artifact_id": "art_1",
    "proposal_id": "prp_1",
    "group_id": "grp_1",
    "thread_id": "thr_1",
    "version": 1,
}


def test_the_snapshot_is_current() -> None:
    schema = SchemaGenerator().get_schema(request=None, public=True)
    current = OpenApiYamlRenderer().render(schema, renderer_context={}).decode()
    assert current == SNAPSHOT.read_text(), REFRESH


def test_every_route_is_described() -> None:
    described = {(method.upper(), path) for path, method in OPERATIONS}
    assert ENDLESS
    assert {(route.method, route.template) for route in [*routes(), *streams()]} == described


def test_operations_are_named_once() -> None:
    names = [each["operationId"] for item in SCHEMA["paths"].values() for each in item.values()]
    assert len(set(names)) == len(names)


@pytest.fixture
def connections_stay_open(cast: Cast) -> Iterator[None]:
    """A request through the whole WSGI application would close the one that this test holds.

    After the cast, because the test client connects these again when it is done.
    """
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def cast() -> Cast:
    """A workspace in which every id of `KNOWN` names something."""
    cast = make_cast()
    op = {"op": "replace", "path": "/title", "value": "x"}
    change = {
        "type": "edit_artifact",
        "artifact_id": "art_1",
        "base_version": 1,
        "patch": {"kind": "json_patch", "ops": [op]},
    }
    for answer in (
        cast.ben.post("artifacts/", {"artifact_id": "art_1", "kind": "rest_note"}),
        cast.ben.post("proposals/", {"proposal_id": "prp_0", "change": change}),
        cast.ben.post(
            "proposals/", {"proposal_id": "prp_1", "change": change, "group_id": "grp_1"}
        ),
        cast.ben.post("threads/", {"thread_id": "thr_1", "title": "t"}),
        cast.ben.post("threads/thr_1/messages/", {"content": "c"}),
    ):
        assert answer.status == 201, answer.text
    return cast


@pytest.mark.django_db
@pytest.mark.usefixtures("connections_stay_open")
@pytest.mark.parametrize(
    ("path", "method"), [each for each in OPERATIONS if each not in ENDLESS], ids=str
)
def test_what_is_answered_is_what_the_schema_says(cast: Cast, path: str, method: str) -> None:
    schema = schemathesis.openapi.from_dict(SCHEMA)
    schema.app = get_wsgi_application()
    key = cast.key("admin").headers
    statuses = set()

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=schema[path][method].as_strategy(), is_known=st.booleans())
    def run(case: Any, is_known: bool) -> None:
        for name in case.path_parameters:
            if name == "workspace_id":
                case.path_parameters[name] = cast.workspace.public_id
            elif is_known and name in KNOWN:
                case.path_parameters[name] = KNOWN[name]
        response = case.call(headers=key)
        case.validate_response(response, checks=HELD)
        statuses.add(response.status_code)

    run()
    assert statuses - {401, 403}, "no request got past the door"
    assert list(Event.objects.order_by("seq").values_list("seq", flat=True)) == list(
        range(1, Event.objects.count() + 1)
    )

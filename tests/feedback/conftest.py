"""A server on the test's database that the tests of one process share, and a skilled workspace."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from artifacts.models import Workspace as Row
from tests.feedback.clients import as_program
from tests.support import live
from tests.support.cast import make_workspace
from tests.support.skilled import make_skilled


@pytest.fixture(scope="session")
def site_url(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a real server answers."""
    with live.serving(tmp_path_factory.mktemp("site")) as server:
        yield server.url


@pytest.fixture
def row(transactional_db: None) -> Row:
    """A workspace with the shipped package and a skill, in real commits."""
    made = make_workspace()
    make_skilled(as_program(made))
    return made


@pytest.fixture
def server_of(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """The server for a way of calling; what calls in process needs none."""

    def url(way: str) -> str:
        found: str = request.getfixturevalue("site_url") if way.startswith("http") else ""
        return found

    return url

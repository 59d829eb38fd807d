"""The page of the REST surface, drawn by a real browser under the site's policy."""

import pytest
from pytest_django.live_server_helper import LiveServer

from tests.support.browser import page


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_the_policy_lets_the_page_be_drawn(live_server: LiveServer) -> None:
    with page() as (opened, complaints):
        opened.goto(f"{live_server.url}/api/v1/docs/")
        opened.get_by_role("heading", name="django-artifactr").wait_for()
        assert not complaints

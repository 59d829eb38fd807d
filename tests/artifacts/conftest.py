"""The people of the tests of this app."""

from __future__ import annotations

import pytest

from tests.support.cast import Cast, make_cast


@pytest.fixture
def cast(transactional_db: None) -> Cast:
    """Everybody, with real commits: what runs after COMMIT really runs."""
    return make_cast()

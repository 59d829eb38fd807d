"""The people of the tests of this app, with the small catalog in Ana's workspace."""

from __future__ import annotations

import pytest

from tests.learning.catalogs import apply
from tests.support.cast import Cast, make_cast


@pytest.fixture
def cast() -> Cast:
    cast = make_cast()
    apply(cast.ana)
    return cast

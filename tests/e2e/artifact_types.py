"""The kinds of the tests, so that servers know them too."""

import os

from tests.support import kinds

REGISTERED = kinds

if os.environ.get("E2E_DYING"):
    from tests.e2e import dying

    DYING = dying

"""The kinds of the tests, so that servers know them too."""

from tests.support import kinds

REGISTERED = kinds

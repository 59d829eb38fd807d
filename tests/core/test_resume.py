"""Where a reconnecting client's replay starts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from artifacts.core import Resume, resume


@pytest.mark.parametrize(
    ("client", "head", "first", "after", "reset"),
    [
        (0, 0, 1, 0, False),  # new client, empty log
        (0, 9, 1, 0, False),  # new client: everything
        (4, 9, 1, 4, False),  # behind: the rest
        (9, 9, 1, 9, False),  # current: nothing
        (10, 9, 1, 0, True),  # ahead by one
        (10**9, 9, 1, 0, True),  # from the future
        (1, 0, 1, 0, True),  # the log was emptied
        (-1, 9, 1, 0, True),  # nonsense
        (5, 9, 6, 5, False),  # the next one is the oldest kept
        (4, 9, 6, 5, True),  # far behind: what it needs is gone
        (0, 9, 6, 5, True),
        (9, 9, 6, 9, False),
        (12, 9, 6, 5, True),
    ],
)
def test_resume(client: int, head: int, first: int, after: int, reset: bool) -> None:
    decided = resume(client, head_seq=head, first_retained_seq=first)
    assert decided == Resume(after_seq=after, reset=reset)


@given(st.integers(-5, 30), st.integers(0, 20), st.integers(1, 20))
def test_a_client_ends_with_everything_that_is_kept(client: int, head: int, first: int) -> None:
    first = min(first, head + 1)
    decided = resume(client, head_seq=head, first_retained_seq=first)
    had = set() if decided.reset else set(range(1, client + 1))
    got = set(range(decided.after_seq + 1, head + 1))
    assert had | got >= set(range(first, head + 1))
    assert not had & got
    assert max(had | got, default=0) <= head

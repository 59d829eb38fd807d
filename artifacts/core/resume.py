"""Where a reconnecting client's replay starts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Resume:
    """Replay what comes after `after_seq`; with `reset`, the client first forgets what it has."""

    after_seq: int
    reset: bool


def resume(client_seq: int, *, head_seq: int, first_retained_seq: int = 1) -> Resume:
    """Decide a replay for a client that has seen everything up to `client_seq`.

    A client that has seen more than the log holds, or whose next event is no longer kept, must
    reset and gets everything kept.
    """
    if first_retained_seq - 1 <= client_seq <= head_seq:
        return Resume(after_seq=client_seq, reset=False)
    return Resume(after_seq=first_retained_seq - 1, reset=True)

"""Writers of one process get their turn in the order they came."""

from __future__ import annotations

import threading

import pytest

from artifacts.store.waiting_line import WaitingLine

pytestmark = pytest.mark.once

LIMIT = 60.0


def test_turns_are_given_in_the_order_of_coming() -> None:
    line, order = WaitingLine(), list[int]()
    with line.turn(LIMIT):
        threads = [_comes(line, order, number) for number in range(6)]
    for thread in threads:
        thread.join(LIMIT)
    assert order == list(range(6))


def test_the_block_is_done_by_one_at_a_time() -> None:
    line, inside, most = WaitingLine(), list[int](), list[int]()

    def work(number: int) -> None:
        for _ in range(50):
            with line.turn(LIMIT):
                inside.append(number)
                most.append(len(inside))
                inside.remove(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    assert most == [1] * 400


def test_who_waits_in_vain_leaves_the_line_to_others() -> None:
    line, order = WaitingLine(), list[int]()
    with line.turn(LIMIT):
        with pytest.raises(TimeoutError), line.turn(0.01):
            pass
        after = _comes(line, order, 1)
    after.join(LIMIT)
    assert order == [1]


def test_a_block_that_raises_passes_the_turn_on() -> None:
    line = WaitingLine()
    with pytest.raises(ZeroDivisionError), line.turn(LIMIT):
        raise ZeroDivisionError
    with line.turn(0.01):
        pass


def _comes(line: WaitingLine, order: list[int], number: int) -> threading.Thread:
    """Start a thread and return once it stands in the line."""

    def work() -> None:
        with line.turn(LIMIT):
            order.append(number)

    before = len(line)
    thread = threading.Thread(target=work)
    thread.start()
    while len(line) == before:
        thread.join(0.001)
    return thread

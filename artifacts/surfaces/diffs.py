"""Two versions of a text as a readable diff, in bounded time whatever the texts are.

Lines that occur once in both texts are matched first, what lies between them by
`SequenceMatcher` within a budget; inside changed lines words are compared, bounded too. Past a
limit the result says so instead of trying: `difflib.HtmlDiff` and `ndiff` never come to an end on
long lines.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice
from typing import Literal

# Both texts together; a longer pair is offered whole.
MOST_CHARS = 400_000
# Lines of one diff, context included.
MOST_LINES = 1_200
# A line is shown up to here.
LINE_CHARS = 2_000
# What matching up all the parts between anchors may cost, as the sum of n * m * min(n, m).
MATCH_BUDGET = 20_000_000
# Pairs of changed lines whose words are compared, and the words of such a pair, multiplied.
WORD_PAIRS = 200
WORD_CELLS = 40_000
# Below this part of common words, marking the others helps nobody.
ALIKE = 0.35
CONTEXT = 3

WORD = re.compile(r"\w+|[^\S\n]+|[^\w\s]|\s")

LineKind = Literal["same", "removed", "added", "skipped"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a line; `is_changed` where the other side reads differently."""

    text: str
    is_changed: bool = False


Pieces = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a diff with its number on either side; a skipped one stands for `count` lines."""

    kind: LineKind
    pieces: Pieces = ()
    old: int | None = None
    new: int | None = None
    count: int = 0


@dataclass(frozen=True, slots=True)
class TextDiff:
    """What differs. `limit` says why something is left out, None where all is there."""

    lines: tuple[Line, ...] = ()
    removed: int = 0
    added: int = 0
    limit: str | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.removed or self.added or self.limit)


def text_diff(old: str, new: str, *, context: int = CONTEXT) -> TextDiff:
    """The diff from `old` to `new`, with some unchanged lines around each change."""
    if len(old) + len(new) > MOST_CHARS:
        return TextDiff(limit=f"The two texts have more than {MOST_CHARS:,} characters.")
    # Not splitlines(): a last line that lost its line end differs, and U+2028 ends no line here.
    before = old.split("\n") if old else []
    after = new.split("\n") if new else []
    blocks = _blocks(before, after)
    # One more than is shown tells whether there is more; the rest is never made.
    lines = _shown(_with_words(before, after, blocks), context=context)
    first = tuple(islice(lines, MOST_LINES + 1))
    is_cut = len(first) > MOST_LINES
    limit = f"Only the first {MOST_LINES:,} lines of this diff are shown." if is_cut else None
    return TextDiff(
        lines=first[:MOST_LINES],
        removed=sum(b.i2 - b.i1 for b in blocks if not b.is_same),
        added=sum(b.j2 - b.j1 for b in blocks if not b.is_same),
        limit=limit,
    )


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines i1…i2 of the old text against j1…j2 of the new one."""

    is_same: bool
    i1: int
    i2: int
    j1: int
    j2: int


def _blocks(before: Sequence[str], after: Sequence[str]) -> list[_Block]:
    budget = [MATCH_BUDGET]
    found: list[_Block] = []
    i = j = 0
    for anchor_i, anchor_j in [*_anchors(before, after), (len(before), len(after))]:
        found.extend(_between(before, after, i, anchor_i, j, anchor_j, budget))
        if anchor_i < len(before):
            found.append(_Block(True, anchor_i, anchor_i + 1, anchor_j, anchor_j + 1))
        i, j = anchor_i + 1, anchor_j + 1
    return list(_joined(found))


def _anchors(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int]]:
    """Lines that stand once in each text, as far as they keep their order (patience diff)."""
    once_before, once_after = Counter(before), Counter(after)
    place = {line: j for j, line in enumerate(after) if once_after[line] == 1}
    pairs = [
        (i, place[line])
        for i, line in enumerate(before)
        if once_before[line] == 1 and line in place
    ]
    return _longest_rising(pairs)


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    tails: list[int] = []
    ends: list[int] = []
    previous: list[int] = []
    for index, (_, j) in enumerate(pairs):
        at = bisect_left(tails, j)
        previous.append(ends[at - 1] if at else -1)
        tails[at : at + 1] = [j]
        ends[at : at + 1] = [index]
    chain: list[tuple[int, int]] = []
    index = ends[-1] if ends else -1
    while index >= 0:
        chain.append(pairs[index])
        index = previous[index]
    return chain[::-1]


def _between(
    before: Sequence[str],
    after: Sequence[str],
    i1: int,
    i2: int,
    j1: int,
    j2: int,
    budget: list[int],
) -> Iterator[_Block]:
    """The part between two anchors: common lines at its ends, then a match if it can be paid."""
    head = 0
    while i1 + head < i2 and j1 + head < j2 and before[i1 + head] == after[j1 + head]:
        head += 1
    tail = 0
    while (
        i1 + head < i2 - tail
        and j1 + head < j2 - tail
        and before[i2 - 1 - tail] == after[j2 - 1 - tail]
    ):
        tail += 1
    if head:
        yield _Block(True, i1, i1 + head, j1, j1 + head)
    yield from _matched(before, after, i1 + head, i2 - tail, j1 + head, j2 - tail, budget)
    if tail:
        yield _Block(True, i2 - tail, i2, j2 - tail, j2)


def _matched(
    before: Sequence[str],
    after: Sequence[str],
    i1: int,
    i2: int,
    j1: int,
    j2: int,
    budget: list[int],
) -> Iterator[_Block]:
    n, m = i2 - i1, j2 - j1
    cost = n * m * min(n, m)
    if not cost or cost > budget[0]:
        if n or m:
            yield _Block(False, i1, i2, j1, j2)
        return
    budget[0] -= cost
    matcher = SequenceMatcher(None, before[i1:i2], after[j1:j2], autojunk=False)
    for tag, a1, a2, b1, b2 in matcher.get_opcodes():
        yield _Block(tag == "equal", i1 + a1, i1 + a2, j1 + b1, j1 + b2)


def _joined(blocks: Iterable[_Block]) -> Iterator[_Block]:
    """Neighbours of one sort as one block."""
    last: _Block | None = None
    for block in blocks:
        if last is not None and last.is_same == block.is_same:
            last = _Block(last.is_same, last.i1, block.i2, last.j1, block.j2)
            continue
        if last is not None:
            yield last
        last = block
    if last is not None:
        yield last


def _with_words(
    before: Sequence[str], after: Sequence[str], blocks: Iterable[_Block]
) -> Iterator[Line]:
    pairs = WORD_PAIRS
    for block in blocks:
        if block.is_same:
            for i, j in zip(range(block.i1, block.i2), range(block.j1, block.j2), strict=True):
                yield Line("same", _cut((Piece(before[i]),)), old=i + 1, new=j + 1)
            continue
        removed: list[Pieces] = [(Piece(line),) for line in before[block.i1 : block.i2]]
        added: list[Pieces] = [(Piece(line),) for line in after[block.j1 : block.j2]]
        for index in range(min(len(removed), len(added), pairs)):
            removed[index], added[index] = _words(removed[index][0].text, added[index][0].text)
            pairs -= 1
        for index, pieces in enumerate(removed):
            yield Line("removed", _cut(pieces), old=block.i1 + index + 1)
        for index, pieces in enumerate(added):
            yield Line("added", _cut(pieces), new=block.j1 + index + 1)


def _words(old: str, new: str) -> tuple[Pieces, Pieces]:
    """Both lines in pieces, those that differ marked, if the lines have enough in common."""
    whole = (Piece(old),), (Piece(new),)
    if len(old) > LINE_CHARS or len(new) > LINE_CHARS:
        return whole
    a, b = WORD.findall(old), WORD.findall(new)
    if len(a) * len(b) > WORD_CELLS:
        return whole
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    opcodes = matcher.get_opcodes()
    common = sum(len("".join(a[i1:i2])) for tag, i1, i2, _, _ in opcodes if tag == "equal")
    if common < ALIKE * max(len(old), len(new)):
        return whole
    left = [Piece("".join(a[i1:i2]), tag != "equal") for tag, i1, i2, _, _ in opcodes if i2 > i1]
    right = [Piece("".join(b[j1:j2]), tag != "equal") for tag, _, _, j1, j2 in opcodes if j2 > j1]
    return _bridged(left), _bridged(right)


def _bridged(pieces: Sequence[Piece]) -> Pieces:
    """Words that changed in a row as one mark, with the spaces between them."""
    joined: list[Piece] = []
    for index, piece in enumerate(pieces):
        is_last = index + 1 == len(pieces)
        is_bridge = piece.text.isspace() and joined and joined[-1].is_changed and not is_last
        if joined and joined[-1].is_changed and (piece.is_changed or is_bridge):
            joined[-1] = Piece(joined[-1].text + piece.text, True)
        else:
            joined.append(piece)
    return tuple(joined)


def _cut(pieces: Pieces) -> Pieces:
    if len(pieces) != 1 or len(pieces[0].text) <= LINE_CHARS:
        return pieces
    text = pieces[0].text
    return (Piece(f"{text[:LINE_CHARS]} … ({len(text) - LINE_CHARS:,} more characters)"),)


def _shown(lines: Iterable[Line], *, context: int) -> Iterator[Line]:
    """Changed lines and their neighbours; the rest is counted, not shown."""
    kept: list[Line] = []
    after_change = 0
    for line in lines:
        if line.kind != "same":
            yield from _gap(kept, keep=context)
            kept, after_change = [], context
            yield line
        elif after_change:
            after_change -= 1
            yield line
        else:
            kept.append(line)
    yield from _gap(kept, keep=0)


def _gap(kept: Sequence[Line], *, keep: int) -> Iterator[Line]:
    hidden = len(kept) - keep
    # A line that says "1 line" takes the place of the line itself.
    if hidden <= 1:
        yield from kept
        return
    yield Line("skipped", count=hidden)
    yield from kept[hidden:]

"""Patch bombs: refused by the limit they break, before the work is done."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from artifacts.core.errors import PatchFailed
from artifacts.core.limits import DEFAULT_LIMITS
from artifacts.core.patches import apply_patch
from tests.support.patches import edits, nested, ops, text_of


@pytest.mark.parametrize(
    ("data", "operations", "limit"),
    [
        pytest.param(
            {"a": "x" * 500},
            [{"op": "copy", "from": "", "path": f"/b{n}"} for n in range(30)],
            "artifact_bytes",
            id="copy-doubling",
        ),
        pytest.param(
            {"a": ["x" * 500]},
            [{"op": "copy", "from": "/a", "path": "/a/-"} for _ in range(30)],
            "artifact_bytes",
            id="copy-into-itself",
        ),
        pytest.param(
            {"a": ["x" * 500_000], "b": 0},
            [{"op": "copy", "from": "/a", "path": "/b"}] * 1_000,
            "artifact_bytes",
            id="copy-over-and-over",
        ),
        pytest.param(
            {"a": 0}, [{"op": "replace", "path": "/a", "value": 1}] * 1_001, "patch_ops", id="ops"
        ),
        pytest.param(
            {}, [{"op": "add", "path": "/a" * 65, "value": 1}], "patch_path_parts", id="parts"
        ),
        pytest.param(
            {},
            [{"op": "add", "path": "/" + "a" * 1_024, "value": 1}],
            "patch_path_bytes",
            id="path",
        ),
        pytest.param(
            {}, [{"op": "move", "from": "/a" * 10_000, "path": "/a"}], "patch_path_bytes", id="from"
        ),
        pytest.param(
            [], [{"op": "add", "path": "/" + "9" * 999, "value": 1}], "beyond the end", id="index"
        ),
        pytest.param(
            {"a": "x" * 600_000},
            [{"op": "add", "path": "/b", "value": "x" * 600_000}],
            "artifact_bytes",
            id="result",
        ),
        pytest.param(
            {}, [{"op": "add", "path": "/a", "value": nested(32)}], "depth", id="deep-value"
        ),
        pytest.param(
            {"a": nested(31), "b": {}},
            [{"op": "copy", "from": "/a", "path": "/b/c"}],
            "depth",
            id="deep-copy",
        ),
        pytest.param(
            {"a": nested(31), "b": {}},
            [{"op": "move", "from": "/a", "path": "/b/c"}],
            "depth",
            id="deep-move",
        ),
        pytest.param(
            {"a": [0] * 40_000},
            [{"op": "copy", "from": "/a", "path": "/b"}],
            "json_nodes",
            id="nodes",
        ),
    ],
)
def test_bomb_is_refused_by_the_limit_it_breaks(
    data: Any, operations: list[Any], limit: str
) -> None:
    untouched = text_of(data)

    with pytest.raises(PatchFailed, match=limit):
        apply_patch(data, ops(*operations))
    assert text_of(data) == untouched


def test_copies_are_refused_before_they_are_made() -> None:
    doubling = ops(*[{"op": "copy", "from": "", "path": f"/b{n}"} for n in range(60)])

    # Sixty doublings would be 500 exabytes: only stopping early ends at all.
    with pytest.raises(PatchFailed, match=r"ops\[10\] \(copy\)"):
        apply_patch({"a": "x" * 500}, doubling)


def test_text_edits_have_limits_of_their_own() -> None:
    with pytest.raises(PatchFailed, match="text_edits"):
        apply_patch({"text": "a"}, edits(*[("a", "a")] * 201))
    with pytest.raises(PatchFailed, match="artifact_bytes"):
        apply_patch({"text": "a"}, edits(("a", "b" * DEFAULT_LIMITS.artifact_bytes)))


def test_limits_are_those_passed_in() -> None:
    patch = ops({"op": "add", "path": "/a", "value": "0123456789"})

    assert apply_patch({}, patch, limits=replace(DEFAULT_LIMITS, artifact_bytes=18))
    with pytest.raises(PatchFailed, match="larger than 17 bytes"):
        apply_patch({}, patch, limits=replace(DEFAULT_LIMITS, artifact_bytes=17))

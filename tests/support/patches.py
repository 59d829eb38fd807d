"""JSON values, and the patches over them, that tests of patches are made of."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from artifacts.core.patches import JsonPatch, TextEdit, TextEdits

NAMES = st.sampled_from(["", "a", "b", "~", "/", "~1", "0", "1", "-", "\u00e9"])
SCALARS = st.sampled_from([None, True, False, 0, 1, -1, 0.0, -0.0, 1.0, 2**53 + 1, "", "a", "1"])
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=6) | st.dictionaries(NAMES, inner, max_size=5)
)


PATHS = st.lists(st.sampled_from(["a", "b", "0", "1", "-", ""]), max_size=3).map(
    lambda parts: "".join(f"/{part}" for part in parts)
)
OPERATIONS = st.one_of(
    st.fixed_dictionaries(
        {"op": st.sampled_from(["add", "replace", "test"]), "path": PATHS, "value": JSON}
    ),
    st.fixed_dictionaries({"op": st.just("remove"), "path": PATHS}),
    st.fixed_dictionaries({"op": st.sampled_from(["move", "copy"]), "from": PATHS, "path": PATHS}),
)


def ops(*operations: dict[str, Any]) -> JsonPatch:
    return JsonPatch.model_validate({"ops": operations})


def edits(*pairs: tuple[str, str], field: str = "text") -> TextEdits:
    return TextEdits(field=field, edits=tuple(TextEdit(old=old, new=new) for old, new in pairs))


def text_of(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def nested(levels: int, innermost: Any = 0) -> Any:
    value = innermost
    for _ in range(levels):
        value = [value]
    return value

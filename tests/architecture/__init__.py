"""House rules that no linter has; each failure says what to do instead."""

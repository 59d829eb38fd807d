"""The rules, one module per family. Each command or fact has a `needs_…` and a rule function.

Read `case` first, then `artifacts`, `proposals`, `groups`, `threads`, `runs`, `feedback`.
"""

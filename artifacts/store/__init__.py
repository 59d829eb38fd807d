"""PRIVATE: the one writer of workspaces. Only `artifacts.workspace` may import it.

Read `commit` first, then `transaction`, `load`, `save` and `log`; `database` holds what the two
databases spell differently.
"""

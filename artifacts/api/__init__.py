"""REST of the foundation: workspaces, artifacts, proposals, the log and commands."""

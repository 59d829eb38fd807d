"""The doors of this app: what surfaces, tasks and the agent layer call."""

"""The demo: a document and a plan that a person and an agent write together."""

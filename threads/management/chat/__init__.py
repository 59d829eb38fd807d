"""A thread in a terminal: what it shows, what a person may type, and how they meet."""

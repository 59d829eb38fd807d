"""Found by name when the project starts."""

from artifacts.core import MarkdownArtifact


class Note(MarkdownArtifact):
    write_policy = "propose"

"""A source that answers."""

from behaved_sources import Source, spec

COLLECTOR = spec("healthy", "Healthy")


class Healthy(Source):
    """Answers at once."""

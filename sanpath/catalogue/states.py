"""States that devices report of their components."""

from __future__ import annotations

WORKING_STATES = frozenset({"ok", "healthy", "ready", "identifying"})
"""States of a component that works; one that identifies itself only blinks, so that a person finds it."""

"""Follows the updates of a running test, which Iometer 1.1.0 writes next to its results."""

from __future__ import annotations

from sanpath.plugin import FollowedFile
from sanpath_collectors.iometer.reader import IometerReader


class UpdatesReader(IometerReader):
    """Recognises only the file of updates, as the results contain a test only after its end."""

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """Whether a file contains updates: by its name before the first test, later by its header line."""
        return super().recognises(head, name) and (name.startswith("inst") or b"\nTimeStamp," in head)


class IometerUpdates(FollowedFile):
    """`inst<name of the results>`, written with "Record last update results" on the page Results Display."""

    reader = UpdatesReader

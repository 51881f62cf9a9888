"""Follows the updates of a running test, which Iometer 1.1.0 writes beside its results."""

from __future__ import annotations

from sanpath.plugin import FollowedFile
from sanpath_collectors.iometer.reader import IometerReader


class UpdatesReader(IometerReader):
    """Only the file of updates can be followed: a test stands in the results when it is over."""

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:
        """By its name, while no test has begun, or by its header line."""
        return super().recognises(head, name) and (name.startswith("inst") or b"\nTimeStamp," in head)


class IometerUpdates(FollowedFile):
    """`inst<name of the results>`, written with "Record last update results" on the page Results Display."""

    reader = UpdatesReader

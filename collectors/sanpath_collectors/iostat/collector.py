"""Follows the file of a running iostat."""

from __future__ import annotations

from sanpath.plugin import FollowedFile
from sanpath_collectors.iostat.reader import IostatResult


class Iostat(FollowedFile):
    """Reads the block devices of the host on which iostat runs."""

    reader = IostatResult

"""Follows the file that a running iostat writes."""

from __future__ import annotations

from sanpath.plugin import FollowedFile
from sanpath_collectors.iostat.reader import IostatResult


class Iostat(FollowedFile):
    """The block devices of the host that iostat runs on."""

    reader = IostatResult

"""Follows the flatfile.html that another vdbench process on this machine is writing."""

from __future__ import annotations

from sanpath.plugin import FollowedFile
from sanpath_collectors.vdbench.reports.flatfile import FlatfileReader


class Vdbench(FollowedFile):
    """A running vdbench: it flushes flatfile.html line by line, its other reports only when a run has ended."""

    reader = FlatfileReader

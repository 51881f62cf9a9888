"""vdbench as a load that sanpath starts: its command has to print flatfile.html at the end."""

from __future__ import annotations

from sanpath.plugin import PrintedResult
from sanpath_collectors.vdbench.reports.flatfile import FlatfileReader


class VdbenchLoad(PrintedResult):
    """Reads flatfile.html from the output of a command such as that of `sanpath sweep`."""

    reader = FlatfileReader
    name = "vdbench"

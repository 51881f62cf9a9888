"""DiskSpd as a load that sanpath starts."""

from __future__ import annotations

from collections.abc import Sequence

from sanpath.plugin import PrintedResult, WrappedCommand
from sanpath_collectors.diskspd.reader import DiskSpdResult


class DiskSpdLoad(PrintedResult):
    """Adds the options with which DiskSpd prints latencies and XML."""

    reader = DiskSpdResult
    name = "diskspd"

    @classmethod
    def wrap(cls, argv: Sequence[str]) -> WrappedCommand:
        """Add -L and -Rxml, unless such an option is given. DiskSpd for Linux has no -R."""
        options = [("-L", "-L"), *([("-Rxml", "-R")] if argv[0].lower().endswith(".exe") else [])]
        added = [option for option, start in options if not _has_option(argv, start)]
        return WrappedCommand((argv[0], *added, *argv[1:]))


def _has_option(argv: Sequence[str], start: str) -> bool:
    return any(argument[:1] in "-/" and argument[1:].startswith(start[1:]) for argument in argv[1:])

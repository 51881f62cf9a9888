"""parmfile.html: the configuration of the runs."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sanpath.plugin import CollectorError, Failure, Item, Lines, ResultReader, SourceEntity, SourceLink, warning
from sanpath_collectors.vdbench import machines
from sanpath_collectors.vdbench.parameters import Parameters
from sanpath_collectors.vdbench.run_header import ENGINE, local_id

_TITLE = re.compile(rb"^\* Contents of parameter file:", re.MULTILINE)


class ParmfileReader(ResultReader):
    """Reads one parmfile.html: no samples, only the loads with their settings, machines and block devices."""

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._lines, self._parameters = Lines(), Parameters()

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:  # noqa: ARG003 - its first remark is enough
        """Recognise it by the remark that vdbench writes before every file of parameters."""
        return _TITLE.search(head) is not None

    def feed(self, added: bytes) -> Iterable[Item]:
        """Yield nothing before the end of the file: early statements refer to later ones."""
        for line in self._lines.feed(added):
            self._parameters.add(line)
        return ()

    def finish(self) -> Iterable[Item]:
        """Yield the loads of all runs. Raises CollectorError: there is no run definition."""
        self._parameters.add(self._lines.last_line())
        plans = self._parameters.plans()
        if not plans:
            raise CollectorError(Failure.UNREADABLE, "parmfile.html has no run definition (rd=): it was cut")
        yield SourceEntity("load", self.load, self.load, {"name": (self.load,)}, ENGINE)
        if self._parameters.included:
            text = "it includes other files (include=): their contents are not known"
            yield warning(0, "included-files", text)
        loads = {run: local_id(self.load, run, 1) for run in plans}
        for run, plan in plans.items():
            load_id = loads[run]
            yield SourceEntity(
                "load", load_id, load_id, {"name": (load_id,)}, plan.settings.attributes(plan.in_flight)
            )
            yield SourceLink("member_of", ("load", load_id), ("load", self.load), f"rd={run} in parmfile.html")
        yield from machines.machine_items(self.load, {loads[run]: plan.machines for run, plan in plans.items()})

"""The base of collectors that read one Linux machine."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeVar

from sanpath.plugin import Collector, Context, Machine
from sanpath_collectors.linux_host.config import MachineConfig

M = TypeVar("M", bound=MachineConfig)


class MachineCollector(Collector[M]):
    """A collector with one connection: to this machine, or to one over SSH."""

    runs_in: ClassVar[Literal["loop", "thread"]] = "thread"

    def __init__(self, config: M) -> None:
        super().__init__(config)
        self._machine: Machine | None = None

    @property
    def machine(self) -> Machine:
        """The connection. Raises UNREACHABLE if the source is not open."""
        return self.opened(self._machine)

    async def connect(self, ctx: Context) -> None:
        """Log in, again if the source is open."""
        await self.close()
        self._machine = ctx.machine(self.config.ssh())

    async def close(self) -> None:
        """Log out."""
        machine, self._machine = self._machine, None
        if machine is not None:
            await machine.close()

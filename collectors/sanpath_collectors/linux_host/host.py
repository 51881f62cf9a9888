"""A host that answers: its files as snapshots, and the programs that know its clock, its addresses and its maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sanpath.plugin import CommandReply, Machine
from sanpath_collectors.linux_host import multipath, parse
from sanpath_collectors.linux_host.multipath import Maps
from sanpath_collectors.linux_host.snapshot import Snapshot

_DATE = ("date", "+%s.%N")
_ADDRESSES = ("ip", "-o", "address")
_TABLE = ("dmsetup", "table", "--target", "multipath")
_STATUS = ("dmsetup", "status", "--noflush", "--target", "multipath")
_MAPS = ("multipathd", "show", "maps", "json")


class Host:
    """One host while it is logged in to. `sudo`: how dmsetup and multipathd are to be run.

    `refused`: why neither of them has told of the maps, a program each.
    """

    def __init__(self, machine: Machine, sudo: bool) -> None:
        self._machine, self._sudo = machine, sudo
        self._mapped_by: Sequence[str] | None = None
        self.refused: tuple[str, ...] = ()

    async def snapshot(self, patterns: Sequence[str], names: Sequence[str] = ()) -> Snapshot:
        """Files by their content, and `names` of which it is enough that they are there."""
        return Snapshot(await self._machine.read(patterns), await self._machine.names(names) if names else ())

    async def date_us(self) -> int | None:
        """Its clock, microseconds since the epoch; None without a `date`."""
        return parse.date_us((await self._machine.run(_DATE)).output)

    async def addresses(self) -> dict[str, list[str]]:
        """Network interface → IP addresses; {} without an `ip`."""
        return parse.addresses((await self._machine.run(_ADDRESSES)).output)

    async def maps(self) -> Maps:
        """The multipath maps, by the first program that this account may run; {} when it may run none."""
        self._mapped_by, self.refused = None, ()
        table = await self._run(_TABLE)
        status = await self._run(_STATUS) if table.exit_code == 0 else table
        if status.exit_code == 0 and (maps := multipath.of_dmsetup(_text(table), _text(status))):
            self._mapped_by = _STATUS
            return maps
        daemon = await self._run(_MAPS)
        if daemon.exit_code == 0 and (told := multipath.of_multipathd(_text(daemon))):
            self._mapped_by = _MAPS
            return told
        self.refused = (f"dmsetup: {_complaint(status)}", f"multipathd: {_complaint(daemon)}")
        return {}

    async def path_states(self) -> Mapping[str, str]:
        """Device number → what its multipath map thinks of the path; {} when nobody told of the maps."""
        if self._mapped_by is None:
            return {}
        written = _text(await self._run(self._mapped_by))
        if self._mapped_by is _STATUS:
            return multipath.states_of_dmsetup(written)
        return multipath.path_states(multipath.of_multipathd(written) or {})

    async def close(self) -> None:
        """Log out."""
        await self._machine.close()

    async def _run(self, command: Sequence[str]) -> CommandReply:
        return await self._machine.run(["sudo", "-n", *command] if self._sudo else command)


def _text(reply: CommandReply) -> str:
    return reply.output.decode("utf-8", "replace")


def _complaint(reply: CommandReply) -> str:
    """The first line that a program wrote when it failed."""
    written = (reply.errors or reply.output).decode("utf-8", "replace")
    lines = [line.strip() for line in written.splitlines() if line.strip()]
    return lines[0] if lines else f"exit code {reply.exit_code}"

"""A connected host: its files as snapshots, and the programs that report its clock, addresses and multipath maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sanpath.plugin import CommandReply, Machine
from sanpath_collectors.linux_host import multipath, parse
from sanpath_collectors.linux_host.multipath import Maps
from sanpath_collectors.linux_host.snapshot import Snapshot

_DATE = ("date", "+%s.%N")
_ADDRESSES = ("ip", "-o", "address")
_DMSETUP_TABLE = ("dmsetup", "table", "--target", "multipath")
_DMSETUP_STATUS = ("dmsetup", "status", "--noflush", "--target", "multipath")
_MULTIPATHD_MAPS = ("multipathd", "show", "maps", "json")


class Host:
    """A connection to one host. `sudo`: dmsetup and multipathd are run with sudo.

    `refused`: reasons why no program could report the maps, one per program.
    """

    def __init__(self, machine: Machine, sudo: bool) -> None:
        self._machine, self._sudo = machine, sudo
        self._maps_command: Sequence[str] | None = None
        self.refused: tuple[str, ...] = ()

    async def snapshot(self, patterns: Sequence[str], names: Sequence[str] = ()) -> Snapshot:
        """Read the files that match `patterns`, and the existence of paths that match `names`."""
        return Snapshot(await self._machine.read(patterns), await self._machine.names(names) if names else ())

    async def date_us(self) -> int | None:
        """The host's clock, microseconds since the epoch; None without a `date` command."""
        return parse.date_us((await self._machine.run(_DATE)).output)

    async def addresses(self) -> dict[str, list[str]]:
        """Network interface → IP addresses; {} without an `ip` command."""
        return parse.addresses((await self._machine.run(_ADDRESSES)).output)

    async def maps(self) -> Maps:
        """The multipath maps, from the first program that this account may run; {} if it may run none."""
        self._maps_command, self.refused = None, ()
        table = await self._run(_DMSETUP_TABLE)
        status = await self._run(_DMSETUP_STATUS) if table.exit_code == 0 else table
        if status.exit_code == 0 and (maps := multipath.parse_dmsetup(_text(table), _text(status))):
            self._maps_command = _DMSETUP_STATUS
            return maps
        daemon = await self._run(_MULTIPATHD_MAPS)
        if daemon.exit_code == 0 and (daemon_maps := multipath.parse_multipathd(_text(daemon))):
            self._maps_command = _MULTIPATHD_MAPS
            return daemon_maps
        self.refused = (f"dmsetup: {_error_line(status)}", f"multipathd: {_error_line(daemon)}")
        return {}

    async def path_states(self) -> Mapping[str, str]:
        """Device number → state of the path in its multipath map; {} if the maps could not be read."""
        if self._maps_command is None:
            return {}
        output = _text(await self._run(self._maps_command))
        if self._maps_command is _DMSETUP_STATUS:
            return multipath.parse_dmsetup_states(output)
        return multipath.path_states(multipath.parse_multipathd(output) or {})

    @property
    def machine(self) -> Machine:
        """The connection itself."""
        return self._machine

    async def close(self) -> None:
        """Log out."""
        await self._machine.close()

    async def _run(self, command: Sequence[str]) -> CommandReply:
        return await self._machine.run(["sudo", "-n", *command] if self._sudo else command)


def _text(reply: CommandReply) -> str:
    return reply.output.decode("utf-8", "replace")


def _error_line(reply: CommandReply) -> str:
    """The first line of a failed program's output."""
    output = (reply.errors or reply.output).decode("utf-8", "replace")
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[0] if lines else f"exit code {reply.exit_code}"

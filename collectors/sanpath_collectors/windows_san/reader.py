"""Reads an export of a Windows host. It is small: the whole of it is held."""

from __future__ import annotations

from collections.abc import Iterator

from sanpath.plugin import CollectorError, Failure, Item, ResultClock, ResultReader, text_of, warning
from sanpath_collectors.windows_san import mpclaim
from sanpath_collectors.windows_san.inventory import things
from sanpath_collectors.windows_san.parse import MARK, VERSION, Export, export_of
from sanpath_collectors.windows_san.ports import counted

_MOST_BYTES = 64 << 20


class WindowsSan(ResultReader):
    """One export: things, and what Fibre Channel ports have counted where it tells the time of that."""

    clock: ResultClock = "none"

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._content = bytearray()

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:  # noqa: ARG003 - the base class' signature
        """By the mark of the script, the members of the cmdlets' classes, or the words of mpclaim."""
        text = text_of(head)[0].lstrip("\ufeff \t\r\n")
        if text.startswith(("{", "[")):
            return f'"{MARK}"' in text or any(all(f'"{key}"' in text for key in keys) for keys in _MEMBERS)
        first = next((line for line in text.splitlines() if not line.startswith("#TYPE")), "")
        columns = {cell.strip('" ') for cell in first.replace(";", ",").replace("\t", ",").split(",")}
        return mpclaim.is_mpclaim(text) or any(columns >= set(keys) for keys in _MEMBERS)

    def feed(self, added: bytes) -> Iterator[Item]:
        """Keep it. Raises CollectorError(UNREADABLE): it is too long for an inventory."""
        self._content += added
        if len(self._content) > _MOST_BYTES:
            raise CollectorError(Failure.UNREADABLE, "more than 64 MiB: this is no inventory of a host")
        return iter(())

    def finish(self) -> Iterator[Item]:
        """All of it. Raises CollectorError(UNREADABLE) when nothing of it is understood."""
        export = export_of(text_of(bytes(self._content))[0])
        if export.empty and not export.untimed:
            raise CollectorError(
                Failure.UNREADABLE, "no inventory of a Windows host: export it with the script of the README, whole"
            )
        host = (export.computer or self.load).lower()
        rows = list(counted(export, host))
        self.clock = "utc" if rows else "none"
        yield from things(export, host)
        yield from rows
        seen = rows[0].seen[0] if rows else 0
        for code, text in _oddities(export, host):
            yield warning(seen, code, text)


_MEMBERS = (
    ("NodeAddress", "PortAddress", "ConnectionType"),
    ("Number", "UniqueId", "FriendlyName", "BusType"),
    ("DeviceId", "UniqueId", "FriendlyName", "BusType"),
    ("PortWWN", "PortSupportedSpeed"),
    ("NodeWWN", "DriverVersion", "FirmwareVersion"),
    ("PathVerificationState", "PDORemovePeriod"),
)


def _oddities(export: Export, host: str) -> Iterator[tuple[str, str]]:
    if export.computer is None:
        yield (
            "host-unknown",
            f"it does not say of which machine it is: that is called {host} (--name gives another name)",
        )
    if export.version > VERSION:
        yield "newer-script", f"the script is version {export.version}: parts that are new in it are left out"
    if export.untimed:
        yield "no-time", "statistics of ports without their time are left out: use the script of the README"
    if export.unknown:
        yield "unknown-records", f"{export.unknown} records are of no cmdlet that is known here"
    for disk in export.mpio_disks:
        gone = sorted({path.state for path in disk.paths if not path.usable and path.state.lower() != "standby"})
        if gone:
            yield "paths-down", f"MPIO Disk{disk.number} of {host}: there are paths that are {', '.join(gone)}"

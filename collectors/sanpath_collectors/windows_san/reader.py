"""Reads an export of a Windows host. Exports are small, so they are kept in memory."""

from __future__ import annotations

from collections.abc import Iterator

from sanpath.plugin import CollectorError, Failure, Item, ResultClock, ResultReader, text_of, warning
from sanpath_collectors.windows_san import mpclaim
from sanpath_collectors.windows_san.inventory import inventory_items
from sanpath_collectors.windows_san.parse import FORMAT_KEY, VERSION, Export, parse_export
from sanpath_collectors.windows_san.ports import statistics_rows

_MAX_BYTES = 64 << 20
"""Largest size of a file. The inventory of a host is far smaller."""


class WindowsSan(ResultReader):
    """Reads one export: entities, and counters of Fibre Channel ports if they have times."""

    clock: ResultClock = "none"

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._content = bytearray()

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:  # noqa: ARG003 - the base class' signature
        """Recognise it by the key that the script writes, the members of the cmdlets' classes, or mpclaim's lines."""
        text = text_of(head)[0].lstrip("\ufeff \t\r\n")
        if text.startswith(("{", "[")):
            return f'"{FORMAT_KEY}"' in text or any(
                all(f'"{key}"' in text for key in keys) for keys in _CLASS_MEMBERS
            )
        first = next((line for line in text.splitlines() if not line.startswith("#TYPE")), "")
        columns = {cell.strip('" ') for cell in first.replace(";", ",").replace("\t", ",").split(",")}
        return mpclaim.is_mpclaim(text) or any(columns >= set(keys) for keys in _CLASS_MEMBERS)

    def feed(self, added: bytes) -> Iterator[Item]:
        """Store the bytes. Raises CollectorError(UNREADABLE): the file is too large for an inventory."""
        self._content += added
        if len(self._content) > _MAX_BYTES:
            raise CollectorError(Failure.UNREADABLE, "more than 64 MiB: this is not an inventory of a host")
        return iter(())

    def finish(self) -> Iterator[Item]:
        """Yield all items. Raises CollectorError(UNREADABLE): the file has no known records."""
        export = parse_export(text_of(bytes(self._content))[0])
        if export.is_empty and not export.untimed:
            raise CollectorError(
                Failure.UNREADABLE,
                "it is not a complete inventory of a Windows host: export one with the script of the README",
            )
        host = (export.computer or self.host or self.load).lower()
        rows = list(statistics_rows(export, host))
        self.clock = "utc" if rows else "none"
        yield from inventory_items(export, host)
        yield from rows
        seen_us = rows[0].seen[0] if rows else 0
        if export.computer is None and self.host is None:
            text = "it does not contain the name of its machine, which is therefore called"
            yield warning(seen_us, "host-unknown", f"{text} {host} (--host or --name changes that)")
        for code, text in _remarks(export, host):
            yield warning(seen_us, code, text)


_CLASS_MEMBERS = (
    ("NodeAddress", "PortAddress", "ConnectionType"),
    ("Number", "UniqueId", "FriendlyName", "BusType"),
    ("DeviceId", "UniqueId", "FriendlyName", "BusType"),
    ("PortWWN", "PortSupportedSpeed"),
    ("NodeWWN", "DriverVersion", "FirmwareVersion"),
    ("PathVerificationState", "PDORemovePeriod"),
)


def _remarks(export: Export, host: str) -> Iterator[tuple[str, str]]:
    if export.version > VERSION:
        yield "newer-script", f"the script is version {export.version}: parts that are new in it are left out"
    if export.untimed:
        yield "no-time", "statistics of ports without their time are left out: use the script of the README"
    if export.unknown:
        yield "unknown-records", f"{export.unknown} records are of no cmdlet that is known here"
    for disk in export.mpio_disks:
        failed_states = sorted(
            {path.state for path in disk.paths if disk.is_usable(path) is False and not path.is_on_standby}
        )
        if disk.changes:
            text = f"the paths of MPIO Disk{disk.number} of {host} changed {disk.changes} times in the outputs"
            yield "paths-changed", f"{text.replace(' 1 times', ' once')}: the last one is used"
        if failed_states:
            yield (
                "paths-down",
                f"MPIO Disk{disk.number} of {host}: there are paths that are {', '.join(failed_states)}",
            )

"""The things that fio's status tells of, and how they hang together, each once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_address

from sanpath.model import Scalar
from sanpath.plugin import Event, LoadProfile, Rows, SourceEntity, SourceLink, Table, warning
from sanpath_collectors.fio.options import target_addresses, together
from sanpath_collectors.fio.status import JobStatus, Number, Status


class Inventory:
    """Of one load, whose local id is `load`."""

    def __init__(self, load: str) -> None:
        self._load = load
        self._known: set[str | tuple[str, str]] = set()

    def told(self, now: Status, loads: Mapping[str, str]) -> Iterator[SourceEntity | SourceLink]:
        """What is new in a status. `loads`: name of a job → local id of its load."""
        if self._is_new(self._load):
            whole = LoadProfile(engine="fio", engine_version=now.version)
            if len({job.group for job in now.jobs}) == 1:
                whole = together(job.profile for job in now.jobs)
            yield SourceEntity("load", self._load, self._load, {"name": (self._load,)}, whole.attributes)
        for job in now.jobs:
            yield from self._job(job, loads[job.name])
        for disk in now.disks:
            if self._is_new(disk):
                host, _, device = disk.rpartition("/")
                yield SourceEntity("lun", disk, disk, {"device": (device,)})
                yield SourceLink("targets", ("load", self._load), ("lun", disk), "fio disk_util")
                yield from self._on_host("attached_to", ("lun", disk), host)

    def remarks(self, now: Status, loads: Mapping[str, str], seen: int) -> Iterator[Event]:
        """What is to be known of the figures."""
        for job in now.jobs:
            for code, text in job.remarks:
                if self._is_new((loads[job.name], code)):
                    yield warning(seen, code, text)

    def _job(self, job: JobStatus, local_id: str) -> Iterator[SourceEntity | SourceLink]:
        if not self._is_new(local_id):
            return
        attributes: dict[str, Scalar] = dict(job.profile.attributes)
        if not job.mixed:
            attributes |= {name: job.options[name] for name in ("rw", "ioengine") if name in job.options}
        yield SourceEntity("load", local_id, local_id, {"name": (local_id,)}, attributes)
        yield SourceLink("member_of", ("load", local_id), ("load", self._load), "fio job")
        for address in target_addresses(job.options):
            yield SourceLink("targets", ("load", self._load), ("ip", address), f"fio option uri of {job.name}")
        yield from self._on_host("runs_on", ("load", local_id), job.host or "")

    def _on_host(self, relation: str, end: tuple[str, str], host: str) -> Iterator[SourceEntity | SourceLink]:
        if not host or _is_loopback(host):
            return
        if self._is_new(("host", host)):
            yield SourceEntity("host", host, host, {"name": (host,)})
        yield SourceLink(relation, end, ("host", host), "fio --client")

    def _is_new(self, what: str | tuple[str, str]) -> bool:
        new = what not in self._known
        self._known.add(what)
        return new


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def rows(table: Table, told: Sequence[tuple[str, int, Mapping[str, Number]]], device_time: int | None = None) -> Rows:
    """Samples: local id, time in microseconds, metric → value."""
    return Rows(
        table,
        [entity for entity, _, _ in told],
        [seen for _, seen, _ in told],
        {column.metric: [values.get(column.metric) for _, _, values in told] for column in table.columns},
        device_time=[device_time] * len(told) if device_time is not None else None,
    )

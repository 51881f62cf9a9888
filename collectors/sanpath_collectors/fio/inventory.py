"""The entities and links that fio's statuses report, each yielded once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import ip_address

from sanpath.model import Scalar
from sanpath.plugin import Event, LoadProfile, SourceEntity, SourceLink, warning
from sanpath_collectors.fio.jobs.options import combined_profile, named_devices, rbd_image, target_addresses
from sanpath_collectors.fio.jobs.status import JobStatus, Status


class Inventory:
    """Entities and links of one load, whose local id is `load`."""

    def __init__(self, load: str) -> None:
        self._load = load
        self._known: set[str | tuple[str, str]] = set()

    def new_items(self, status: Status, loads: Mapping[str, str]) -> Iterator[SourceEntity | SourceLink]:
        """Yields the entities and links that are new in a status. `loads`: name of a job → local id of its load."""
        if self._is_new(self._load):
            profile = LoadProfile(engine="fio", engine_version=status.version)
            if len({job.stage for job in status.jobs}) == 1:
                profile = combined_profile(job.profile for job in status.jobs)
            yield SourceEntity("load", self._load, self._load, {"name": (self._load,)}, profile.attributes)
        for job in status.jobs:
            yield from self._job_items(job, loads[job.name])
        for disk in status.tested_disks:
            if self._is_new(disk):
                host, _, device = disk.rpartition("/")
                yield SourceEntity("lun", disk, disk, {"device": (device,)})
                yield SourceLink("targets", ("load", self._load), ("lun", disk), "fio disk_util")
                yield from self._host_items("attached_to", ("lun", disk), host)
            for job in status.jobs:
                named = not job.mixed and disk.rpartition("/")[2] in named_devices(job.options)
                if named and self._is_new((loads[job.name], disk)):
                    link = ("load", loads[job.name]), ("lun", disk)
                    yield SourceLink("targets", *link, f"fio option filename of {job.name}")

    def remarks(self, status: Status, loads: Mapping[str, str], seen_us: int) -> Iterator[Event]:
        """Yields the remarks of a status as warnings, each once."""
        for job in status.jobs:
            for code, text in job.remarks:
                if self._is_new((loads[job.name], code)):
                    yield warning(seen_us, code, text)

    def _job_items(self, job: JobStatus, local_id: str) -> Iterator[SourceEntity | SourceLink]:
        if not self._is_new(local_id):
            return
        attributes: dict[str, Scalar] = dict(job.profile.attributes)
        if not job.mixed:
            attributes |= {name: job.options[name] for name in ("rw", "ioengine") if name in job.options}
        yield SourceEntity("load", local_id, local_id, {"name": (local_id,)}, attributes)
        yield SourceLink("member_of", ("load", local_id), ("load", self._load), "fio job")
        for address in target_addresses(job.options):
            yield SourceLink("targets", ("load", self._load), ("ip", address), f"fio option uri of {job.name}")
        if image := rbd_image(job.options):
            evidence = f"fio options pool and rbdname of {job.name}"
            yield SourceLink("targets", ("load", self._load), ("serial", f"rbd:{image}"), evidence)
        yield from self._host_items("runs_on", ("load", local_id), job.host or "")

    def _host_items(self, relation: str, end: tuple[str, str], host: str) -> Iterator[SourceEntity | SourceLink]:
        if not host or _is_loopback(host):
            return
        if self._is_new(("host", host)):
            yield SourceEntity("host", host, host, {"name": (host,)})
        yield SourceLink(relation, end, ("host", host), "fio --client")

    def _is_new(self, key: str | tuple[str, str]) -> bool:
        is_new = key not in self._known
        self._known.add(key)
        return is_new


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

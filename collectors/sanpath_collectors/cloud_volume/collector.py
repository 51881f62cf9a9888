"""Polls the volumes of a cloud instance: /proc/diskstats, and the log page of each Amazon volume."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from sanpath.plugin import (
    Check,
    CloudLimit,
    CollectorError,
    CommandReply,
    Context,
    Failure,
    Item,
    Rows,
    SourceEntity,
    SourceLink,
    name_list,
    quantity,
)
from sanpath_collectors.cloud_volume import parse
from sanpath_collectors.cloud_volume.config import CloudVolumeConfig
from sanpath_collectors.cloud_volume.inventory import FILES, Inventory, Volume
from sanpath_collectors.cloud_volume.tables import LOG_PAGE, VOLUME
from sanpath_collectors.linux_host import parse as host_parse
from sanpath_collectors.linux_host.machine_collector import MachineCollector
from sanpath_collectors.linux_host.snapshot import Snapshot
from sanpath_collectors.linux_target.tables import DISKSTATS

_DISKSTATS = "/proc/diskstats"
_THROUGHPUT = tuple(metric for metric in DISKSTATS if metric.startswith(("ops_", "bytes_")))
"""Metrics of a volume without a log page. Latency is missing: the kernel's includes the host's time."""
_SECTOR_BYTES = 512
_PAGE_IDS = {"ebs": (parse.EBS,), "instance_store": (parse.INSTANCE_STORE, parse.EBS)}
"""Kind of a volume → possible ids of its page, likeliest first: nvme-cli uses 0xD0 for both kinds."""

Values = dict[str, int | None]


class CloudVolume(MachineCollector[CloudVolumeConfig]):
    """The volumes of a cloud instance, this machine or one over SSH."""

    def __init__(self, config: CloudVolumeConfig) -> None:
        super().__init__(config)
        self._inventory: Inventory | None = None
        self._page_ids: dict[str, int] = {}
        self._by_kernel: set[str] = set()

    async def open(self, ctx: Context) -> None:
        """Log in. Raises MISCONFIGURED for a machine without readable volumes."""
        await self.connect(ctx)
        async with self.closed_on_failure():
            if not (await self._read_inventory()).volumes:
                machine = self.config.address or "this machine"
                message = f"{machine} has no Amazon NVMe volume, and none of the configured volumes"
                raise CollectorError(Failure.MISCONFIGURED, message)

    async def check(self, ctx: Context) -> Check:  # noqa: ARG002 - the base class' signature
        """Return the instance, its type, its number of volumes, and what is unknown about them."""
        current = await self._read_inventory()
        reasons = {volume.device: await self._unreadable_reason(volume) for volume in current.volumes}
        by_type = [volume for volume in current.volumes if volume.kind == "configured" or reasons[volume.device]]
        unreadable = [f"{device}: {why}" for device, why in reasons.items() if why]
        if missing := sorted(self.config.volumes.keys() - reasons.keys()):
            unreadable.append(f"{name_list(missing)}: the instance has no such device")
        if by_type and current.limits() == CloudLimit():
            what = current.instance_type or "the instance, whose type is not known"
            unreadable.append(f"{what}: no limit of all its volumes together is known")
        if unlimited := [v.device for v in by_type if current.volume_limit(v) == CloudLimit()]:
            unreadable.append(
                f"{name_list(unlimited)}: no limit is known: configure type, or provisioned IOPS and throughput"
            )
        cloud = current.cloud.name if current.cloud is not None else "no known cloud"
        what = f"{current.instance_type or 'instance'}, {quantity(len(reasons), 'volume')}, {cloud}"
        return Check(f"{current.host}: {what}", None, tuple(unreadable))

    async def inventory(self, ctx: Context) -> AsyncIterator[SourceEntity | SourceLink]:  # noqa: ARG002 - the base class' signature
        """Yield the instance and its volumes."""
        self._inventory = await self._read_inventory()
        for item in self._inventory.items():
            yield item

    async def poll(self, ctx: Context) -> AsyncIterator[Item]:
        """Yield the counters of the volumes: those of the log page, or else the kernel's."""
        if self._inventory is None:
            return
        rows: dict[str, tuple[int, Values]] = {}
        counted: dict[str, list[int]] | None = None
        for volume in self._inventory.volumes:
            values = await self._page_counters(volume)
            if values is None and volume.device not in self._page_ids:
                if counted is None:
                    content = (await self.machine.read([_DISKSTATS])).get(_DISKSTATS, b"")
                    counted = host_parse.diskstats(content)
                values = _throughput(counted[volume.device]) if volume.device in counted else None
            if values is not None:
                rows[volume.local_id] = ctx.clock.now_us(), values
        if rows:
            columns = {metric: [values.get(metric) for _, values in rows.values()] for metric in LOG_PAGE.values()}
            yield Rows(VOLUME, entity=list(rows), seen=[seen for seen, _ in rows.values()], values={**columns})

    async def _read_inventory(self) -> Inventory:
        return Inventory(Snapshot(await self.machine.read(FILES)), self.config)

    async def _page_counters(self, volume: Volume) -> Values | None:
        """Counters of a volume's log page. None: it is missing now.

        Page and kernel start counting at different times: a volume keeps the source of its first poll.
        """
        if volume.kind == "configured" or volume.device in self._by_kernel:
            return None
        page = await self._page(volume)
        if not isinstance(page, str):
            return {metric: page.get(name) for name, metric in LOG_PAGE.items()}
        if volume.device not in self._page_ids:
            self._by_kernel.add(volume.device)
        return None

    async def _unreadable_reason(self, volume: Volume) -> str:
        """Why the log page of a volume cannot be read. "": it can, or the volume has none."""
        page = await self._page(volume) if volume.kind != "configured" else ""
        return page if isinstance(page, str) else ""

    async def _page(self, volume: Volume) -> dict[str, int] | str:
        """The log page of a volume, or why it cannot be read."""
        why = ""
        for page_id in (self._page_ids.get(volume.device), *_PAGE_IDS[volume.kind]):
            if page_id is None:
                continue
            reply = await self._get_log(volume.device, page_id)
            if reply.exit_code != 0:
                why = why or reply.errors.decode("utf-8", "replace").strip() or f"nvme ends with {reply.exit_code}"
                continue
            try:
                page = parse.counters(reply.output)
            except CollectorError as error:
                why = why or str(error)
                continue
            self._page_ids[volume.device] = page_id
            return page
        return f"its log page cannot be read: {why}"

    async def _get_log(self, device: str, page_id: int) -> CommandReply:
        command = (
            *(("sudo", "-n") if self.config.sudo else ()),
            *("nvme", "get-log", f"/dev/{device}"),
            *(f"--log-id={page_id:#x}", f"--log-len={parse.PAGE_BYTES}", "--raw-binary"),
        )
        return await self.machine.run(command)


def _throughput(fields: Sequence[int]) -> Values:
    """Operations and bytes of a device from the kernel's counters; bytes are counted in sectors."""
    numbers = {metric: fields[DISKSTATS[metric] - 1] for metric in _THROUGHPUT}
    return {m: n * _SECTOR_BYTES if m.startswith("bytes_") else n for m, n in numbers.items()}

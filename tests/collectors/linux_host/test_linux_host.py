"""Block devices of a recorded and of this machine: rates by hand, joins, and real I/O that is counted."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from sanpath.model import Thing, Tie
from sanpath.plugin import Context, Cost, Rows
from sanpath.topology.identity import Topology, resolve
from sanpath.transport.context import LiveContext
from sanpath.transport.replay import ReplayContext
from sanpath_collectors.linux_block import parse
from sanpath_collectors.linux_block.collector import LinuxBlock
from sanpath_collectors.linux_block.config import LinuxBlockConfig
from sanpath_collectors.linux_block.tables import LUN

ROOT = Path(__file__).parents[3]
RECORDED = ROOT / os.environ.get("SANPATH_RECORDINGS", "../shared/recordings") / "diskstats"
NAA = "naa.624a93706c1b16ce1c034d1c00013918"


class WallClock:
    def now_us(self) -> int:
        return time.time_ns() // 1000


def collector() -> LinuxBlock:
    return LinuxBlock(LinuxBlockConfig(name="here", collector="linux_block"))


async def sample(reader: LinuxBlock, context: Context) -> Rows:
    (rows,) = [item async for item in reader.poll(context)]
    assert isinstance(rows, Rows)
    return rows


def value(rows: Rows, device: str, metric: str) -> float:
    """In the metric's base unit."""
    column = next(column for column in rows.table.columns if column.metric == metric)
    recorded = rows.values[metric][rows.entity.index(device)]
    assert recorded is not None
    return recorded * column.scale


@pytest.mark.skipif(not RECORDED.is_dir(), reason="no recorded /proc/diskstats: set SANPATH_RECORDINGS")
def test_await_and_queue_size_of_a_recorded_second_are_those_computed_by_hand(tmp_path: Path) -> None:
    for number in (1, 2):
        proc = tmp_path / f"{number}.files" / "proc"
        proc.mkdir(parents=True)
        (proc / "diskstats").write_bytes((RECORDED / f"t{number - 1}.txt").read_bytes())
    seconds = 1795143315.704940779 - 1795143314.700752284  # t0.time and t1.time

    async def run() -> tuple[Rows, Rows]:
        context = ReplayContext(WallClock(), tmp_path)
        reader = collector()
        await reader.open(context)
        before = await sample(reader, context)
        context.advance()
        return before, await sample(reader, context)

    before, after = asyncio.run(run())

    def grown(metric: str) -> float:
        return value(after, "vda", metric) - value(before, "vda", metric)

    assert after.entity == ["vda"]  # neither loop nor zram
    assert grown("ops_read_total") == 2_612_802 - 2_560_142
    assert grown("bytes_write_total") == (32_063_688 - 31_697_336) * 512
    # 8,165 ms for 52,660 reads, 3,426 ms for 22,897 writes, 11,590 ms of waiting in 1.004 s
    assert grown("latency_seconds_read_total") / grown("ops_read_total") == pytest.approx(155.05e-6, rel=1e-4)
    assert grown("latency_seconds_write_total") / grown("ops_write_total") == pytest.approx(149.63e-6, rel=1e-4)
    assert grown("in_flight_seconds_total") / seconds == pytest.approx(11.542, rel=1e-4)
    assert value(after, "vda", "in_flight") == 16
    assert grown("busy_seconds_total") / seconds == pytest.approx(0.884, rel=1e-3)


def test_milliseconds_are_32_bits_and_wrap() -> None:
    bits = {column.metric: column.bits for column in LUN.columns}
    assert {bits[m] for m in bits if m.endswith("_seconds_total") or m.startswith("latency")} == {32}
    assert bits["ops_read_total"] == bits["bytes_write_total"] == 64
    assert bits["in_flight"] == 0


@pytest.mark.parametrize(("fields", "last"), [(11, "in_flight_seconds_total"), (15, "latency_seconds_discard_total")])
def test_what_a_kernel_does_not_count_is_absent_and_not_zero(fields: int, last: str) -> None:
    line = "8 0 sda " + " ".join(str(n) for n in range(1, fields + 1))
    rows = parse.samples(parse.diskstats(line.encode()), ["sda"], seen=1)
    assert list(rows.values)[-1] == last
    assert "ops_flush_total" not in rows.values


def joined(case: str) -> Topology:
    """The topology of a case, with an array that presents the volume behind the map."""

    async def run() -> list[Thing | Tie]:
        context = ReplayContext(WallClock(), Path(__file__).parent / case / "replies")
        reader = collector()
        await reader.open(context)
        return [item async for item in reader.inventory(context)]

    found: list[tuple[str, int, Thing | Tie]] = [("here", 0, item) for item in asyncio.run(run())]
    found.append(("fa1", 0, Thing("volume", "vol01", "vol01", {"naa": (NAA,)})))
    found.append(("fa1", 0, Thing("host", "esx-db7", "esx-db7", {"wwpn": ("21:00:00:24:FF:00:00:01",)})))
    return resolve(found)


def test_a_map_is_the_lun_of_the_volume_and_its_paths_are_members_of_it() -> None:
    topology = joined("multipath-lvm-nvme")
    assert topology.related("lun:db7/dm-0", "backed_by") == ["volume:fa1/vol01"]
    assert {"lun:db7/sda", "lun:db7/sdb"} <= set(topology.related("lun:db7/dm-0", "member_of"))
    assert topology.related("lun:db7/sda", "backed_by") == []
    assert topology.related("lun:db7/nvme0c1n1", "member_of") == ["lun:db7/nvme0n1"]
    assert topology.related("lun:db7/sdc", "member_of") == ["lun:db7/dm-1"]  # sdc2 is the slave


def test_the_host_is_the_one_that_the_array_knows_by_its_initiators() -> None:
    hosts = [host for host in joined("multipath-lvm-nvme").of_kind("host") if "21000024ff000001" in host.ids["wwpn"]]
    assert [sorted(source for source, _ in host.known_as) for host in hosts] == [["fa1", "here"]]


def test_a_lun_of_fio_is_the_device_of_the_host_it_runs_on() -> None:
    topology = resolve(
        [
            ("here", 0, Thing("lun", "sda", "db7/sda", {"device": ("sda",)})),
            ("fio", 0, Thing("lun", "sda", "sda", {"device": ("sda",)})),
            ("fio", 0, Thing("load", "fio", "fio", {"name": ("fio",)})),
            ("config", 0, Tie("runs_on", ("load", "fio"), ("host", "db7"), "sanpath.yaml")),
        ]
    )
    assert [lun.id for lun in topology.of_kind("lun")] == ["lun:db7/sda"]


def test_real_io_is_counted_on_this_machine(tmp_path: Path) -> None:
    if not shutil.which("fio"):
        pytest.skip("fio is not installed")
    stats = Path("/proc/diskstats")
    numbers = [line.split() for line in stats.read_text(encoding="utf-8").splitlines()] if stats.exists() else []
    number = tmp_path.stat().st_dev
    names = {(int(words[0]), int(words[1])): words[2] for words in numbers}
    mine = names.get((os.major(number), os.minor(number)))
    device = parse.disk_of(mine, list(names.values())) if mine else ""
    if device not in parse.whole_devices(list(names.values())):
        pytest.skip(f"{tmp_path} lies on no block device that is read")
    command = ["fio", "--name=write", "--rw=randwrite", "--bs=4k", "--size=2m", "--direct=1", "--thread"]

    async def run() -> tuple[Rows, Rows]:
        context = LiveContext(WallClock(), Cost())
        reader = collector()
        await reader.open(context)
        before = await sample(reader, context)
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"fio cannot write here past the page cache: {done.stderr.strip()}")
        return before, await sample(reader, context)

    before, after = asyncio.run(run())
    for metric, least in (("ops_write_total", 1), ("bytes_write_total", 2 * 2**20)):
        assert value(after, device, metric) - value(before, device, metric) >= least

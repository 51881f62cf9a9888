"""Recorded hosts and this machine: rates by hand, joins, paths that die, and real I/O that is counted."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from sanpath.config import load_config
from sanpath.errors import ConfigError
from sanpath.model import SourceEntity, SourceLink
from sanpath.plugin import Context, Cost, Rows
from sanpath.topology.resolve import resolve
from sanpath.topology.topology import Topology
from sanpath.transport.live_context import LiveContext
from sanpath_collectors.linux_host import devices, multipath, parse, samples
from sanpath_collectors.linux_host.collector import LinuxHost
from sanpath_collectors.linux_host.config import LinuxHostConfig
from sanpath_collectors.linux_host.inventory import Inventory
from sanpath_collectors.linux_host.multipath import Group
from sanpath_collectors.linux_host.paths import HostPath, usable
from sanpath_collectors.linux_host.snapshot import Snapshot
from sanpath_collectors.linux_host.tables import FC_STATISTICS, HOST, LUN
from tests.support.replay import ReplayContext

ROOT = Path(__file__).parents[3]
RECORDED = ROOT / os.environ.get("SANPATH_RECORDINGS", "../shared/recordings") / "diskstats"
NAA = "naa.624a93706c1b16ce1c034d1c00013918"


class WallClock:
    def now_us(self) -> int:
        return time.time_ns() // 1000


def collector() -> LinuxHost:
    return LinuxHost(LinuxHostConfig(name="here", collector="linux_host"))


async def sample(reader: LinuxHost, context: Context) -> Rows:
    (rows,) = [item async for item in reader.poll(context) if isinstance(item, Rows) and item.table is LUN]
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
    rows = samples.luns(parse.diskstats(line.encode()), ["sda"], 1, None)
    assert list(rows.values)[-1] == last
    assert "ops_flush_total" not in rows.values


def joined(case: str, sudo: bool = False) -> Topology:
    """The topology of a case, with an array that presents the volume behind the map."""

    async def run() -> list[SourceEntity | SourceLink]:
        context = ReplayContext(WallClock(), Path(__file__).parent / case / "replies")
        reader = LinuxHost(LinuxHostConfig(name="here", collector="linux_host", sudo=sudo))
        await reader.open(context)
        return [item async for item in reader.inventory(context)]

    found: list[tuple[str, int, SourceEntity | SourceLink]] = [("here", 0, item) for item in asyncio.run(run())]
    found.append(("fa1", 0, SourceEntity("volume", "vol01", "vol01", {"naa": (NAA,)})))
    found.append(("fa1", 0, SourceEntity("host", "esx-db7", "esx-db7", {"wwpn": ("21:00:00:24:FF:00:00:01",)})))
    found.append(("fa1", 0, SourceEntity("array_port", "CT0.FC0", "CT0.FC0", {"wwpn": ("52:4A:93:7A:1B:2C:3D:00",)})))
    found.append(("fa1", 0, SourceEntity("array_port", "CT1.ETH4", "CT1.ETH4", {"ip": ("192.0.2.112",)})))
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


def test_a_path_is_a_lun_by_an_initiator_and_a_target_port() -> None:
    topology = joined("fc-service-time-failed-path", sudo=True)
    path = "path:here/7:0:0:1"
    assert topology.related(path, "member_of") == ["lun:db7/dm-0"]
    assert topology.related(path, "attached_to") == ["hba:db7/host7"]
    assert topology.related(path, "targets") == ["array_port:fa1/CT0.FC0"]
    assert topology.related("path:here/8:0:0:1", "targets") == []  # a port that no array told of


def test_an_iscsi_path_leads_to_the_portal_that_its_session_was_redirected_to() -> None:
    topology = joined("iscsi-failover-by-multipathd")
    assert topology.related("array_port:fa1/CT1.ETH4", "targets") == ["path:here/12:0:0:1"]


def test_members_of_a_bond_are_told_apart() -> None:
    topology = joined("fc-service-time-failed-path", sudo=True)
    members = topology.related("hba:db7/bond0", "member_of")
    assert members == ["hba:db7/eno2", "hba:db7/eno3"]
    macs = [topology.entities[hba].ids["mac"] for hba in members]
    assert len(set(macs)) == 2
    assert "hba:db7/eno1v0" not in topology.entities  # a virtual function: its traffic is that of a guest


MAPS = """\
oracle: 0 8388608 multipath 2 queue_mode mq 1 alua 2 1 historical-service-time 2 1 0 2 1 8:0 1 8:16 1 \
historical-service-time 2 1 0 1 1 8:32 1
backup (1): 0 8388608 multipath 0 0 1 1 round-robin 0 2 1 65:0 100 65:16 100
root: 0 41943040 linear 8:2 2048
cut: 0 8388608 multipath 0 0 2 1 service-time 0 2
No devices found
"""


def test_policies_of_multipath_maps_as_dmsetup_tells_them() -> None:
    maps = multipath.parse_dmsetup(MAPS, "")
    assert list(maps) == ["oracle", "backup (1)"]
    assert [list(group.paths) for group in maps["oracle"]] == [["8:0", "8:16"], ["8:32"]]
    assert multipath.policy(maps["oracle"]) == "service_time"
    assert multipath.native_policy(maps["oracle"]) == "historical-service-time 2 1 0, groups of 2 and 1 paths"
    assert multipath.policy(maps["backup (1)"]) == "round_robin"
    assert maps["backup (1)"][0].repeat == 100


@pytest.mark.parametrize("processors", ["10", "ff", "0-3"])
def test_what_a_selector_that_is_not_known_says_of_a_path_is_no_number_of_ios(processors: str) -> None:
    """Of io-affinity it is the processors that use the path."""
    maps = multipath.parse_dmsetup(
        f"a: 0 8 multipath 0 0 1 1 io-affinity 0 2 1 8:0 {processors} 8:16 {processors}", ""
    )
    (group,) = maps["a"]
    assert (list(group.paths), group.repeat) == (["8:0", "8:16"], None)


def test_one_path_a_group_is_failover_whatever_the_selector() -> None:
    groups = [Group("service-time 0", paths={number: ""}) for number in ("8:0", "8:16")]
    assert multipath.policy(groups) == "failover_only"
    assert multipath.policy(groups[:1]) == "service_time"


@pytest.mark.parametrize(("before", "after"), [("", ""), ("multipathd> list maps json\n", "\nmultipathd> ")])
def test_what_multipathd_prints_around_its_maps_does_not_matter(before: str, after: str) -> None:
    paths = '[{"dev_t": "8:16", "dm_st": "active"}]'
    maps = f'{{"maps": [{{"name": "a", "path_groups": [{{"selector": "round-robin 0", "paths": {paths}}}]}}]}}'
    assert multipath.parse_multipathd(f"{before}{maps}{after}") == {
        "a": [Group("round-robin 0", "", {"8:16": "active"})]
    }


@pytest.mark.parametrize("answer", ["", "fail\n", "{}", '{"maps": [{"name": "a"}]}', '{"maps": 3}', "[]"])
def test_what_multipathd_says_instead_of_maps_is_no_knowledge(answer: str) -> None:
    assert multipath.parse_multipathd(answer) is None


@pytest.mark.parametrize(
    ("device", "side", "mapped", "state", "works"),
    [
        ("running", "", "active", "running", True),
        ("running", "active/non-optimized", "active", "active/non-optimized", True),
        ("running", "standby", "active", "standby", False),
        ("running", "active/optimized", "failed", "failed", False),
        ("transport-offline", "active/optimized", "active", "transport-offline", False),
        ("blocked", "", "failed", "blocked", False),
        ("", "", "active", "unknown", None),
    ],
)
def test_the_state_of_a_path(device: str, side: str, mapped: str, state: str, works: bool | None) -> None:
    files = {"/sys/block/sda/device/state": device, "/sys/block/sda/device/access_state": side}
    path = HostPath("7:0:0:1", "sda", "dm-0", "fcp", number="8:0")
    now = Snapshot({name: text.encode() for name, text in files.items() if text})
    assert path.state(now, ["sda"], {"8:0": mapped}) == state
    assert usable(state) is works
    assert path.state(Snapshot({}), [], {"8:0": mapped}) == "gone"


def test_what_is_only_for_ssh_needs_an_address(tmp_path: Path) -> None:
    file = tmp_path / "sanpath.yaml"
    file.write_text("sources:\n  - {name: db7, collector: linux_host, user: me, port: 22}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"sanpath.yaml:2: .*port, user is for SSH: give address as well"):
        load_config(file)


def test_a_source_over_ssh_says_what_the_configuration_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("DB7_PASSWORD", "hunter2")
    file = tmp_path / "sanpath.yaml"
    lines = ("address: db7.example.com", "key_file: ~/keys/id", "known_hosts: hosts", "password: env:DB7_PASSWORD")
    source = "".join(f"    {line}\n" for line in ("collector: linux_host", *lines))
    file.write_text(f"sources:\n  - name: db7\n{source}", encoding="utf-8")
    (config,) = load_config(file).sources
    assert isinstance(config, LinuxHostConfig)
    target = config.ssh()
    assert target is not None
    assert (target.host, target.port, target.user) == ("db7.example.com", None, None)
    assert target.key_file == Path("/home/me/keys/id")
    assert target.known_hosts == tmp_path / "hosts"
    assert target.password is not None
    assert target.password.get_secret_value() == "hunter2"
    assert "hunter2" not in repr(config) + repr(target)


def test_this_machine_tells_of_its_processors() -> None:
    if not Path("/proc/stat").exists():
        pytest.skip("this machine is not a Linux host")

    async def run() -> list[Rows]:
        reader = collector()
        context = LiveContext(WallClock(), Cost())
        await reader.open(context)
        return [item async for item in reader.poll(context) if isinstance(item, Rows) and item.table is HOST]

    (rows,) = asyncio.run(run())
    (host,) = rows.entity
    assert rows.device_time is None
    assert 0 < value(rows, host, "cpu_busy_seconds_total") < value(rows, host, "cpu_seconds_total")
    assert value(rows, host, "context_switches_total") > 0


def test_a_lun_of_fio_is_the_device_of_the_host_it_runs_on() -> None:
    topology = resolve(
        [
            ("here", 0, SourceEntity("lun", "sda", "db7/sda", {"device": ("sda",)})),
            ("fio", 0, SourceEntity("lun", "sda", "sda", {"device": ("sda",)})),
            ("fio", 0, SourceEntity("load", "fio", "fio", {"name": ("fio",)})),
            ("config", 0, SourceLink("runs_on", ("load", "fio"), ("host", "db7"), "sanpath.yaml")),
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
    local = names.get((os.major(number), os.minor(number)))
    device = parse.disk_of(local, list(names.values())) if local else ""
    if device not in parse.storage_devices(list(names.values())):
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


FC_PORT = "/sys/class/fc_host/host1/statistics"


@pytest.mark.parametrize(
    ("words", "megabytes", "counted"),
    [(0xBEBC200, 0xBE, 200_000_000), (0xBEBC200, 0x2FA, 800_000_000), (0x1000, 0, 0x4000)],
    ids=["qla2xxx before Linux 5.12", "words, as the file is called", "hardly any yet"],
)
def test_the_words_of_a_fibre_channel_port_may_be_bytes(words: int, megabytes: int, counted: int) -> None:
    files = {f"{FC_PORT}/{name}": f"{words:#x}\n".encode() for name in ("rx_words", "tx_words")}
    files |= {f"{FC_PORT}/fcp_{d}_megabytes": f"{megabytes:#x}\n".encode() for d in ("input", "output")}
    found = samples.fc_counters(Snapshot(files), "host1", FC_STATISTICS)
    assert (found["bytes_rx_total"], found["bytes_tx_total"]) == (counted, counted)


def test_an_nvme_device_over_paths_that_does_not_count_has_done_what_its_paths_have() -> None:
    """Before Linux 6.2; io_ticks are the share of time in which at least one was busy."""
    path, other = [1, 0, 8, 3, 10, 0, 80, 4, 1, 6, 7], [2, 0, 16, 5, 20, 0, 160, 9, 2, 11, 14]
    stats = {"nvme0n1": [0] * 11, "nvme0c0n1": path, "nvme0c1n1": other, "nvme1n1": [0] * 11}
    rows = samples.luns(stats, ["nvme0n1", "nvme1n1"], 0, None)
    assert value(rows, "nvme0n1", "ops_write_total") == 30
    assert value(rows, "nvme0n1", "bytes_read_total") == 24 * 512
    assert value(rows, "nvme0n1", "busy_seconds_total") == pytest.approx(0.011)
    assert value(rows, "nvme1n1", "ops_write_total") == 0


def test_an_interface_with_paths_over_rdma_has_no_byte_counts() -> None:
    """Storage traffic over RDMA bypasses the kernel, whose counters hold the other traffic alone."""
    files = {
        "/proc/diskstats": "".join(f"259 {n} {name}{' 0' * 11}\n" for n, name in enumerate(("nvme0n1", "nvme1n1")))
    }
    for path, transport, address in (("nvme0c0n1", "rdma", "192.0.2.5"), ("nvme1c1n1", "tcp", "192.0.2.6")):
        controller = f"/sys/block/{path}/device"
        files[f"{controller}/transport"] = transport
        files[f"{controller}/address"] = f"traddr=192.0.2.9,trsvcid=4420,host_traddr={address}"
    files["/proc/net/dev"] = "".join(f"{name}: 12 3 1 0 0 0 0 0 45 6 2 0 0 0 0 0\n" for name in ("eth1", "eth2"))
    host = Snapshot({name: text.encode() for name, text in files.items()})
    known = Inventory(host, "db1", ["nvme0n1", "nvme1n1"], {"eth1": ["192.0.2.5"], "eth2": ["192.0.2.6"]})
    rows = samples.network(host, ["eth1", "eth2"], known.rdma_interfaces, 0, None)
    assert rows is not None
    assert (rows.values["bytes_rx_total"], rows.values["bytes_tx_total"]) == ([None, 12], [None, 45])
    assert (rows.values["errors_rx_total"], rows.values["errors_tx_total"]) == ([1, 1], [2, 2])


@pytest.mark.parametrize(
    ("device", "queues", "scheduler", "expected"),
    [
        ("vda", 2, "[none] mq-deadline", (128, 2)),
        ("dm-3", 0, "none", (None, None)),
        ("vda", 0, "noop [deadline] cfq", (128, 1)),
        ("sda", 2, "[none] mq-deadline", (128, 1)),
    ],
    ids=["two hardware queues", "a logical volume", "before hardware queues", "queues of one SCSI adapter"],
)
def test_only_a_device_with_queues_of_requests_holds_requests(
    device: str, queues: int, scheduler: str, expected: tuple[int | None, int | None]
) -> None:
    folder = f"/sys/block/{device}"
    names = tuple(f"{folder}/mq/{number}" for number in range(queues))
    files = {f"{folder}/queue/scheduler": scheduler.encode(), f"{folder}/queue/nr_requests": b"128\n"}
    found = devices.lun(Snapshot(files, names), "db1", device, {}, ()).attributes
    assert (found["nr_requests"], found["hardware_queues"]) == expected


@pytest.mark.parametrize(
    ("name", "kind"), [("md127", "md"), ("nvme0n1", "nvme"), ("sda", "disk"), ("dm-3", "other dm")]
)
def test_the_kind_of_a_device_tells_whether_it_passes_ios_on(name: str, kind: str) -> None:
    machine = Snapshot({f"/sys/block/{name}/size": b"2048", "/sys/block/dm-3/dm/uuid": b"LVM-1"})
    assert devices.lun(machine, "db7", name, {}, ()).attributes["kind"] == kind

"""Control groups of the load: a real one of this machine, which groups hold for a process, and hostile answers."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from types import SimpleNamespace

import pytest

from sanpath.plugin import Cost, Item, Rows, SourceEntity
from sanpath.transport.local_machine import LocalMachine
from sanpath_collectors.linux_host import parse
from sanpath_collectors.linux_host.cgroups.files import Group, groups_of
from sanpath_collectors.linux_host.cgroups.groups import LoadGroups
from sanpath_collectors.linux_host.snapshot import Snapshot

SDA = {"8:0": "sda"}
POD = "/kubepods.slice/kubepods-pod1.slice/cri-containerd-2.scope"
BLKIO = Path("/sys/fs/cgroup/blkio")


class Machine:
    """Answers from `files`; each read takes `seconds`. `asked`: the number of files read."""

    def __init__(self, files: Mapping[str, str], seconds: float = 0.0) -> None:
        self.files, self.seconds, self.now_seconds, self.asked = dict(files), seconds, 0.0, 0

    async def read(self, patterns: Sequence[str]) -> dict[str, bytes]:
        self.now_seconds += self.seconds
        found = {
            path: text.encode("utf-8", "surrogateescape")
            for path, text in self.files.items()
            if path in patterns or any("*" in p and fnmatchcase(path, p) for p in patterns)
        }
        self.asked += len(found)
        return found

    def now_us(self) -> int:
        return round(self.now_seconds * 1e6)


def processes(*paths: str, name: str = "fio") -> dict[str, str]:
    """Processes of this name, one in each of these groups of version 2."""
    files = {}
    for number, path in enumerate(paths, start=100):
        files |= {f"/proc/{number}/comm": f"{name}\n", f"/proc/{number}/cgroup": f"0::{path}\n"}
    return files


def group(path: str, limits: str = "", counts: str = "", pressure: str = "") -> dict[str, str]:
    folder = f"/sys/fs/cgroup{path}".rstrip("/")
    return {f"{folder}/io.max": limits, f"{folder}/io.stat": counts, f"{folder}/io.pressure": pressure}


def polled(machine: Machine, groups: LoadGroups | None = None) -> list[Item]:
    """What a poll after a search yields."""
    groups = groups or LoadGroups("db7", ["fio"])
    asyncio.run(groups.search(machine, machine))  # type: ignore[arg-type]
    snapshot = Snapshot(asyncio.run(machine.read(groups.files())))
    return list(groups.items(snapshot, SDA, 1, None))


def rows_of(items: Sequence[Item]) -> dict[str, dict[str, int | float | None]]:
    """Entity → metric → value."""
    (rows,) = [item for item in items if isinstance(item, Rows)]
    return {entity: {m: v[n] for m, v in rows.values.items()} for n, entity in enumerate(rows.entity)}


def test_a_group_is_reported_with_those_above_it_that_limit_the_device() -> None:
    files = {
        **processes(POD),
        **group(
            "/kubepods.slice", "8:0 rbps=max wbps=max riops=900 wiops=max\n", "8:0 rbytes=9 wbytes=0 rios=3 wios=0"
        ),
        **group("/kubepods.slice/kubepods-pod1.slice", "", "8:0 rbytes=9 wbytes=0 rios=3 wios=0"),
        **group(
            POD,
            "8:0 rbps=1048576 wbps=max riops=max wiops=max\n8:16 rbps=1 wbps=1 riops=1 wiops=1\n",
            "8:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n",
            "some avg10=9.00 avg60=4.00 avg300=1.00 total=7000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=50\n",
        ),
    }
    items = polled(Machine(files))
    rows = rows_of(items)
    assert list(rows) == [f"{POD} sda", "/kubepods.slice sda"]
    assert rows[f"{POD} sda"] == {
        "ops_read_total": 1,
        "ops_write_total": 2,
        "bytes_read_total": 4096,
        "bytes_write_total": 8192,
        "limit_bytes_per_second_read": 1048576,
        "limit_bytes_per_second_write": None,
        "limit_ops_per_second_read": None,
        "limit_ops_per_second_write": None,
        "io_pressure_some_seconds_total": 7000,
        "io_pressure_full_seconds_total": 50,
    }
    assert rows["/kubepods.slice sda"]["limit_ops_per_second_read"] == 900
    managers = {item.local_id: item.attributes["manager"] for item in items if isinstance(item, SourceEntity)}
    assert set(managers.values()) == {"kubernetes"}


def test_in_a_container_the_root_is_the_containers_own_group() -> None:
    files = {**processes("/"), **group("/", "8:0 rbps=max wbps=max riops=500 wiops=max", "8:0 rios=3")}
    assert rows_of(polled(Machine(files)))["/ sda"]["limit_ops_per_second_read"] == 500


def test_the_root_of_a_machine_is_no_control_group() -> None:
    files = {**processes("/"), "/sys/fs/cgroup/io.stat": "8:0 rbytes=4096 wbytes=0 rios=1 wios=0"}
    assert polled(Machine(files)) == []


def test_a_limit_that_is_lifted_is_not_known_from_then_on() -> None:
    machine = Machine({**processes("/a"), **group("/a", "8:0 rbps=max wbps=max riops=500 wiops=max", "8:0 rios=3")})
    groups = LoadGroups("db7", ["fio"])
    assert rows_of(polled(machine, groups))["/a sda"]["limit_ops_per_second_read"] == 500
    machine.files["/sys/fs/cgroup/a/io.max"] = ""
    assert rows_of(polled(machine, groups))["/a sda"]["limit_ops_per_second_read"] is None


def test_groups_of_other_processes_are_not_read() -> None:
    files = {**processes("/a", name="postgres"), **group("/a", "8:0 rbps=1 wbps=1 riops=1 wiops=1")}
    assert polled(Machine(files)) == []
    long_name = LoadGroups("db7", ["a-load-generator-with-a-long-name"])
    files = {**processes("/a", name="a-load-generato"), **group("/a", "8:0 rbps=1 wbps=1 riops=1 wiops=1")}
    assert polled(Machine(files), long_name)


def test_version_1_has_no_limits_of_groups_above() -> None:
    assert [g.path for g in groups_of("7:cpu,blkio:/a/b\n3:memory:/m\n")] == ["/a/b"]


@pytest.mark.parametrize(
    ("limits", "limit"),
    [
        ("8:0 rbps=max wbps=max riops=max wiops=max", None),
        ("8:0 riops=0", None),
        ("8:0 riops=-5", None),
        ("8:0 riops=1e9", None),
        ("8:0 riops=", None),
        ("8:0 riops", None),
        (f"8:0 riops={10**30}", None),
        (f"8:0 riops={2**64 - 1}", None),
        (f"8:0 riops={2**63 - 1}", 2**63 - 1),
        ("8:0 riops=7 riops=9 = == x=", 9),
        ("7:1 7:0 8:0 riops=7", 7),
        ("(unknown) riops=3\n8:0 riops=7", 7),
        ("riops=3\n\n \n8:0", None),
        ("\udcff\udcfe 8:0 riops=7", 7),
    ],
)
def test_absurd_limits_are_none(limits: str, limit: int | None) -> None:
    machine = Machine({**processes("/a"), **group("/a", limits, "8:0 rios=5 wios=x rbytes=-1")})
    row = rows_of(polled(machine))["/a sda"]
    assert (row["limit_ops_per_second_read"], row["ops_read_total"]) == (limit, 5)
    assert row.keys().isdisjoint({"ops_write_total", "bytes_read_total"})


@pytest.mark.parametrize(
    "line",
    [
        "",
        "::::",
        "0::",
        "0::a/b",
        "0::/../other",
        "0::/a/*/b",
        "0::/a[0-9]",
        "0::/" + "x/" * 2000,
        "0::/" + "/".join("x" * 100),
        "1:name=systemd:/a",
        "\udcff",
    ],
)
def test_groups_that_cannot_be_named_are_left_out(line: str) -> None:
    assert list(groups_of(line)) == []


def test_thousands_of_groups_cost_no_more_than_a_hundred() -> None:
    names = [f"/pods/{number}" for number in range(5000)]
    files = processes(*names)
    for name in names:
        files |= group(name, "8:0 rbps=max wbps=max riops=5 wiops=max")
    machine, groups = Machine(files), LoadGroups("db7", ["fio"])
    asyncio.run(groups.search(machine, machine))  # type: ignore[arg-type]
    assert machine.asked <= 5000 + 1000
    assert len(groups.files()) <= 100 * 6


def test_the_search_takes_a_hundredth_of_the_time() -> None:
    machine, groups = Machine(processes("/a"), seconds=0.1), LoadGroups("db7", ["fio"])
    searches = []
    for second in range(100):
        machine.now_seconds = max(machine.now_seconds, float(second))
        before = machine.asked
        asyncio.run(groups.search(machine, machine))  # type: ignore[arg-type]
        searches += [second] if machine.asked > before else []
    assert searches == [0, 31, 62, 93], "three reads of 0.1 s each, then 30 s without"


def test_a_search_that_does_not_end_in_time_is_tried_less_and_less_often() -> None:
    class Slow(Machine):
        async def read(self, patterns: Sequence[str]) -> dict[str, bytes]:  # noqa: ARG002 - as that of Machine
            self.asked += 1
            raise TimeoutError

    machine, groups = Slow({}), LoadGroups("db7", ["fio"])
    searches = []
    for second in range(300):
        machine.now_seconds, before = float(second), machine.asked
        try:
            asyncio.run(groups.search(machine, machine))  # type: ignore[arg-type]
        except TimeoutError:
            searches.append(second)
        assert machine.asked - before <= 1
    assert searches == [0, 10, 30, 70, 150]


def start_sleeping(program: str) -> subprocess.Popen[bytes]:
    """Start this copy of `sleep` and wait until the kernel names the process after it.

    Popen returns once the parent's memory is no longer shared, which is before exec sets the process's name.
    """
    process = subprocess.Popen([program, "60"])
    name = Path(f"/proc/{process.pid}/comm")
    while name.read_text().strip() != Path(program).name:
        time.sleep(0.001)
    return process


@pytest.fixture
def limited() -> Iterator[tuple[int, str]]:
    """A real process under a real limit of version 1: its id, and the number of the block device."""
    if os.geteuid() != 0 or not (BLKIO / "blkio.throttle.read_iops_device").exists():
        pytest.skip("needs root and control groups of version 1 with the blkio controller")
    stats = Path("/proc/diskstats").read_bytes()
    numbers, names = parse.device_numbers(stats), parse.storage_devices(parse.diskstats(stats))
    if not names:
        pytest.skip("no block device on this machine")
    folder = BLKIO / f"sanpath-test-{os.getpid()}"
    folder.mkdir()
    process = start_sleeping("sleep")
    try:
        (folder / "blkio.throttle.read_iops_device").write_text(f"{numbers[names[0]]} 777")
        (folder / "cgroup.procs").write_text(str(process.pid))
        yield process.pid, names[0]
    finally:
        process.kill()
        process.wait()
        folder.rmdir()


def test_a_real_limit_of_this_machine_is_read(limited: tuple[int, str]) -> None:
    _, device = limited
    machine, groups = LocalMachine(Cost()), LoadGroups("here", ["sleep"])
    stats = Path("/proc/diskstats").read_bytes()
    by_number = {number: name for name, number in parse.device_numbers(stats).items() if name == device}
    asyncio.run(groups.search(machine, SimpleNamespace(now_us=lambda: 1)))  # type: ignore[arg-type]
    snapshot = Snapshot(asyncio.run(machine.read(groups.files())))
    rows = rows_of(list(groups.items(snapshot, by_number, 1, None)))
    assert rows[f"/sanpath-test-{os.getpid()} {device}"]["limit_ops_per_second_read"] == 777


def test_the_label_shortens_ids_of_containers_as_their_engines_do() -> None:
    path = "/system.slice/docker-" + "0123456789abcdef" * 4 + ".scope"
    assert Group(2, path, True).label == "system.slice/docker-0123456789ab.scope"
    assert Group(2, path, True).manager == "container"


def quota_row(files: Mapping[str, str], path: str = "/a") -> dict[str, int | float | None]:
    return rows_of(polled(Machine(files)))[f"{path} processors"]


def test_the_quota_of_a_group_and_of_those_above_it_is_read() -> None:
    folder = "/sys/fs/cgroup/kubepods.slice"
    files = {
        **processes("/kubepods.slice/pod1.slice"),
        f"{folder}/pod1.slice/cpu.max": "50000 100000\n",
        f"{folder}/pod1.slice/cpu.stat": "usage_usec 9000\nnr_periods 9\nnr_throttled 8\nthrottled_usec 70\n",
        f"{folder}/cpu.max": "max 100000\n",
        f"{folder}/cpu.stat": "usage_usec 90000\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n",
    }
    items = polled(Machine(files))
    assert rows_of(items) == {
        "/kubepods.slice/pod1.slice processors": {
            "cpu_quota_cores": 0.5,
            "cpu_used_seconds_total": 9000,
            "cpu_periods_total": 9,
            "cpu_throttled_periods_total": 8,
            "cpu_throttled_seconds_total": 70,
        }
    }
    (entity,) = [item for item in items if isinstance(item, SourceEntity)]
    assert entity.label == "db7/kubepods.slice/pod1.slice on the processors"
    assert entity.attributes["manager"] == "kubernetes"


def test_a_quota_of_version_1_is_that_of_the_group_of_its_processors() -> None:
    docker = "/docker/" + "0123456789abcdef" * 4
    folder = f"/sys/fs/cgroup/cpu,cpuacct{docker}"
    files = {
        "/proc/100/comm": "fio\n",
        "/proc/100/cgroup": f"7:blkio:/other\n4:cpu,cpuacct:{docker}\n",
        f"{folder}/cpu.cfs_quota_us": "150000\n",
        f"{folder}/cpu.cfs_period_us": "100000\n",
        f"{folder}/cpu.stat": "nr_periods 9\nnr_throttled 8\nthrottled_time 70999\n",
        f"{folder}/cpuacct.usage": "12345678\n",
    }
    assert list(quota_row(files, docker).values()) == [1.5, 12345, 9, 8, 70]


def test_a_quota_that_is_lifted_is_not_known_from_then_on() -> None:
    files = {"/sys/fs/cgroup/a/cpu.max": "50000 100000\n", "/sys/fs/cgroup/a/cpu.stat": "usage_usec 9\n"}
    machine = Machine({**processes("/a"), **files})
    groups = LoadGroups("db7", ["fio"])
    assert rows_of(polled(machine, groups))["/a processors"]["cpu_quota_cores"] == 0.5
    machine.files["/sys/fs/cgroup/a/cpu.max"] = "max 100000\n"
    machine.now_seconds += 1000
    assert rows_of(polled(machine, groups))["/a processors"]["cpu_quota_cores"] is None


@pytest.mark.parametrize(
    "quota", ["", "max 100000", "0 100000", "-1 100000", "50000", "50000 0", "5e4 100000", f"{10**30} 1", "\udcff 1"]
)
def test_what_is_no_quota_is_not_polled(quota: str) -> None:
    machine, groups = Machine({**processes("/a"), "/sys/fs/cgroup/a/cpu.max": quota}), LoadGroups("db7", ["fio"])
    assert polled(machine, groups) == []
    assert not any("cpu." in file for file in groups.files())


def test_a_real_quota_of_this_machine_is_read(tmp_path: Path) -> None:
    cpu = Path("/sys/fs/cgroup/cpu")
    if os.geteuid() != 0 or not (cpu / "cpu.cfs_quota_us").exists():
        pytest.skip("needs root and control groups of version 1 with the cpu controller")
    folder = cpu / f"sanpath-test-{os.getpid()}"
    folder.mkdir()
    # A program of this name runs nowhere else on the machine.
    program = shutil.copy(shutil.which("sleep") or "/bin/sleep", tmp_path / "of-this-test")
    process = start_sleeping(program)
    try:
        (folder / "cpu.cfs_quota_us").write_text("25000")
        (folder / "cgroup.procs").write_text(str(process.pid))
        machine, groups = LocalMachine(Cost()), LoadGroups("here", ["of-this-test"])
        asyncio.run(groups.search(machine, SimpleNamespace(now_us=lambda: 1)))  # type: ignore[arg-type]
        snapshot = Snapshot(asyncio.run(machine.read(groups.files())))
        row = rows_of(list(groups.items(snapshot, {}, 1, None)))[f"/{folder.name} processors"]
        period_us = int((folder / "cpu.cfs_period_us").read_text())
    finally:
        process.kill()
        process.wait()
        folder.rmdir()
    assert row["cpu_quota_cores"] == pytest.approx(25_000 / period_us)
    assert isinstance(row["cpu_throttled_periods_total"], int)

"""A file of settings describes the load whose figures another file of the same tool has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sanpath.cli import app
from sanpath.model import Scalar
from sanpath.recording.reading.recording import Recording
from sanpath.topology.paths import machines_of
from sanpath.topology.resolve import resolve
from sanpath.topology.topology import Topology
from tests.recorder.importing.test_same_run import flatfile

PARAMETERS = """* Contents of parameter file: parm.txt
sd=sd1,lun=/dev/sdb,threads=8,openflags=o_direct
wd=wd1,sd=sd1,xfersize=4k,rdpct=100,seekpct={seek}
rd=rd1,wd=wd1,iorate=max,elapsed=60,interval=1
"""


def printed(folder: Path, *files: Path) -> str:
    arguments = ["import", *map(str, files), "--into", str(folder / "a.sanpath")]
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def run(folder: Path, *files: Path) -> Topology:
    printed(folder, *files)
    return resolve(Recording(folder / "a.sanpath").inventory())


def offered(folder: Path) -> list[Scalar]:
    """The outstanding I/Os of each step."""
    events = Recording(folder / "a.sanpath").events()
    return [event.detail["offered"] for _, event in events if event.name == "step-begin"]


def written(folder: Path, hour: int = 9, seek: int = 100) -> tuple[Path, Path]:
    """The files of figures and of settings of one run, in a folder."""
    folder.mkdir(exist_ok=True)
    figures, settings = folder / "flatfile.html", folder / "parmfile.html"
    figures.write_text(flatfile(hour))
    settings.write_text(PARAMETERS.format(seek=seek))
    return figures, settings


@pytest.mark.parametrize("together", [True, False])
def test_the_settings_are_those_of_the_load_with_the_figures(tmp_path: Path, together: bool) -> None:
    figures, settings = written(tmp_path / "run")
    topology = run(tmp_path, settings, figures) if together else [run(tmp_path, f) for f in (figures, settings)][-1]
    assert [load.id for load in topology.of_kind("load")] == ["load:vdbench", "load:vdbench/rd1"]
    assert topology.entities["load:vdbench/rd1"].attributes["direct"] is True


def test_each_run_of_one_command_has_the_settings_of_its_folder(tmp_path: Path) -> None:
    first, second = written(tmp_path / "one", 9, seek=100), written(tmp_path / "two", 11, seek=0)
    topology = run(tmp_path, *first, *second)
    random = {load.id: load.attributes.get("random_ratio") for load in topology.of_kind("load")}
    assert (random["load:vdbench/rd1"], random["load:vdbench-2/rd1"]) == (1, 0)


def test_settings_of_one_of_several_runs_are_no_run_s(tmp_path: Path) -> None:
    run(tmp_path, written(tmp_path / "one", 9)[0], written(tmp_path / "two", 11)[0])
    topology = run(tmp_path, written(tmp_path / "three")[1])
    assert topology.entities["load:vdbench/rd1"].attributes.get("direct") is None


@pytest.mark.parametrize(
    ("parameters", "outstanding"),
    [
        ("sd=sd1,lun=/dev/sdb,threads=8\nrd=rd1,sd=sd*,iorate=max", 8),
        ("sd=(sd1-sd3),lun=/dev/sdb,threads=8\nrd=rd1,sd=(sd1,sd3),iorate=max", 16),
        ("sd=(sd1,sd2),lun=/dev/sdb\nrd=rd1,sd=sd*,iorate=max,forthreads=(4,8)", 16),
        ("sd=sd1,lun=/dev/sdb,threads=64\nrd=rd1,sd=sd1,iorate=max", None),
        ("sd=sd1,lun=/dev/sdb,threads=8\nrd=another,sd=sd1,iorate=max", None),
    ],
    ids=["one SD", "two of three", "several numbers of threads", "of another test", "another run"],
)
def test_the_outstanding_ios_are_those_of_the_storage_definitions(
    tmp_path: Path, parameters: str, outstanding: float | None
) -> None:
    figures, settings = written(tmp_path / "run")
    settings.write_text(f"* Contents of parameter file: parm.txt\n{parameters}\n")
    said = printed(tmp_path, figures, settings)
    assert offered(tmp_path) == [outstanding]
    # A file of settings alone has nothing that belongs to a time.
    assert "modification time" not in said


def test_what_the_settings_say_is_not_said_to_be_unknown(tmp_path: Path) -> None:
    figures, settings = written(tmp_path / "run")
    # As many outstanding I/Os as were measured, 400 a second for 20 ms each.
    figures.write_text(flatfile().replace("0.5121", "20.000").replace(" 400 ", " 9999988 "))
    assert "the number of its SDs is not given" in printed(tmp_path / "run", figures)
    assert "not given" not in printed(tmp_path, figures, settings)


HOSTS = """* Contents of parameter file: parm.txt
hd=one,system=h1
hd=two,system=h2.example.com
sd=sd1,lun={lun},threads=8
wd=wd1,sd=sd1,xfersize=4k,rdpct=100,seekpct=100
rd=rd1,wd=wd1,iorate=max,elapsed=60,interval=1
"""


def iostat(folder: Path, host: str, *devices: str) -> Path:
    """What iostat writes of a host, two reports."""
    disks = [{"disk_device": device, "r/s": 200.0, "rkB/s": 800.0, "r_await": 0.5} for device in devices]
    reports = [{"timestamp": f"2024-03-04T02:00:0{second}+0000", "disk": disks} for second in range(3)]
    host_report = {"nodename": host, "number-of-cpus": 4, "statistics": reports}
    file = folder / f"{host}.json"
    file.write_text(json.dumps({"sysstat": {"hosts": [host_report]}}))
    return file


def test_the_hosts_and_devices_of_the_settings_are_those_of_their_counters(tmp_path: Path) -> None:
    figures, settings = written(tmp_path / "run")
    settings.write_text(HOSTS.format(lun="/dev/sdb"))
    counters = [iostat(tmp_path, host, "sda", "sdb") for host in ("h1", "h2")]
    topology = run(tmp_path, figures, settings, *counters)
    assert set(machines_of(topology, "load:vdbench")) == {"host:h1", "host:h2"}
    luns = topology.related("load:vdbench", "targets", "lun")
    assert {(lun, *sorted(source for source, _ in topology.entities[lun].known_as)) for lun in luns} == {
        ("lun:h1/sdb", "iostat", "vdbench-2"),
        ("lun:h2/sdb", "iostat-2", "vdbench-2"),
    }


def test_the_devices_are_those_of_the_only_machine_where_the_settings_name_none(tmp_path: Path) -> None:
    topology = run(tmp_path, *written(tmp_path / "run"), iostat(tmp_path, "h1", "sda", "sdb"))
    assert topology.related("load:vdbench", "runs_on") == ["host:h1"]
    assert topology.related("load:vdbench", "targets") == ["lun:h1/sdb"]


def test_a_load_on_several_hosts_is_not_taken_for_one_of_the_only_host_that_is_read(tmp_path: Path) -> None:
    figures, settings = written(tmp_path / "run")
    settings.write_text(HOSTS.format(lun="/dev/mapper/mpatha"))
    topology = run(tmp_path, figures, settings, iostat(tmp_path, "h1", "dm-0"))
    assert set(machines_of(topology, "load:vdbench")) == {"host:h1", "host:h2.example.com"}
    assert topology.related("load:vdbench", "targets") == []

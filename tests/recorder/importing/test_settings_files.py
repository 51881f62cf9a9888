"""A file of settings describes the load whose figures another file of the same tool has."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from sanpath.cli import app
from sanpath.recording.reading.recording import Recording
from sanpath.topology.resolve import resolve
from sanpath.topology.topology import Topology
from tests.recorder.importing.test_one_run import flatfile

PARAMETERS = """* Contents of parameter file: parm.txt
sd=sd1,lun=/dev/sdb,threads=8,openflags=o_direct
wd=wd1,sd=sd1,xfersize=4k,rdpct=100,seekpct={seek}
rd=rd1,wd=wd1,iorate=max,elapsed=60,interval=1
"""


def run(folder: Path, *files: Path) -> Topology:
    into = folder / "a.sanpath"
    done = CliRunner().invoke(app, ["import", *map(str, files), "--into", str(into)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return resolve(Recording(into).inventory())


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

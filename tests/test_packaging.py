"""What a user installs: the wheel, the container, the manual pages, the completion."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from sanpath.docgen.man_pages import roff, write

ROOT = Path(__file__).parents[1]
SANPATH = [str(Path(sys.executable).with_name("sanpath"))]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def test_its_top_level_names_are_ours(wheel: zipfile.ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    info = {top for top in tops if top.endswith((".dist-info", ".data"))}
    assert tops - info == {"sanpath", "sanpath_collectors", "sanpath_rules", "sanpath_lab", "sanpath_testbed"}


def test_it_holds_the_data_files(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    assert "sanpath/py.typed" in names
    assert "sanpath/catalogue/metrics.yaml" in names
    assert "sanpath/views/html/report.html.jinja" in names
    assert "sanpath/views/html/vendor/uPlot.LICENSE" in names
    assert "sanpath_rules/fabric/link-full.yaml" in names
    assert "sanpath_lab/scenarios/four-gigabit-switch.yaml" in names
    assert "sanpath_collectors/flasharray/README.md" in names
    assert not any(name.startswith("tests/") for name in names)


INSTRUCTION = re.compile(r"^([A-Z]+) +((?:.*\\\n)*.*)$", re.MULTILINE)


def test_the_container_builds_from_what_it_copies(tmp_path: Path) -> None:
    """No image can be built here: the first stage is done by hand, without what its COPY lines do not name."""
    pytest.importorskip("hatchling")
    instructions = INSTRUCTION.findall((ROOT / "packaging/Containerfile").read_text(encoding="utf-8"))
    for *sources, target in (body.split() for name, body in instructions if name == "COPY"):
        for source in sources:
            if not source.startswith("--from=") and not source.startswith("/"):
                into = tmp_path / target / (Path(source).name if len(sources) > 1 else "")
                copy_into = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
                into.parent.mkdir(parents=True, exist_ok=True)
                copy_into(ROOT / source, into)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    (built,) = (tmp_path / "dist").glob("*.whl")
    assert "sanpath_lab/scenarios/four-gigabit-switch.yaml" in zipfile.ZipFile(built).namelist()
    (install,) = (body for name, body in instructions if name == "RUN" and "pip install" in body)
    versions = subprocess.run(
        ["packaging/versions", "requirements.lock"], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout
    assert install.startswith("packaging/versions requirements.lock >versions.txt")
    assert re.search(r"^duckdb==[\d.]+$", versions, re.MULTILINE)
    assert '".[live]"' in install


def test_the_container_does_not_run_as_root() -> None:
    instructions = INSTRUCTION.findall((ROOT / "packaging/Containerfile").read_text(encoding="utf-8"))
    last_stage = instructions[max(number for number, (name, _) in enumerate(instructions) if name == "FROM") :]
    assert ("USER", "sanpath") in last_stage
    assert last_stage.index(("USER", "sanpath")) < last_stage.index(("ENTRYPOINT", '["sanpath"]'))


def test_each_command_has_a_manual_page_without_a_warning(tmp_path: Path) -> None:
    write(tmp_path)
    names = {path.stem for path in tmp_path.iterdir()}
    assert {"sanpath", "sanpath-run", "sanpath-lab-serve"} <= names
    overview = (tmp_path / "sanpath.1").read_text(encoding="utf-8")
    assert {name for name in names if roff(name) not in overview} == set()
    assert roff("-a\n.b 'c\n'd \\e") == "\\-a\n\\&.b 'c\n\\&'d \\ee"
    if shutil.which("groff"):
        pages = [str(path) for path in tmp_path.iterdir()]
        done = subprocess.run(
            ["groff", "-man", "-Tutf8", "-Kutf8", "-ww", *pages], capture_output=True, text=True, check=True
        )
        assert done.stderr == ""
        assert "--only-sources" in re.sub(".\x08", "", done.stdout)  # bold, as terminals of paper print it


def test_bash_completes_commands_and_options() -> None:
    environment = os.environ | {"_SANPATH_COMPLETE": "complete_bash"}
    # `--show-completion` prints for the shell that it runs in, and that may be another than bash.
    script = subprocess.run(
        SANPATH, env=os.environ | {"_SANPATH_COMPLETE": "source_bash"}, capture_output=True, text=True, check=False
    )
    assert (script.returncode, script.stderr) == (0, "")
    assert "complete -o default -F _sanpath_completion sanpath" in script.stdout
    subprocess.run(["bash", "-n"], input=script.stdout, text=True, check=True)
    for typed, word, expected in (("sanpath dia", 1, "diagnose"), ("sanpath run --only", 2, "--only-sources")):
        done = subprocess.run(
            SANPATH,
            env=environment | {"COMP_WORDS": typed, "COMP_CWORD": str(word)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert expected in done.stdout.split()

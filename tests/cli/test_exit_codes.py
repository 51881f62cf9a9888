"""What `run` and `diagnose` end with: 130 interrupted, 4 the load failed, 1 findings, 3 cannot tell, 0; the first."""

from __future__ import annotations

import json
import resource
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sanpath.cli import app
from sanpath.cli.options import FailOn
from sanpath.cli.output import diagnosis_of, exit_code, write_file
from sanpath.diagnosis.model import Diagnosis
from sanpath.errors import UsageError
from sanpath.model import Rows, Table
from sanpath.recording.format import layout
from sanpath.recording.writing.writer import Writer
from sanpath.rulebook.model import Finding, Severity
from sanpath_collectors.fio.tables import LOAD
from tests.recorder.processes import sanpath


def recording(folder: Path, load_exit_code: int) -> Path:
    """A run in which nothing was seen: the verdict is that one cannot tell."""
    layout.create(folder)
    writer = Writer(folder, "host.1")
    writer.header({"started_us": 1_800_000_000_000_000, "load_command": ["load"], "sources": []})
    writer.end({"ended_us": 1_800_000_009_000_000, "load_exit_code": load_exit_code, "recorder_cpu_seconds": 0.1})
    return folder


@pytest.fixture
def quiet(tmp_path: Path) -> Diagnosis:
    return diagnosis_of(recording(tmp_path / "r.sanpath", 0))


def finding(severity: Severity, outcome: str = "hit") -> Finding:
    reported = Finding("r", "t", "risk", severity, "lun:h/a", "read", ("s",), "hit", {}, "it is so", "because", ())
    return reported if outcome == "hit" else replace(reported, outcome="unknown")


def with_findings(diagnosis: Diagnosis, *findings: Finding) -> Diagnosis:
    return replace(diagnosis, findings=findings)


@pytest.mark.parametrize(
    ("load_exit_code", "fail_on", "code"), [(0, None, 0), (0, "high", 3), (7, None, 4), (7, "info", 4)]
)
def test_diagnose_ends_with_what_was_found(
    tmp_path: Path, load_exit_code: int, fail_on: str | None, code: int
) -> None:
    folder = recording(tmp_path / "r.sanpath", load_exit_code)
    options = ["--fail-on", fail_on] if fail_on else []
    result = CliRunner().invoke(app, ["diagnose", str(folder), "--format", "json", *options])
    assert result.exit_code == code, result.output
    assert json.loads(result.stdout)["run"]["load_exit_code"] == load_exit_code


@pytest.mark.parametrize(
    ("name", "beginning"),
    [
        ("x.html", "<!doctype html"),
        ("x.HTM", "<!doctype html"),
        ("x.json", "{"),
        ("x.xml", "<?xml"),
        ("x.md", "#"),
        ("x", "#"),
    ],
)
def test_the_suffix_of_the_file_says_its_format(tmp_path: Path, name: str, beginning: str) -> None:
    folder, file = recording(tmp_path / "r.sanpath", 0), tmp_path / name
    assert CliRunner().invoke(app, ["report", str(folder), "-o", str(file)]).exit_code == 0
    assert file.read_text(encoding="utf-8").lower().startswith(beginning)
    assert CliRunner().invoke(app, ["report", str(folder), "-o", str(file), "--format", "json"]).exit_code == 0
    assert file.read_text(encoding="utf-8").startswith("{"), "what is asked for comes first"


@pytest.mark.parametrize("command", ["report", "compare"])
def test_a_suffix_of_no_format_is_refused(tmp_path: Path, command: str) -> None:
    folder, file = recording(tmp_path / "r.sanpath", 0), tmp_path / "x.pdf"
    result = CliRunner().invoke(app, [command, *[str(folder)] * (2 if command == "compare" else 1), "-o", str(file)])
    assert isinstance(result.exception, UsageError)
    assert ".html" in str(result.exception)
    assert not file.exists()


def test_a_report_that_cannot_be_written_leaves_the_older_one(tmp_path: Path) -> None:
    file = tmp_path / "x.md"
    write_file("an older report", file)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            write_file("too long for this disk " * 1000, file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert file.read_text() == "an older report"
    assert [path.name for path in tmp_path.iterdir()] == ["x.md"]


def test_the_suffix_says_the_format_of_a_comparison(tmp_path: Path) -> None:
    folders = [str(recording(tmp_path / f"{name}.sanpath", 0)) for name in "ab"]
    for name, beginning in (("x.html", "<!doctype html"), ("x.json", "{"), ("x.md", "#"), ("x.txt", "No step")):
        assert CliRunner().invoke(app, ["compare", *folders, "-o", str(tmp_path / name)]).exit_code == 0
        assert (tmp_path / name).read_text(encoding="utf-8").lower().startswith(beginning.lower())


@pytest.mark.parametrize("command", ["diagnose", "report", "compare"])
def test_a_refused_rule_is_named_at_once(tmp_path: Path, command: str) -> None:
    folder, rules = str(recording(tmp_path / "r.sanpath", 0)), tmp_path / "rules"
    rules.mkdir()
    (rules / "x.yaml").write_text("id: x\n")
    recordings = [folder] * (2 if command == "compare" else 1)
    result = CliRunner().invoke(app, [command, *recordings, "--rules", str(rules)])
    assert "x.yaml:1: the key 'title' is missing" in result.stderr
    assert "this rule is left out" in result.stderr


def test_run_ends_with_what_was_found(tmp_path: Path) -> None:
    in_doubt = sanpath("run", "--into", "r.sanpath", "--fail-on", "critical", "--", "true", cwd=tmp_path)
    assert in_doubt.returncode == 3, in_doubt.stderr
    failed = sanpath("run", "--into", "s.sanpath", "--fail-on", "info", "--", "false", cwd=tmp_path)
    assert failed.returncode == 4


@pytest.mark.parametrize(
    ("severity", "fail_on", "code"),
    [
        ("high", FailOn.never, 0),
        ("high", FailOn.info, 1),
        ("high", FailOn.high, 1),
        ("high", FailOn.critical, 3),
        ("info", FailOn.info, 1),
        ("info", FailOn.low, 3),
        ("critical", FailOn.critical, 1),
    ],
)
def test_findings_count_from_the_severity_that_was_named(
    quiet: Diagnosis, severity: Severity, fail_on: FailOn, code: int
) -> None:
    assert exit_code(with_findings(quiet, finding(severity)), fail_on) == code


def test_the_worst_finding_counts(quiet: Diagnosis) -> None:
    assert exit_code(with_findings(quiet, finding("low"), finding("high"), finding("info")), FailOn.medium) == 1


def test_a_rule_that_could_not_be_judged_is_no_finding(quiet: Diagnosis) -> None:
    assert exit_code(with_findings(quiet, finding("critical", outcome="unknown")), FailOn.low) == 3


def test_a_verdict_without_findings_is_all_right(quiet: Diagnosis) -> None:
    received = replace(quiet, verdict=replace(quiet.verdict, kind="healthy"))
    assert exit_code(received, FailOn.info) == 0


def test_the_order_of_the_reasons(quiet: Diagnosis) -> None:
    bad = with_findings(replace(quiet, run=replace(quiet.run, load_exit_code=9)), finding("critical"))
    assert exit_code(bad, FailOn.info, interrupted=True) == 130
    assert exit_code(bad, FailOn.info) == 4


def test_damaged_samples_are_named_and_left_out(tmp_path: Path) -> None:
    folder = recording(tmp_path / "r.sanpath", 0)
    writer = Writer(folder, "host.2")
    writer.header({"started_us": 1_800_000_000_000_000, "load_command": [], "sources": [declared(LOAD)]})
    for second in range(9):
        values: dict[str, Sequence[int | float | None]] = {
            column.metric: [second + 1] * 500 for column in LOAD.columns
        }
        seen = 1_800_000_000_000_000 + second * 1_000_000
        writer.samples("fio", Rows(LOAD, [f"fio/{n}" for n in range(500)], [seen] * 500, values))
    writer.flush()
    (segment,) = folder.glob("samples/load/*.parquet")
    content = bytearray(segment.read_bytes())
    content[20:200] = b"\xff" * 180
    segment.write_bytes(content)
    damaged = sanpath("diagnose", "r.sanpath", cwd=tmp_path)
    assert damaged.returncode == 0
    assert "CANNOT TELL" in damaged.stdout
    reported = " ".join(damaged.stdout.split())
    assert segment.name in reported.replace(" ", "")
    assert "damaged, or not in this format" in reported


def declared(table: Table) -> dict[str, object]:
    return {"name": "fio", "collector": "fio", "every_seconds": 1.0, "tables": [asdict(table)]}

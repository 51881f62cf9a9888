"""`sanpath init --ask`: each answer is tried at once against the simulated SAN; no secret is in what is written."""

from __future__ import annotations

import os
import pty
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from sanpath import registry
from sanpath.cli import app
from sanpath.cli.sessions.lab_process import serve_lab
from sanpath.config import load_config
from sanpath.errors import InterruptedByUserError, UsageError

SOURCES = [name for name in registry.names() if registry.spec(name).config is not None]


class Site:
    """A simulated SAN that is up: how its sources are reached, and its secrets."""

    def __init__(self, file: Path) -> None:
        self.folder = file.parent
        self.sources = {s["name"]: s for s in yaml.safe_load(file.read_text(encoding="utf-8"))["sources"]}

    def secret(self, source: str, key: str) -> str:
        reference: str = self.sources[source][key]
        return (self.folder / reference.removeprefix("file:")).read_text(encoding="utf-8").strip()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serve_lab("four-gigabit-switch", tmp_path_factory.mktemp("lab")) as lab:
        yield Site(lab.config)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where secrets are kept, and no key ring."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("sanpath.cli.secrets._has_keyring", lambda: False)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home"


def report(*answers: object) -> Result:
    return CliRunner().invoke(app, ["init", "--ask"], input="".join(f"{answer}\n" for answer in answers))


def switch(site: Site, community: str) -> list[object]:
    port = site.sources["sw1"]["port"]
    return ["snmp_switch", "sw1", "127.0.0.1", "", community, f"port={port}", ""]


def test_sources_that_answer_are_written_and_their_secrets_are_kept_apart(site: Site, home: Path) -> None:
    array = site.sources["fa1"]
    token = site.secret("fa1", "api_token")
    ca_file = f"ca_file={site.folder / array['ca_file']}"
    number = SOURCES.index("flasharray") + 1
    result = report(
        *(number, "fa1", array["host"], "", token, ca_file, ""),
        *switch(site, site.secret("sw1", "community")),
        *("", ""),
    )
    assert result.exit_code == 0, result.output
    assert result.output.count(") answers\n") == 2
    assert "still missing: target port" in result.output.partition("snmp_switch) answers")[0]
    assert "is at no switch that is read" in result.output
    assert "still missing: target port" not in result.output.partition("snmp_switch) answers")[2]
    assert "next: sanpath check" in result.output
    written = Path("sanpath.yaml").read_text(encoding="utf-8")
    assert token not in written
    assert token not in result.output
    kept = home / "sanpath" / "fa1-api_token"
    assert kept.read_text(encoding="utf-8").strip() == token
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    config = load_config(Path("sanpath.yaml"))
    assert [source.name for source in config.sources] == ["fa1", "sw1"]
    assert config.warnings == ()


def test_a_wrong_secret_is_told_at_once_and_can_be_corrected(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANPATH_TEST_COMMUNITY", site.secret("sw1", "community"))
    port = site.sources["sw1"]["port"]
    result = report(
        *("snmp_switch", "sw1", "127.0.0.1", "", "wrong", f"port={port}", ""),
        *("again", "", "y", "env:SANPATH_TEST_COMMUNITY", ""),
        *("", ""),
    )
    assert result.exit_code == 0, result.output
    reported = result.output
    assert reported.index("DOES NOT ANSWER") < reported.index(") answers\n")
    (source,) = yaml.safe_load(Path("sanpath.yaml").read_text(encoding="utf-8"))["sources"]
    assert source["community"] == "env:SANPATH_TEST_COMMUNITY"
    assert source["port"] == port


def test_the_machine_of_the_load_is_one_that_a_source_knows() -> None:
    result = report("linux_host", "db7", "", "", "", "1", "")
    assert result.exit_code == 0, result.output
    config = load_config(Path("sanpath.yaml"))
    (link,) = config.links
    assert (link.relation, link.from_end) == ("runs_on", ("load", "fio"))
    assert link.to_end[0] == "host"


def test_without_a_source_nothing_is_written() -> None:
    result = report("")
    assert isinstance(result.exception, UsageError)
    assert "--example" in str(result.exception)
    assert not Path("sanpath.yaml").exists()


def test_what_makes_no_sense_is_asked_again_and_a_dead_source_can_be_dropped() -> None:
    closed = "127.0.0.1:1"
    result = report("teapot", "99", "flasharray", "fa", closed, "", "token", "nonsense=1", "", "maybe", "drop", "")
    for reported in (
        "no collector is called teapot",
        "no collector is called 99",
        "flasharray has no key nonsense",
        "DOES NOT ANSWER",
    ):
        assert reported in result.output
    assert isinstance(result.exception, UsageError)
    assert not Path("sanpath.yaml").exists()


def test_a_secret_that_others_can_read_is_warned_of() -> None:
    Path("token").write_text("secret", encoding="utf-8")
    Path("token").chmod(0o644)
    body = {"name": "fa1", "collector": "flasharray", "host": "127.0.0.1:9", "api_token": "file:token"}
    Path("sanpath.yaml").write_text(yaml.safe_dump({"sources": [body]}), encoding="utf-8")
    (warning,) = load_config(Path("sanpath.yaml")).warnings
    assert "chmod 600 token" in warning
    Path("token").chmod(0o600)
    assert load_config(Path("sanpath.yaml")).warnings == ()


@pytest.mark.parametrize("answered", [0, 1, 2, 5, 6])
def test_an_interview_that_is_broken_off_leaves_nothing(answered: int, home: Path) -> None:
    """At any question: no configuration, and no secret that none refers to."""
    answers = ("snmp_switch", "sw1", "127.0.0.1", "", "a secret", "port=9", "timeout_seconds=1")
    result = report(*answers[:answered])
    assert isinstance(result.exception, InterruptedByUserError), result.output
    assert result.exception.exit_code == 130
    assert not Path("sanpath.yaml").exists()
    assert not list(home.rglob("sw1*"))


def test_ctrl_c_is_one_line(tmp_path: Path) -> None:
    """On a terminal, behind a question."""
    process, terminal = pty.fork()
    if process == 0:
        os.execv(sys.executable, [sys.executable, "-m", "sanpath", "init", "--into", str(tmp_path / "x.yaml")])
    shown = b""
    try:
        while b"Enter: done" not in shown:
            shown += os.read(terminal, 4096)
        os.write(terminal, b"\x03")
        with suppress(OSError):  # The terminal of a process that has ended.
            while more := os.read(terminal, 4096):
                shown += more
    finally:
        os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 130
    assert shown.decode().splitlines()[-1] == "sanpath: interrupted; nothing was written"
    assert b"Traceback" not in shown
    assert not (tmp_path / "x.yaml").exists()


def test_the_secret_of_another_configuration_stays_as_it_is(home: Path) -> None:
    """Two SANs may each have a switch of this name."""
    other = home / "sanpath" / "sw1-community"
    other.parent.mkdir(parents=True)
    other.write_text("of the other\n", encoding="utf-8")
    other.chmod(0o600)
    dead = ("snmp_switch", "sw1", "127.0.0.1", "", "mine", "port=9", "timeout_seconds=1", "", "keep", "", "")
    result = report(*dead)
    assert result.exit_code == 0, result.output
    (source,) = yaml.safe_load(Path("sanpath.yaml").read_text(encoding="utf-8"))["sources"]
    assert Path(source["community"].removeprefix("file:")).read_text(encoding="utf-8") == "mine\n"
    assert other.read_text(encoding="utf-8") == "of the other\n"


def test_the_same_secret_again_is_one_file(home: Path) -> None:
    """A second configuration with the same switch."""
    for file in ("one.yaml", "two.yaml"):
        dead = ("snmp_switch", "sw1", "127.0.0.1", "", "mine", "port=9", "timeout_seconds=1", "", "keep", "", "")
        answers = "".join(f"{answer}\n" for answer in dead)
        result = CliRunner().invoke(app, ["init", "--ask", "--into", file], input=answers)
        assert result.exit_code == 0, result.output
    assert [file.name for file in (home / "sanpath").iterdir()] == ["sw1-community"]


def test_a_folder_that_cannot_be_written_is_told_before_the_questions(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["init", "--ask", "--into", str(tmp_path / "no" / "x.yaml")], input="")
    assert isinstance(result.exception, UsageError)
    assert "there is no such folder" in str(result.exception)
    assert result.output == ""

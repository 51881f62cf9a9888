"""Without an extra: one line says what to install, and all the rest works. `.ci/smallest` does it for real."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from sanpath.cli import app
from sanpath.cli.sessions import live
from sanpath.errors import UsageError
from sanpath_lab.__main__ import main as lab

CONFIG = "sources:\n  - {name: esx, collector: vsphere, host: v.example, user: u, password: 'env:HOME'}\n"
OVER_SSH = "sources:\n  - {name: db, collector: linux_host, address: db.example}\n"
PRIVATE = (
    "sources:\n  - {name: sw1, collector: snmp_switch, host: 192.0.2.1, user: u, auth_password: 'env:HOME', "
    "privacy_password: 'env:HOME'}\n"
)
ON_HOSTS = "hosts:\n  db: {address: db.example}\n"


@pytest.mark.parametrize(
    ("library", "config", "arguments", "message"),
    [
        ("pyVmomi", CONFIG, ["check"], "source esx (collector vsphere) needs {}'sanpath[vsphere]'"),
        ("asyncssh", OVER_SSH, ["run", "--", "true"], "source db needs {}'sanpath[ssh]'"),
        ("cryptography", PRIVATE, ["check"], "source sw1 needs {}'sanpath[snmpv3]'"),
        ("asyncssh", ON_HOSTS, ["run", "--on", "db", "--", "true"], "--on needs {}'sanpath[ssh]'"),
        ("prometheus_client", "", ["run", "--metrics", "0", "--", "true"], "--metrics needs {}'sanpath[metrics]'"),
        ("s3fs", "", ["diagnose", "s3://bucket/a.sanpath"], "s3:// needs {}'sanpath[s3]'"),
        ("fsspec", "", ["diagnose", "gs://bucket/a.sanpath"], "gs:// needs {}'fsspec[gs]'"),
    ],
)
def test_a_feature_without_its_extra_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str, config: str, arguments: list[str], message: str
) -> None:
    (tmp_path / "sanpath.yaml").write_text(config, encoding="utf-8")
    result = run(tmp_path, monkeypatch, library, *arguments)
    assert isinstance(result.exception, UsageError)
    assert str(result.exception) == message.format("an optional part that is not installed: pip install ")
    assert result.output == ""
    assert [entry.name for entry in tmp_path.iterdir()] == ["sanpath.yaml"]


def test_the_list_says_which_collectors_are_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = run(tmp_path, monkeypatch, "pyVmomi", "collectors", "list").stdout.splitlines()
    assert [line.split()[0] for line in lines if "not installed" in line] == ["vsphere"]
    assert next(line for line in lines if line.startswith("vsphere")).endswith("pip install 'sanpath[vsphere]')")
    shown = run(tmp_path, monkeypatch, "pyVmomi", "collectors", "show", "vsphere").stdout
    assert "Needs sanpath[vsphere], not installed" in shown


@pytest.mark.parametrize(
    ("library", "scenario"), [("cryptography", "four-gigabit-switch"), ("pyVmomi", "mru-active-active")]
)
def test_a_simulated_san_that_needs_more_says_what_to_install(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    library: str,
    scenario: str,
) -> None:
    monkeypatch.setenv("PATH", "")  # no openssl
    for name in [name for name in sys.modules if name.startswith(("sanpath_lab.certificate", "sanpath_lab.vcenter"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    assert lab(["serve", scenario, "--folder", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"sanpath: {scenario} at 127.0.0.1 needs an optional part that is not installed: pip install 'sanpath[lab]'\n"
    )


def test_without_the_live_view_there_are_lines_and_one_remark(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "can_show_screen", lambda: True)
    assert live.is_usable()
    monkeypatch.setitem(sys.modules, "textual", None)
    assert not live.is_usable()
    assert capsys.readouterr().err == (
        "sanpath: plain lines: the live view is not installed: pip install 'sanpath[live]'\n"
    )


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, library: str, *arguments: str) -> Result:
    """Run a command in a folder, in a Python that lacks a library."""
    monkeypatch.chdir(folder)
    monkeypatch.setitem(sys.modules, library, None)
    return CliRunner().invoke(app, list(arguments))

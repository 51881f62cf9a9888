"""`--metrics`: where it listens, what it says of that, and when its process ends."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sanpath.cli import main
from sanpath.cli.sessions import exporter
from sanpath.cli.sessions.child_process import environment, python
from sanpath.errors import UsageError
from sanpath.recording.format.layout import create
from sanpath.rulebook.site.options import Choice
from tests.support.stories import recorded


@contextmanager
def running_exporter(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The exporter of a recording and its address."""
    command = python("sanpath.views.prometheus.exporter", "127.0.0.1", "0", str(folder))
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
    ) as process:
        try:
            assert process.stdout is not None
            yield process, f"http://127.0.0.1:{process.stdout.readline().strip()}/metrics"
        finally:
            process.kill()


def get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=10) as answer:
        text: str = answer.read().decode()
        return text


def once_up(url: str) -> str:
    """What is served once the recording could be judged."""
    for _ in range(600):
        if "sanpath_up 1.0" in (text := get(url)):
            return text
        time.sleep(0.1)
    return pytest.fail("the recording was never seen")


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("9464", "127.0.0.1", 9464),
        (":9464", "127.0.0.1", 9464),
        ("localhost:1", "localhost", 1),
        ("0.0.0.0:9464", "0.0.0.0", 9464),
        ("[::1]:9464", "::1", 9464),
    ],
)
def test_an_address_is_loopback_unless_it_says_otherwise(text: str, host: str, port: int) -> None:
    assert exporter.address(text) == (host, port)
    assert exporter.is_loopback(host) == (host != "0.0.0.0")


@pytest.mark.parametrize("text", ["x", "9464/metrics", "70000", "localhost", "-1", "127.0.0.1:", "٣"])
def test_a_wrong_address_is_one_line_that_says_what_to_give(
    text: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["sanpath", "run", f"--metrics={text}", "--load", "fio", "--", "true"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert (
        capsys.readouterr().err == f"sanpath: --metrics {text}: give PORT, or HOST:PORT, as 9464 or 10.0.0.5:9464\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_taken_port_ends_the_run_before_it_begins(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        where = str(other.getsockname()[1])
        taken = pytest.raises(UsageError, match=f"^--metrics {where}: Address already in use$")
        with taken, exporter.serve_metrics(where, tmp_path / "none.sanpath", Choice()):
            pytest.fail("nobody is served")


def test_who_can_reach_it_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for where, reported in (
        ("0", "/metrics\n"),
        ("0.0.0.0:0", "open without a password to anyone who can reach this machine\n"),
    ):
        with exporter.serve_metrics(where, tmp_path / "none.sanpath", Choice()):
            assert capsys.readouterr().err.endswith(reported)


def test_a_scrape_before_and_after_there_is_something_to_tell(tmp_path: Path) -> None:
    folder = tmp_path / "new.sanpath"
    with running_exporter(folder) as (_, url):
        assert "sanpath_up 0.0" in get(url)
        create(folder)
        text = once_up(url)
        assert 'sanpath_verdict{kind="cannot_tell"} 1.0' in text
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(urllib.request.Request(url, method="DELETE"), timeout=10)


def test_it_ends_with_the_recording_when_its_screen_has_gone() -> None:
    folder = recorded("published").folder
    assert isinstance(folder, Path)
    with running_exporter(folder) as (process, url):
        once_up(url)
        assert process.poll() is None
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(60) == 0


def test_the_same_text_of_any_recording() -> None:
    from sanpath.cli import app

    done = CliRunner().invoke(app, ["diagnose", str(recorded("published").folder), "--format", "prometheus"])
    assert done.exit_code == 0
    assert 'sanpath_verdict{kind="bottleneck"} 1.0' in done.stdout
    assert os.linesep.join(done.stdout.splitlines()) + os.linesep == done.stdout

"""`sanpath run` against the simulated SAN over real protocols: secrets stay secret, a source at fault is named."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from sanpath.cli.sessions.child_process import environment
from sanpath.recording.reading.recording import Recording
from sanpath_lab.certificate import server_context
from tests.recorder.processes import children, command, command_line

SECONDS = 5

pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Outcome:
    """A run that has ended. `command_lines`: those of its processes while it ran."""

    code: int
    out: str
    err: str
    folder: Path
    command_lines: str

    def reported(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found


@dataclass(frozen=True)
class LabFolder:
    path: Path

    def config(self) -> dict[str, Any]:
        found: dict[str, Any] = yaml.safe_load((self.path / "sanpath.yaml").read_text())
        return found

    def changed(self, source: str, **keys: object) -> str:
        """The configuration with other keys of one source, as a file beside the original."""
        config = self.config()
        next(s for s in config["sources"] if s["name"] == source).update(keys)
        file = self.path / f"{source}-{'-'.join(keys)}.yaml"
        file.write_text(yaml.safe_dump(config))
        return file.name

    def secrets(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes().strip() for path in (self.path / "secrets").iterdir()}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabFolder]:
    folder = tmp_path_factory.mktemp("lab")
    serving = subprocess.Popen(
        [sys.executable, "-m", "sanpath_lab", "serve", "four-gigabit-switch", "--folder", str(folder)],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert serving.stdin is not None
    assert serving.stdout is not None
    assert serving.stdout.readline()
    yield LabFolder(folder)
    serving.stdin.close()
    serving.wait(20)


@pytest.fixture(scope="module")
def outcomes(lab: LabFolder, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Outcome]:
    """All runs, beside each other: most of their time is waiting."""
    (lab.path / "secrets" / "wrong").write_text("not-the-secret-of-this-device\n")
    server_context(lab.path / "other-ca.pem")
    configs = {
        "good": "sanpath.yaml",
        "token": lab.changed("fa1", api_token="file:secrets/wrong"),
        "community": lab.changed("sw1", community="file:secrets/wrong"),
        "no server": lab.changed("fa1", host=f"127.0.0.1:{unused_port(socket.SOCK_STREAM)}"),
        "no agent": lab.changed("sw1", port=unused_port(socket.SOCK_DGRAM)),
        "ca": lab.changed("fa1", ca_file="other-ca.pem"),
    }
    found: dict[str, Outcome] = {}

    def run(name: str, config: str) -> None:
        folder = tmp_path_factory.mktemp("run")
        found[name] = outcome(folder, lab.path / config)

    threads = [threading.Thread(target=run, args=item) for item in configs.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def outcome(folder: Path, config: Path) -> Outcome:
    words = ("run", "--config", config, "--into", "r.sanpath", "--for", SECONDS, "--format", "json")
    with (folder / "out").open("w") as out, (folder / "err").open("w") as err:
        running = subprocess.Popen(
            command(*map(str, words)), cwd=folder, env=environment(), stdout=out, stderr=err, stdin=subprocess.DEVNULL
        )
    lines: set[str] = set()
    while running.poll() is None:
        lines |= {command_line(process) for process in (running.pid, *children(running.pid))}
        threading.Event().wait(0.2)
    diagnosis, complained = (folder / "out").read_text(), (folder / "err").read_text()
    return Outcome(running.returncode, diagnosis, complained, folder, "\n".join(lines))


def unused_port(kind: socket.SocketKind) -> int:
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize("name", ["good", "token", "community", "no server", "no agent", "ca"])
def test_no_secret_is_anywhere_but_where_it_was_written(
    outcomes: Mapping[str, Outcome], lab: LabFolder, name: str
) -> None:
    ended = outcomes[name]
    assert "sanpath.recorder" in ended.command_lines
    everything = {path: path.read_bytes() for path in ended.folder.rglob("*") if path.is_file()}
    assert len(everything) >= 7
    decoded = rows_as_text(ended.folder / "r.sanpath")
    for secret in lab.secrets().values():
        assert not [path for path, content in everything.items() if secret in content]
        assert secret.decode() not in decoded
        assert secret.decode() not in ended.command_lines


def rows_as_text(folder: Path) -> str:
    """What is compressed in the files."""
    recording = Recording(folder)
    return repr((recording.inventory(), recording.events(), recording.polls(), recording.load_command))


def test_with_the_right_credentials_no_poll_fails(outcomes: Mapping[str, Outcome]) -> None:
    good = outcomes["good"]
    assert good.code == 0, good.err
    assert {source["name"]: source["failures"] for source in good.reported()["sources"]} == {"sw1": 0, "fa1": 0}


@pytest.mark.parametrize(
    ("name", "source", "failure", "words"),
    [
        ("token", "fa1", "refused", "token"),
        ("community", "sw1", "unreachable", "gave no SNMP answer"),
        ("no server", "fa1", "unreachable", "127.0.0.1"),
        ("no agent", "sw1", "unreachable", "gave no SNMP answer"),
        ("ca", "fa1", "misconfigured", "certificate"),
    ],
)
def test_a_source_that_cannot_be_read_is_named_with_the_reason_and_the_other_is_recorded(
    outcomes: Mapping[str, Outcome], name: str, source: str, failure: str, words: str
) -> None:
    ended = outcomes[name]
    assert ended.code == 0, ended.err
    assert "Traceback" not in ended.err
    diagnosis = ended.reported()
    accounts = {account["name"]: account for account in diagnosis["sources"]}
    assert accounts[source]["failures"] >= 1
    (gap,) = [entry for entry in diagnosis["unobserved"] if entry["what"] == f"source {source}"]
    assert words in gap["why"]
    polls = Recording(ended.folder / "r.sanpath").polls()
    assert {poll.failure for poll in polls if poll.source == source and poll.outcome == "failed"} == {failure}
    (other,) = {"sw1", "fa1"} - {source}
    assert accounts[other]["failures"] == 0
    assert sum(poll.rows for poll in polls if poll.source == other) > 0
    kind = "switch_port" if other == "sw1" else "array"
    assert list((ended.folder / "r.sanpath" / "samples" / kind).glob("*.parquet"))

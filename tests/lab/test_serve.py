from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import sanpath_lab
from sanpath_lab.scenario import Scenario, load_scenario

LAB = Path(sanpath_lab.__file__).parent.parent
PYTHON_PATH = {**os.environ, "PYTHONPATH": str(LAB)}
PATIENCE_SECONDS = 60
"""How long a process may take before the test gives up on it."""


class ServedLab:
    """`python -m sanpath_lab serve` as a child, ended when the fixture is."""

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        file = folder / "scenario.yaml"
        file.write_text(yaml.safe_dump(scenario.model_dump(mode="json")))
        self.folder = folder / "run"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "sanpath_lab", "serve", str(file), "--folder", str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=PYTHON_PATH,
        )
        assert self.process.stdout is not None
        self.ready: dict[str, Any] = json.loads(self.process.stdout.readline())

    def load(self, *options: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self.ready["load"], *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=PYTHON_PATH,
        )

    def end(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(PATIENCE_SECONDS)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


@pytest.fixture
def lab(short: Scenario, tmp_path: Path) -> Iterator[ServedLab]:
    load = short.load.model_copy(update={"threads": (1, 4)})
    served = ServedLab(short.model_copy(update={"load": load}), tmp_path)
    try:
        yield served
    finally:
        served.close()


def documents(text: str) -> list[dict[str, Any]]:
    decoder, found, position = json.JSONDecoder(), [], text.find("{")
    while position >= 0:
        one, end = decoder.raw_decode(text, position)
        found.append(one)
        position = text.find("{", end)
    return found


def test_the_configuration_names_every_source_and_no_secret(lab: ServedLab) -> None:
    config_file = Path(lab.ready["config"])
    text = config_file.read_text()
    config = yaml.safe_load(text)
    assert config_file == (lab.folder / "sanpath.yaml").resolve()
    switch, array = config["sources"]
    assert (switch["name"], switch["collector"], switch["host"]) == ("sw1", "snmp_switch", "127.0.0.1")
    assert (array["name"], array["collector"], array["ca_file"]) == ("fa1", "flasharray", "ca.pem")
    assert config["topology"]["things"]["hba:esx7/vmhba2"] == {
        "wwpn": "21:00:00:24:ff:00:00:02",
        "capable_bits_per_second": 8.0e9,
    }
    assert "lun:sqlvm1/sda attached_to vm:sqlvm1" in config["topology"]["links"]
    command_line = Path(f"/proc/{lab.process.pid}/cmdline").read_text()
    for reference in (switch["community"], array["api_token"]):
        kind, _, name = reference.partition(":")
        secret_file = lab.folder / name
        assert kind == "file"
        assert stat.S_IMODE(secret_file.stat().st_mode) == 0o600
        assert secret_file.read_text().strip() not in text + command_line + " ".join(lab.ready["load"])


def test_the_array_can_be_read_over_rest_1_with_the_same_secret(lab: ServedLab) -> None:
    newer, older = (
        yaml.safe_load((lab.folder / name).read_text()) for name in ("sanpath.yaml", "sanpath-rest1.yaml")
    )
    (_, over_rest2), (_, over_rest1) = newer["sources"], older["sources"]
    assert (over_rest2["collector"], over_rest1["collector"]) == ("flasharray", "flasharray_rest1")
    for key in ("name", "host", "api_token", "ca_file"):
        assert over_rest1[key] == over_rest2[key]
    assert older["topology"] == newer["topology"]


def test_the_load_prints_a_document_an_interval_and_the_final_one(lab: ServedLab) -> None:
    out, err = lab.load("--output-format=json", "--status-interval=500ms", "--bs=64k").communicate(
        timeout=PATIENCE_SECONDS
    )
    found = documents(out)
    assert err == ""
    assert len(found) >= 3
    assert [job["jobname"] for job in found[-1]["jobs"]] == ["t1", "t4"]
    assert all(job["read"]["runtime"] >= 750 and job["eta"] == 0 for job in found[-1]["jobs"])
    stamps = [one["timestamp_ms"] for one in found]
    assert stamps == sorted(stamps)


def test_without_json_it_prints_for_people_only(lab: ServedLab) -> None:
    out, _ = lab.load().communicate(timeout=PATIENCE_SECONDS)
    assert "{" not in out
    assert out.startswith("t1: (groupid=0, jobs=1): err= 0: read: IOPS=")


def test_an_interrupt_ends_the_load_as_it_ends_fio(lab: ServedLab) -> None:
    load = lab.load("--output-format=json", "--status-interval=200ms")
    assert load.stdout is not None
    first_line = load.stdout.readline()
    load.send_signal(signal.SIGINT)
    before, _, after = (first_line + load.stdout.read()).partition("\nfio: terminating on signal 2\n")
    assert load.wait(PATIENCE_SECONDS) == 128
    load.communicate()
    assert documents(before)
    assert len(documents(after)) == 1


def test_only_one_load_at_a_time_and_another_after_it(lab: ServedLab) -> None:
    first = lab.load("--output-format=json", "--status-interval=100ms")
    assert first.stdout is not None
    first.stdout.readline()
    refused = lab.load()
    _, err = refused.communicate(timeout=PATIENCE_SECONDS)
    assert (refused.returncode, err) == (1, "fio: a load is under way\n")
    first.kill()
    first.communicate()
    again = lab.load()
    again.communicate(timeout=PATIENCE_SECONDS)
    assert again.returncode == 0


@pytest.fixture
def fabric(tmp_path: Path) -> Iterator[ServedLab]:
    served = ServedLab(load_scenario("oversubscribed-isl"), tmp_path)
    try:
        yield served
    finally:
        served.close()


def test_every_switch_is_a_source_with_a_community_of_its_own(fabric: ServedLab) -> None:
    first, second, _array = yaml.safe_load(Path(fabric.ready["config"]).read_text())["sources"]
    assert (first["name"], second["name"]) == ("sw1", "sw2")
    assert first["port"] != second["port"]
    secrets = {(fabric.folder / switch["community"].removeprefix("file:")).read_text() for switch in (first, second)}
    assert len(secrets) == 2


def _can_connect(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("how", ["end of input", signal.SIGTERM, signal.SIGINT])
def test_it_ends_and_leaves_neither_process_nor_port(lab: ServedLab, how: str | signal.Signals) -> None:
    load = lab.load()
    array_port = int(yaml.safe_load(Path(lab.ready["config"]).read_text())["sources"][1]["host"].split(":")[1])
    assert _can_connect(array_port)
    if isinstance(how, signal.Signals):
        lab.process.send_signal(how)
        assert lab.process.wait(PATIENCE_SECONDS) == 0
    else:
        assert lab.end() == 0
    assert not _can_connect(array_port)
    load.communicate(timeout=PATIENCE_SECONDS)
    assert load.returncode == 1, "the load cannot go on without the SAN"


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sanpath_lab", *arguments],
        capture_output=True,
        text=True,
        env=PYTHON_PATH,
        check=False,
    )


def test_list_names_the_scenarios_and_what_is_true_of_them() -> None:
    listed = command("list")
    assert "four-gigabit-switch: " in listed.stdout
    assert "truth: bottleneck in the fabric, read: switch_port:sw1/0/3; culprit hba:21000024ff000009" in listed.stdout
    assert "truth: configured_cap in the array_front, read: volume:fa1/vol01" in listed.stdout
    for layer in ("array_front", "array_back"):
        assert f"truth: bottleneck in the {layer}, read: array:fa1" in listed.stdout


def test_the_list_as_data_has_name_title_and_truth() -> None:
    found = {entry["name"]: entry for entry in json.loads(command("list", "--json").stdout)}
    assert {"four-gigabit-switch", "slow-drain-host", "oversubscribed-isl"} <= found.keys()
    assert found["oversubscribed-isl"]["truth"]["bottlenecks"] == ["switch_port:sw1/fc1/8", "switch_port:sw2/fc1/8"]
    assert all(entry["title"] for entry in found.values())


def test_an_unknown_scenario_is_refused_in_one_line_with_those_there_are(tmp_path: Path) -> None:
    refused = command("serve", "no-such-scenario", "--folder", str(tmp_path))
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "slow-drain-host" in refused.stderr


def test_a_broken_scenario_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("name: broken\n")
    refused = command("serve", str(tmp_path / "broken.yaml"), "--folder", str(tmp_path))
    assert refused.returncode == 2
    assert "Traceback" not in refused.stderr
    assert "broken.yaml" in refused.stderr

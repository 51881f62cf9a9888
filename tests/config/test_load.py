"""What a right sanpath.yaml becomes."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import SecretStr

from sanpath.config import Config, load_config
from sanpath.model import SourceLink

TEXT = """
sources:
- name: sw1
  collector: snmp_switch
  host: sw1.example.net
  community: file:secrets/community
  every_seconds: 2
- name: fa1
  collector: flasharray
  host: fa1.example.net
  api_token: env:FA1_TOKEN
  ca_file: ca.pem
topology:
  things:
    hba:esx7/vmhba2: {wwpn: "21:00:00:24:ff:00:00:02", capable_bits_per_second: 8.0e+9}
    lun:vm1/sda: {naa: [naa.1, naa.2], queue_depth: 32, thin: true, note:}
  links:
  - load:fio runs_on vm:vm1
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/community").write_text("swordfish\n")
    (tmp_path / "site.yaml").write_text(TEXT)
    monkeypatch.setenv("FA1_TOKEN", "sesame")
    return load_config(tmp_path / "site.yaml")


def test_secrets_are_resolved_and_never_printed(config: Config) -> None:
    switch, array = (source.model_dump() for source in config.sources)
    assert switch["community"] == SecretStr("swordfish")
    assert array["api_token"] == SecretStr("sesame")
    assert "swordfish" not in repr(config)
    assert "sesame" not in repr(config)


def test_paths_are_relative_to_the_file(config: Config, tmp_path: Path) -> None:
    assert config.sources[1].model_dump()["ca_file"] == tmp_path / "ca.pem"


def test_what_people_know_of_the_topology(config: Config) -> None:
    hba, lun = config.entities
    assert hba.ids == {"name": ("esx7/vmhba2",), "wwpn": ("21:00:00:24:ff:00:00:02",)}
    assert hba.attributes == {"capable_bits_per_second": 8e9}
    assert lun.ids == {"name": ("vm1/sda",), "naa": ("naa.1", "naa.2")}
    assert lun.attributes == {"queue_depth": 32, "thin": True, "note": None}
    evidence = "site.yaml: load:fio runs_on vm:vm1"
    assert config.links == (SourceLink("runs_on", ("load", "fio"), ("vm", "vm1"), evidence),)


def test_names_in_a_link_may_contain_spaces(tmp_path: Path) -> None:
    (tmp_path / "site.yaml").write_text("topology:\n  links:\n  - load:fio runs_on vm:SQL Server 01\n")
    (link,) = load_config(tmp_path / "site.yaml").links
    assert (link.relation, link.from_end, link.to_end) == ("runs_on", ("load", "fio"), ("vm", "SQL Server 01"))


def test_without_a_file_there_is_an_empty_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_config(None) == Config(None)


def test_hosts_are_ways_to_log_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_PASSWORD", "hunter2")
    file = tmp_path / "sanpath.yaml"
    file.write_text(
        "hosts:\n"
        "  db1:\n"
        "  db2: {address: 10.0.0.2, port: 2222, user: root, key_file: id, known_hosts: known,\n"
        "        password: env:DB_PASSWORD}\n"
    )
    hosts = load_config(file).hosts
    assert (hosts["db1"].host, hosts["db1"].port, hosts["db1"].password) == ("db1", None, None)
    db2 = hosts["db2"]
    assert (db2.host, db2.port, db2.user) == ("10.0.0.2", 2222, "root")
    assert (db2.key_file, db2.known_hosts) == (tmp_path / "id", tmp_path / "known")
    assert db2.password is not None
    assert db2.password.get_secret_value() == "hunter2"
    assert "hunter2" not in repr(hosts)


@pytest.mark.parametrize(("text", "seconds"), [("90m", 5400), ("24h", 86_400), ("7d", 604_800)])
def test_how_long_samples_are_kept(tmp_path: Path, text: str, seconds: float) -> None:
    file = tmp_path / "sanpath.yaml"
    file.write_text(f"recording: {{keep: {text}}}\n")
    assert load_config(file).keep_seconds == seconds
    file.write_text("sources: []\n")
    assert load_config(file).keep_seconds is None

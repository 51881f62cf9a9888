"""`sanpath init`: an example that can be filled in, and is read as it stands once its secrets exist."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import yaml
from pydantic import SecretStr
from typer.testing import CliRunner, Result

from sanpath import registry
from sanpath.cli import app, detected_config
from sanpath.cli.commands.init import example
from sanpath.config import load_config
from sanpath.errors import ConfigError, UsageError
from sanpath.plugin import CommandReply, Cost
from sanpath.recorder.discovery import Neighbour, Surroundings, parse_lldp, read_surroundings
from sanpath.transport.local_machine import LocalMachine

READERS = [name for name in registry.names() if registry.spec(name).config is not None]
REFERENCE = re.compile(r"env:(\w+)")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["init", *arguments])


def uncommented(text: str) -> str:
    """With every key that may be left out, as the head of the example says."""
    return re.sub(r"(?m)^( *)#(?=\S)", r"\1", text)


def with_secrets(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in REFERENCE.findall(text):
        if name != "NAME":  # the form of a reference, in the head
            monkeypatch.setenv(name, "secret")


def test_the_example_is_read_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "sanpath.yaml"
    result = run("--into", str(file))
    assert result.exit_code == 0, result.output
    assert "sanpath check" in result.stdout
    with_secrets(file.read_text(encoding="utf-8"), monkeypatch)
    assert [source.collector for source in load_config(file).sources] == READERS


def test_without_its_secrets_only_the_reference_is_missing(tmp_path: Path) -> None:
    file = tmp_path / "sanpath.yaml"
    run("--into", str(file))
    with pytest.raises(ConfigError, match=r"environment variable \w+ is not set"):
        load_config(file)


@pytest.mark.parametrize("name", READERS)
def test_every_key_is_there_with_its_meaning(name: str) -> None:
    text = example([name])
    schema = registry.spec(name).config
    assert schema is not None
    everything = yaml.safe_load(uncommented(text))
    (source,) = everything["sources"]
    assert list(source.keys() - schema.model_fields.keys()) == []
    assert list(schema.model_fields.keys() - source.keys()) == []
    prose = " ".join(line.strip("# ") for line in text.splitlines())
    for key, field in schema.model_fields.items():
        if key not in ("name", "collector"):
            assert field.description is not None
            assert field.description in prose
        if SecretStr in (field.annotation, *getattr(field.annotation, "__args__", ())):
            assert str(source[key]).startswith("env:")


def test_the_commented_topology_holds(tmp_path: Path) -> None:
    text = example(["linux_host"])
    file = tmp_path / "sanpath.yaml"
    file.write_text(uncommented(text[text.index("#topology:") :]), encoding="utf-8")
    config = load_config(file)
    assert [entity.kind for entity in config.entities] == ["hba"]
    assert [link.relation for link in config.links] == ["runs_on", "attached_to"]
    assert config.keep_seconds == 24 * 3600


def test_only_the_collectors_that_are_named_are_in_it() -> None:
    text = example(["snmp_switch", "linux_host", "snmp_switch"])
    assert [source["collector"] for source in yaml.safe_load(text)["sources"]] == ["snmp_switch", "linux_host"]


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "sanpath.yaml"
    file.write_text("mine", encoding="utf-8")
    result = run("--into", str(file))
    assert isinstance(result.exception, UsageError)
    assert result.exception.exit_code == 2
    assert str(file) in str(result.exception)
    assert file.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize(
    ("name", "reported"), [("snmp_swich", "did you mean snmp_switch"), ("fio", "needs no configuration")]
)
def test_a_collector_that_is_no_source_is_a_wrong_use(tmp_path: Path, name: str, reported: str) -> None:
    result = run("--into", str(tmp_path / "x.yaml"), "--collector", name)
    assert isinstance(result.exception, UsageError)
    assert reported in str(result.exception)
    assert not (tmp_path / "x.yaml").exists()


def test_a_folder_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    result = run("--into", str(tmp_path / "no" / "sanpath.yaml"))
    assert isinstance(result.exception, UsageError)
    assert "cannot be written" in str(result.exception)


LLDP = """{"lldp": {"interface": [
  {"eth0": {"chassis": {"sw1.example.net": {"id": {"type": "mac", "value": "00:11"},
            "mgmt-ip": ["fe80::1", "192.0.2.10"]}}, "port": {"descr": "Eth1/7"}}},
  {"eth1": {"chassis": {"id": {"type": "mac", "value": "00:12"}}}}]}}"""
ARP = """IP address       HW type     Flags       HW address            Mask     Device
192.0.2.1        0x1         0x2         00:00:5e:00:01:01     *        eth0
192.0.2.9        0x1         0x0         00:00:00:00:00:00     *        eth0
"""


class Machine(LocalMachine):
    """A machine with files of its own and an lldpctl that prints LLDP."""

    async def run(self, command: Sequence[str]) -> CommandReply:
        assert list(command) == ["lldpctl", "-f", "json"]
        return CommandReply(0, LLDP.encode(), b"")


def test_neighbours_and_multipath_devices_are_what_the_machine_shows(tmp_path: Path) -> None:
    for name, uuid in (("dm-0", "LVM-1"), ("dm-3", "mpath-3600a")):
        (tmp_path / f"sys/block/{name}/dm").mkdir(parents=True)
        (tmp_path / f"sys/block/{name}/dm/uuid").write_text(f"{uuid}\n", encoding="utf-8")
        (tmp_path / f"sys/block/{name}/dm/name").write_text(f"name-{name}\n", encoding="utf-8")
    (tmp_path / "proc/net").mkdir(parents=True)
    (tmp_path / "proc/net/arp").write_text(ARP, encoding="utf-8")
    shown = asyncio.run(read_surroundings(Machine(Cost(), [tmp_path])))
    assert shown.multipath == ("name-dm-3",)
    assert shown.neighbours == (Neighbour("eth0", "sw1.example.net", "192.0.2.10"), Neighbour("eth1", "", ""))
    assert shown.arp == ("192.0.2.1",)
    assert [list(parse_lldp(text)) for text in ("", "[]", '{"lldp": []}', '{"lldp": {"interface": 3}}')] == [[]] * 4


def test_with_yes_a_switch_that_answers_is_written_and_nobody_else_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(detected_config, "read_local_surroundings", nothing_around)
    received = list[bytes]()
    with agent("lab-community", received) as port:
        monkeypatch.setenv("COMMUNITY", "lab-community")
        host = f"127.0.0.1:{port}"
        result = run("--yes", "--host", host, "--community", "env:COMMUNITY")
        assert result.exit_code == 0, result.output
        assert f"SNMP: {host} is sw9.example.net: A switch" in result.stdout
        assert len(received) == 1
        Path("sanpath.yaml").unlink()
        refused = run("--yes", "--host", host)
    assert f"SNMP: {host} does not answer the community 'public'" in refused.stdout
    assert len(received) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--host", "sw1"], "are for init --yes"),
        (["--yes", "--host", "sw1:x"], "give HOST or HOST:PORT"),
        (["--yes", "--community", "public"], "never the secret"),
    ],
)
def test_a_mistaken_option_of_yes_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert isinstance(result.exception, UsageError)
    assert message in str(result.exception)
    assert not Path("sanpath.yaml").exists()


async def nothing_around() -> Surroundings:
    return Surroundings()


@contextlib.contextmanager
def agent(community: str, received: list[bytes]) -> Iterator[int]:
    """An SNMP v2c agent that answers one community with its name and description; yields its UDP port."""
    from pyasn1.codec.ber import decoder, encoder
    from pysnmp.proto.api import v2c

    answers = [v2c.OctetString("sw9.example.net"), v2c.OctetString("A switch\r\nCompiled by somebody")]

    def serve(listening: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                datagram, sender = listening.recvfrom(65_535)
                received.append(datagram)
                request, _ = decoder.decode(datagram, asn1Spec=v2c.Message())
                if bytes(v2c.apiMessage.get_community(request)).decode() != community:
                    continue
                reply = v2c.apiMessage.get_response(request)
                names = [name for name, _ in v2c.apiPDU.get_varbinds(v2c.apiMessage.get_pdu(request))]
                pairs = list(zip(names, answers, strict=True))
                v2c.apiPDU.set_varbinds(v2c.apiMessage.get_pdu(reply), pairs)
                listening.sendto(encoder.encode(reply), sender)

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=serve, args=(listening,), daemon=True)
        thread.start()
        yield listening.getsockname()[1]

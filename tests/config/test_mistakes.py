"""Every mistake in sanpath.yaml is one line: file, line, key, what is accepted. A secret is never repeated."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sanpath.cli import main
from sanpath.errors import ConfigError
from sanpath.yaml_document import read_document
from tests.recorder.processes import sanpath

SECRET = "hunter2-is-not-a-reference"
KNOWN = "what-the-variable-holds"
SWITCH = "sources:\n- name: sw1\n  collector: snmp_switch\n  host: 127.0.0.1\n  community: env:COMMUNITY\n"

# What stands in the file, then the line (None: the file as a whole), the key and words of the answer.
MISTAKES = {
    "bad YAML": ("sources: [\n  - x\n", 2, "", ["not valid YAML"]),
    "a tab": ("sources:\n\t- x\n", 2, "", ["not valid YAML"]),
    "a control character": ("sources: \x01\n", None, "", ["not valid YAML"]),
    "a date that is none": ("topology: 2024-99-99\n", None, "", ["not valid YAML"]),
    "two documents": ("sources: []\n---\nsources: []\n", 2, "", ["not valid YAML"]),
    "a list": ("- sources\n", 1, "", ["expected a mapping with the keys sources, topology, hosts"]),
    "unknown top key": ("sources: []\nsource: []\n", 2, "source", ["unknown key", "did you mean sources?"]),
    "an attribute that is none of its words": (
        'topology:\n  things:\n    "hba:h/1":\n      technology: fc\n',
        4,
        "topology.things.hba:h/1.technology",
        ["expected one of fibre_channel, ethernet"],
    ),
    "a number that YAML takes for a text": (
        'topology:\n  things:\n    "hba:h/1":\n      speed_bits_per_second: 8e9\n',
        4,
        "topology.things.hba:h/1.speed_bits_per_second",
        ["expected a number", "'8e9'"],
    ),
    "a key given twice": (SWITCH + "sources: []\n", 6, "sources", ["given before, in line 1"]),
    "recording is no mapping": ("recording: 24h\n", 1, "recording", ["expected a mapping with the key keep"]),
    "unknown key of recording": ("recording: {kep: 24h}\n", 1, "recording.kep", ["did you mean keep?"]),
    "kept for a number": ("recording: {keep: 24}\n", 1, "recording.keep", ["'24' is not a time", "90m, 24h or 7d"]),
    "kept too short": ("recording: {keep: 5m}\n", 1, "recording.keep", ["5m is too short", "10m at least"]),
    "sources is no list": ("sources: {a: 1}\n", 1, "sources", ["expected a list of sources"]),
    "a source is no mapping": ("sources:\n- sw1\n", 2, "sources.0", ["expected a mapping with name and collector"]),
    "unknown collector": (
        SWITCH.replace("snmp_switch", "snmp-switch"),
        3,
        "sources.0.collector",
        ["no collector is called 'snmp-switch'", "did you mean snmp_switch?", "flasharray"],
    ),
    "no collector": (
        "sources:\n- name: sw1\n",
        2,
        "sources.0.collector",
        ["is required", "snmp_switch"],
    ),
    "a misspelt collector": (
        SWITCH.replace("collector:", "colector:"),
        3,
        "sources.0.colector",
        ["unknown key; did you mean collector?"],
    ),
    "a collector of loads": ("sources:\n- {name: f, collector: fio}\n", 2, "sources.0.collector", ["sanpath run --"]),
    "unknown key": (
        SWITCH + "  comunity: x\n",
        6,
        "sources.0.comunity",
        ["unknown key", "did you mean community?", "every_seconds"],
    ),
    "missing key": (SWITCH.replace("  host: 127.0.0.1\n", ""), 2, "sources.0.host", ["is required"]),
    "wrong type": (SWITCH + "  every_seconds: often\n", 6, "sources.0.every_seconds", ["valid number"]),
    "out of range": (SWITCH + "  every_seconds: 0\n", 6, "sources.0.every_seconds", ["greater than 0"]),
    "two of one name": (
        SWITCH + SWITCH.removeprefix("sources:\n"),
        6,
        "sources.1.name",
        ["two sources are called 'sw1'"],
    ),
    "a secret as a value": (
        SWITCH.replace("env:COMMUNITY", SECRET),
        5,
        "sources.0.community",
        ["must be a reference", "env:NAME", "file:PATH", "keyring:SERVICE/USER"],
    ),
    "a secret as an alias": (
        SWITCH.replace("env:COMMUNITY", f"*{SECRET}"),
        5,
        "",
        ["not valid YAML", "undefined alias"],
    ),
    "a secret as a tag": (SWITCH.replace("env:COMMUNITY", f"!{SECRET}"), 5, "", ["not valid YAML"]),
    "a secret in a list": (SWITCH.replace("env:COMMUNITY", f"[{SECRET}]"), 5, "sources.0.community", ["a reference"]),
    "a secret under a wrong key": (SWITCH + f"  password: {SECRET}\n", 6, "sources.0.password", ["unknown key"]),
    "a secret under a wrong scheme": (
        SWITCH.replace("env:COMMUNITY", f"vault:{SECRET}"),
        5,
        "sources.0.community",
        ["must be a reference"],
    ),
    "environment not set": (
        SWITCH.replace("COMMUNITY", "NOT_SET"),
        5,
        "sources.0.community",
        ["the environment variable NOT_SET is not set"],
    ),
    "environment empty": (SWITCH.replace("COMMUNITY", "EMPTY"), 5, "sources.0.community", ["is empty"]),
    "file missing": (SWITCH.replace("env:COMMUNITY", "file:no"), 5, "sources.0.community", ["No such file"]),
    "file is a folder": (SWITCH.replace("env:COMMUNITY", "file:."), 5, "sources.0.community", ["Is a directory"]),
    "file of bytes": (SWITCH.replace("env:COMMUNITY", "file:bytes"), 5, "sources.0.community", ["not UTF-8"]),
    "unknown part of topology": ("topology:\n  link: []\n", 2, "topology.link", ["did you mean links?", "things"]),
    "topology is a list": ("topology: [x]\n", 1, "topology", ["expected a mapping with the keys things and links"]),
    "unknown kind": ("topology:\n  things:\n    disk:sda: {}\n", 3, "topology.things.disk:sda", ["kinds:", "lun"]),
    "thing without kind": ("topology:\n  things:\n    sda:\n", 3, "topology.things.sda", ["is not kind:name"]),
    "unknown relation": (
        "topology:\n  links:\n  - load:fio runs vm:v1\n",
        3,
        "topology.links.0",
        ["no relation is called 'runs'", "runs_on"],
    ),
    "a link of two words": (
        "topology:\n  links:\n  - load:fio vm:v1\n",
        3,
        "topology.links.0",
        ["kind:name relation"],
    ),
    "a WWPN that YAML reads as a number": (
        "topology:\n  things:\n    hba:h/a:\n      wwpn: 21:00:00:24:10:20:30:40\n",
        4,
        "topology.things.hba:h/a.wwpn",
        ["put it in quotes"],
    ),
    "an attribute that is a list": (
        "topology:\n  things:\n    lun:h/a: {size: [1]}\n",
        3,
        "topology.things.lun:h/a.size",
        ["expected text, a number"],
    ),
    "hosts is a list": ("hosts: [db1]\n", 1, "hosts", ["a mapping of host names to their logins"]),
    "a host that is a text": ("hosts:\n  db1: 10.0.0.1\n", 2, "hosts.db1", ["a mapping with the keys address, port"]),
    "a host's name with a comma": ("hosts:\n  'a,b': {}\n", 2, "hosts.a,b", ["letters, digits"]),
    "a host called local": ("hosts:\n  local: {}\n", 2, "hosts.local", ["local is the one sanpath runs on"]),
    "an unknown key of a host": ("hosts:\n  db1: {adress: x}\n", 2, "hosts.db1.adress", ["did you mean address?"]),
    "a port that is none": ("hosts:\n  db1: {port: 0}\n", 2, "hosts.db1.port", ["greater than or equal to 1"]),
    "a host's password": (f"hosts:\n  db1: {{password: {SECRET}}}\n", 2, "hosts.db1.password", ["a reference"]),
    "an endless attribute": (
        "topology: &all\n  things:\n    lun:h/a: {size: *all}\n",
        3,
        "topology.things.lun:h/a.size",
        ["expected text, a number"],
    ),
}


RunHere = Callable[..., str]


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> RunHere:
    """`sanpath run` as the command would, in the folder of the test: the one line that it says."""

    def run(*options: str) -> str:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("COMMUNITY", KNOWN)
        monkeypatch.setenv("EMPTY", "")
        monkeypatch.setattr(sys, "argv", ["sanpath", "run", "--for=1", *options])
        with pytest.raises(SystemExit) as ended:
            main()
        return only_line(ended.value.code, *capfd.readouterr())

    return run


def only_line(code: object, out: str, err: str) -> str:
    assert code == 2, err
    assert out == ""
    assert re.fullmatch(r"sanpath: [^\n]+\n", err), err
    assert KNOWN not in err
    assert SECRET not in err
    return err


@pytest.mark.parametrize(("text", "line", "key", "words"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_one_line(
    tmp_path: Path, refused: RunHere, text: str, line: int | None, key: str, words: list[str]
) -> None:
    (tmp_path / "sanpath.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    reported = refused()
    where = f"sanpath: sanpath.yaml{f':{line}' if line else ''}: {f'{key}: ' if key else ''}"
    assert reported.startswith(where)
    assert not [word for word in words if word not in reported]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bytes", "sanpath.yaml"]


def test_the_command_itself_says_no_more(tmp_path: Path) -> None:
    (tmp_path / "sanpath.yaml").write_text(SWITCH.replace("env:COMMUNITY", SECRET))
    done = sanpath("run", "--for=1", cwd=tmp_path)
    assert "must be a reference" in only_line(done.returncode, done.stdout, done.stderr)


def test_a_file_that_is_not_utf_8(tmp_path: Path, refused: RunHere) -> None:
    (tmp_path / "sanpath.yaml").write_bytes("sources: [] # größe".encode("cp1252"))
    assert refused() == "sanpath: sanpath.yaml: is not UTF-8 text\n"


@pytest.mark.parametrize(("name", "why"), [(".", "Is a directory"), ("no.yaml", "No such file or directory")])
def test_a_file_that_cannot_be_read(refused: RunHere, name: str, why: str) -> None:
    assert refused("--config", name) == f"sanpath: {name}: cannot be read: {why}\n"


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "sources:\n", "topology:\n  things:\n"])
def test_a_configuration_without_sources_has_nothing_to_record(tmp_path: Path, refused: RunHere, text: str) -> None:
    (tmp_path / "sanpath.yaml").write_text(text)
    assert "nothing to record" in refused()


def test_a_source_that_is_not_there_cannot_be_chosen(tmp_path: Path, refused: RunHere) -> None:
    (tmp_path / "sanpath.yaml").write_text(SWITCH)
    assert refused("--only-sources", "sw2") == "sanpath: --only-sources: no source is called 'sw2'; there are: sw1\n"


def test_aliases_of_aliases_are_not_walked_through(tmp_path: Path) -> None:
    levels = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]\n" for n in range(1, 30))
    (tmp_path / "sanpath.yaml").write_text(f"l0: &l0 [1]\n{levels}")
    with pytest.raises(ConfigError, match=r"write out what \*aliases repeat"):
        read_document(tmp_path / "sanpath.yaml")


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    """All mistakes of a file are reported together, so that it can be corrected at once."""
    bad = SWITCH.replace("collector:", "colector:") + "  every_seconds: often\n"
    bad += "- {name: fa1, collector: flasharay, host: x}\n"
    bad += "- {name: sw2, collector: snmp_switch, hots: x, community: plain, every_seconds: 0}\n"
    bad += "topologi: {}\nrecording: {kep: 24h}\n"
    (tmp_path / "sanpath.yaml").write_text(bad, encoding="utf-8")
    done = sanpath("check", "--config", "sanpath.yaml", cwd=tmp_path)
    assert done.returncode == 2
    result = done.stderr.splitlines()
    for words in (
        "sanpath.yaml:3: sources.0.colector: unknown key; did you mean collector?",
        "sanpath.yaml:7: sources.1.collector: no collector is called 'flasharay'; did you mean flasharray?",
        "sanpath.yaml:8: sources.2.hots: unknown key",
        "sanpath.yaml:8: sources.2.every_seconds",
        "sanpath.yaml:8: sources.2.community",
        "sanpath.yaml:9: topologi: unknown key; did you mean topology?",
        "sanpath.yaml:10: recording.kep: unknown key; did you mean keep?",
    ):
        assert [line for line in result if line.startswith(f"sanpath: {words}")], words
    assert "plain" not in done.stderr, "a secret is never repeated"

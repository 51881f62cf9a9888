"""Every parser, protocol answer and document of a recording as a target."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path

import yaml
from pydantic import ValidationError

from sanpath import registry
from sanpath.config import load_config
from sanpath.plugin import ResultReader
from sanpath.recording import documents, rows
from sanpath.rulebook.load import load_rule
from sanpath.sweep.plan import load_plan
from sanpath_collectors.vsphere import parse as vsphere
from sanpath_collectors.vsphere.soap import _NONSENSE
from tests.collectors.test_results import CASES
from tests.fuzz.answers import drawn, seeds, taken
from tests.fuzz.target import Target

_TEXT = 64 << 10
POLLED = ("flasharray", "flasharray_rest1", "prometheus", "linux_host", "linux_target", "snmp_switch", "iostat")
"""Collectors whose recorded answers are changed: REST, Prometheus, output over SSH, values of SNMP."""
_SOAP = (
    b'<?xml version="1.0"?><s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body>'
    b'<r xmlns="urn:vim25"><returnval>'
    b'<entity type="HostSystem">host-1</entity><sampleInfoCSV>20,2026-11-20T08:00:20Z</sampleInfoCSV><value><id>'
    b"<counterId>455</counterId><instance>naa.1</instance></id><value>4</value></value></returnval>"
    b"</r></s:Body></s:Envelope>"
)


def _results(name: str) -> list[bytes]:
    files = []
    for case in CASES:
        if case.parent.name == name:
            said = yaml.safe_load((case / "import.yaml").read_text(encoding="utf-8"))
            files.append((case / said["file"]).read_bytes()[:_TEXT])
    return files


@cache
def _reader(name: str) -> type[ResultReader]:
    found = registry.result_reader(b"", "", name)
    assert found is not None
    return found[1]


def _read(name: str, given: bytes) -> None:
    kind = _reader(name)
    kind.recognises(given[:_TEXT], "result.txt")
    reader = kind("load")
    for at in range(0, len(given), 4096):
        for _ in reader.feed(given[at : at + 4096]):
            pass
    for _ in reader.finish():
        pass


def _as_file(read: Callable[[Path], object], given: bytes) -> None:
    with tempfile.NamedTemporaryFile(suffix=".yaml") as file:
        file.write(given)
        file.flush()
        read(Path(file.name))


def _document(given: bytes) -> None:
    for model in (documents.Manifest, documents.Header, documents.Ending):
        with contextlib.suppress(ValidationError):
            model.model_validate_json(given)


def _row(given: bytes) -> None:
    text = given.decode("utf-8", "replace")
    event = {"source": "s", "seen": 1, "name": "step-begin", "detail": text}
    thing = {
        "source": "s",
        "seen": 1,
        "kind": "lun",
        "local_id": text,
        "label": text,
        "ids": text,
        "attributes": text,
    }
    for read, row in ((rows.event, event), (rows.thing_or_tie, thing)):
        with contextlib.suppress(*rows.MALFORMED):
            read(row)


def _documents() -> Sequence[bytes]:
    table = b'{"kind":"lun","columns":[{"metric":"reads_total","scale":1.0,"bits":64}],"plane":null}'
    source = b'{"name":"s","collector":"c","every_seconds":5,"tables":[' + table + b"]}"
    return (
        b'{"run_id":"0","format":1,"tool_version":"1","started":"2026-01-01T00:00:00Z"}',
        b'{"writer":"host.1","started_us":1,"load_command":["fio"],"sources":[' + source + b"]}",
        b'{"ended_us":1,"load_exit_code":0,"recorder_cpu_seconds":0.5}',
    )


def _yaml(*texts: str) -> Callable[[], Sequence[bytes]]:
    return lambda: [text.encode() for text in texts]


CONFIG = (
    "load: fio\nsources:\n- {name: a, collector: linux_host, every_seconds: 5, devices: [sda]}\n",
    "sources:\n- name: sw\n  collector: snmp_switch\n  host: 192.0.2.1\n  user: monitor\n",
)
PLAN = ("command: [fio, '--iodepth={x}']\nover: {x: [1, 2, 4]}\n",)


def _rules() -> Sequence[bytes]:
    root = Path(__file__).parents[2] / "rules"
    return [path.read_bytes() for path in sorted(root.rglob("*.yaml"))[:20]]


TARGETS = [
    *(Target(name, partial(_results, name), partial(_read, name)) for name in registry.result_readers()),
    *(Target(f"{name} answers", partial(seeds, name), taken, drawn=drawn) for name in POLLED if seeds(name)),
    Target("vsphere answers", lambda: [_SOAP], vsphere.answers, allowed=_NONSENSE),
    Target("documents of a recording", _documents, _document),
    Target(
        "rows of a recording", lambda: [b'{"step": "x", "offered": 1.5}', b'{"wwpn": ["21000024ff000002"]}'], _row
    ),
    Target("sanpath.yaml", _yaml(*CONFIG), partial(_as_file, load_config)),
    Target("plan of a sweep", _yaml(*PLAN), partial(_as_file, load_plan)),
    Target("rule file", _rules, lambda given: load_rule(given, "rule.yaml")),
]

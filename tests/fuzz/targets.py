"""Every parser, protocol answer and document of a recording as a target."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from random import Random

import yaml
from pydantic import ValidationError

from sanpath import registry
from sanpath.config import load_config
from sanpath.errors import SanpathError
from sanpath.plugin import LoadReader, ResultReader
from sanpath.recording.format import documents, rows
from sanpath.rulebook.rule_files import load_rule
from sanpath.sweep.plan import load_plan
from sanpath.transport.ssh import script
from tests.collectors import test_cases
from tests.collectors.test_results import CASES
from tests.fuzz import datagrams, functions, items, recordings, vcenter_answers
from tests.fuzz.answers import bodies, drawn, seeds, taken
from tests.fuzz.target import FLOOR_BYTES, Target

_TEXT = 64 << 10
POLLED = (
    "flasharray",
    "flasharray_rest1",
    "prometheus",
    "linux_host",
    "linux_target",
    "qemu",
    "cloud_volume",
    "ceph",
    "kubernetes",
    "snmp_switch",
    "brocade_rest",
    "cisco_nxapi",
    "iostat",
)
"""Collectors whose recorded answers are changed: REST, Prometheus, output over SSH, values of SNMP."""
GENERATORS = ("fio", "diskspd", "vdbench")
"""Those that sanpath starts, by their commands."""
DOCUMENTS = (documents.Manifest, documents.Header, documents.Ending)
_YAML_BYTES = 80 << 20
"""What 100,000 values of YAML take, the most that are read, however short they are written."""
READERS = registry.result_readers()
_SESSION_BYTES = 32 << 20
"""What a whole session or recording takes, whatever one answer or file of it is."""
_WORD = "0123456789abcdef"
"""Frames what a shell over SSH answers."""
_CALLS = 40
"""Of one function that are kept as recorded ones."""


def _results(name: str) -> list[bytes]:
    files = []
    for case in CASES:
        if case.parent.name == name:
            reported = yaml.safe_load((case / "import.yaml").read_text(encoding="utf-8"))
            files.append((case / reported["file"]).read_bytes()[:_TEXT])
    return files


@cache
def _reader(name: str) -> type[ResultReader]:
    found = registry.result_reader(b"", "", name)
    assert found is not None
    return found[1]


def _read(name: str, given: bytes) -> None:
    kind = _reader(name)
    reader = kind("load")
    for at in range(0, len(given), _TEXT):
        for _ in reader.feed(given[at : at + _TEXT]):
            pass
    for _ in reader.finish():
        pass


@cache
def _load_reader(command: str) -> type[LoadReader]:
    found = registry.load_reader([command], command)
    assert found is not None
    return found[1]


def _output(command: str, given: bytes) -> None:
    """What a load generator writes while it runs or when it ends, in two parts."""
    reader = _load_reader(command)("load")
    half = len(given) // 2
    for seen, part in enumerate((given[:half], given[half:]), start=1):
        for _ in reader.feed(part, seen):
            pass
        reader.passthrough()
    for _ in reader.finish(3):
        pass
    reader.passthrough()


def _recognised(given: bytes) -> None:
    for name in READERS:
        _reader(name).recognises(given[:_TEXT], "result.txt")


def _calls(name: str) -> list[bytes]:
    """What a collector's functions were given while its recorded devices were asked and its recorded files read."""
    known = functions.of(name)
    with functions.noted(known) as found:
        for case in test_cases.CASES:
            if case.parent.name == name:
                with contextlib.suppress(test_cases.CaseFailedError):
                    test_cases.run_case(case)
        if name == "vsphere":
            vcenter_answers.seeds()
        if name in READERS:
            for given in _results(name):
                with contextlib.suppress(SanpathError):
                    _read(name, given)
    some = [b"", b"0", b"a b,c:d=1"]
    return [
        function.encode() + b"\n" + given
        for function, inputs in found.items()
        for given in sorted(inputs or some, key=len)[:: max(1, len(inputs) // _CALLS)]
    ]


def _framed() -> list[bytes]:
    """What a shell answers: files, names, and the outcome of a command with its errors."""
    word, mark = _WORD.encode(), b"/bin/sh\0-s\0" + _WORD.encode() + b"\0"
    files = word + b"\0/proc/stat\0" + mark + b"cpu 1 2\n" + mark
    return [
        files + word + b"\n",
        word + b"\0/sys/a\0/sys/b\0" + word + b"\n",
        word + b"\0out" + word + b"\x000\0" + word,
    ]


def _unframed(given: bytes) -> None:
    for read in (script.parse_files, script.parse_names):
        with contextlib.suppress(ValueError):
            read(given, _WORD)
    with contextlib.suppress(ValueError):
        script.parse_reply(given, given, _WORD)


def _as_file(read: Callable[[Path], object], given: bytes) -> None:
    with tempfile.NamedTemporaryFile(suffix=".yaml") as file:
        file.write(given)
        file.flush()
        read(Path(file.name))


def _document(given: bytes) -> None:
    for model in DOCUMENTS:
        with contextlib.suppress(ValidationError):
            model.model_validate_json(given)


def _row(given: bytes) -> None:
    text = given.decode("utf-8", "replace")
    event = {"source": "s", "seen": 1, "name": "step-begin", "detail": text}
    entity = {
        "source": "s",
        "seen": 1,
        "kind": "lun",
        "local_id": text,
        "label": text,
        "ids": text,
        "attributes": text,
    }
    for read, row in ((rows.event, event), (rows.parse_inventory_row, entity)):
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


def _rows() -> Sequence[bytes]:
    return b'{"step": "x", "offered": 1.5}', b'{"wwpn": ["21000024ff000002"]}'


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


PARSERS = [
    *(
        Target(
            name,
            partial(_results, name),
            partial(_read, name),
            floor_bytes=_YAML_BYTES if name == "figures" else FLOOR_BYTES,
        )
        for name in READERS
    ),
    *(
        Target(f"{name} output", partial(_results, name), partial(_output, name), reducible=name == "fio")
        for name in GENERATORS
    ),
    Target(
        "recognition",
        lambda: [given for name in READERS for given in _results(name)],
        _recognised,
    ),
    *(
        Target(
            f"{name} functions",
            partial(_calls, name),
            partial(functions.taken, functions.of(name)),
            drawn=functions.drawn,
            headed=True,
        )
        for name in registry.names()
        if functions.of(name)
    ),
    Target("flasharray items", partial(bodies, "flasharray"), items.rest2),
    Target("flasharray_rest1 items", partial(bodies, "flasharray_rest1"), items.rest1),
    Target("vsphere replies", vcenter_answers.seeds, vcenter_answers.read, drawn=vcenter_answers.drawn, headed=True),
    Target("answers of a shell", _framed, _unframed, reducible=False),
    Target("documents of a recording", _documents, _document, reducible=False),
    Target("rows of a recording", _rows, _row, reducible=False),
    Target("sanpath.yaml", _yaml(*CONFIG), partial(_as_file, load_config), reducible=False, floor_bytes=_YAML_BYTES),
    Target("plan of a sweep", _yaml(*PLAN), partial(_as_file, load_plan), reducible=False, floor_bytes=_YAML_BYTES),
    Target("rule file", _rules, lambda given: load_rule(given, "rule.yaml"), floor_bytes=_YAML_BYTES),
]
"""Text or bytes in, values out."""


def _conversation(
    name: str,
    recorded: Callable[[], Sequence[bytes]],
    run: Callable[[bytes], object],
    drawn: Callable[[Random, Sequence[bytes]], bytes],
) -> Target:
    return Target(name, recorded, run, drawn=drawn, headed=True, floor_bytes=_SESSION_BYTES, reducible=False)


CONVERSATIONS = [
    _conversation("recording", recordings.seeds, recordings.taken, recordings.drawn),
    _conversation("SNMP datagrams", datagrams.seeds, datagrams.taken, datagrams.drawn),
    *(_conversation(f"{name} answers", partial(seeds, name), taken, drawn) for name in POLLED),
    _conversation("vsphere answers", vcenter_answers.seeds, vcenter_answers.taken, vcenter_answers.drawn),
]
"""A client asks a device that answers as none would; a collector asks one of whose answers one is changed."""

TARGETS = [*PARSERS, *CONVERSATIONS]

"""A redacted recording: the same verdict and joins, and nothing of the original's names."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from duckdb import connect
from typer.testing import CliRunner

from sanpath.cli import app
from sanpath.diagnose import diagnose
from sanpath.errors import RecordingError, SanpathError, UsageError
from sanpath.model import Scalar, SourceEntity, SourceLink, Table
from sanpath.recording.format import layout
from sanpath.recording.reading.recording import Recording
from sanpath.recording.redaction.redact import Redacted, redact
from sanpath.topology.resolve import resolve
from sanpath.views import json as view
from tests.collectors.snmp_switch.test_recorded_walks import DS5100B, INTERCONNECT, SNS2124, WALKS, switch
from tests.collectors.test_recordings import rest2, with_flasharray
from tests.support.recording import RecordingBuilder
from tests.support.stories import STORIES, diagnosed, judged, recorded

HARDWARE = re.compile(
    r"(?i)(v?fc|eth|ethernet|ct|sd|vmhba|vmnic|nvme|san-port-channel|mgmt|vlan|vsan|null|loopback|lun|slot|port|[a-z])?"
    r"[\d/._a-d -]*((fc|eth|iscsi|sas|mgmt|replbond|nvme)[\d.]*)?"
)
"""What parts of hardware are called, numbers, and steps like t16: not what anybody would look for."""


def contents(folder: Path) -> Iterator[tuple[str, str]]:
    """(file, what it says): the bytes of each, what is compressed in it, and its name."""
    connection = connect()
    try:
        for path in sorted(folder.rglob("*")):
            name = str(path.relative_to(folder))
            yield name, name
            if path.is_file():
                yield name, path.read_bytes().decode("utf-8", "replace")
            if path.suffix == ".parquet":
                rows = connection.execute("SELECT * FROM read_parquet(?)", [str(path)]).fetchall()
                yield name, "\n".join(str(value) for row in rows for value in row if isinstance(value, str))
                about = connection.execute("SELECT * FROM parquet_metadata(?)", [str(path)]).fetchall()
                yield name, str(about)
    finally:
        connection.close()


def found_in(folder: Path, *identifiers: str) -> set[tuple[str, str]]:
    """(file, identifier) of those that are in a recording, as they are or as digits without what separates them."""
    wanted = {one.lower() for one in identifiers}
    digits = {
        bare for one in wanted if len(bare := re.sub("[^0-9a-f]", "", one)) >= 12 and re.search("[a-f1-9]", bare)
    }
    hits = set()
    for file, text in contents(folder):
        plain = text.lower()
        words = set(re.findall(r"[\w.-]+|[^\x00-\x7f]+", plain)) | set(re.split(r"[\s/,\"]+", plain))
        bare = re.sub(r"(?<=[0-9a-f])[:.-](?=[0-9a-f])", "", plain)
        hits |= {(file, one) for one in wanted if (one in plain if len(one) > 5 else one in words)}
        hits |= {(file, one) for one in digits if one in bare}
    return hits


def identifiers(recording: Recording) -> set[str]:
    """What a recording's sources call things, and their keys, but for the parts of hardware."""
    found: set[str] = set()
    for source, _, item in recording.inventory():
        found.add(source)
        if isinstance(item, SourceEntity):
            found |= {item.label, item.local_id, *(v for values in item.ids.values() for v in values)}
        else:
            found |= {item.from_end[1], item.to_end[1]}
    named = {part for one in found for part in one.split("/")} - {"config", "recorder", "fio"}
    return {one for one in named if not HARDWARE.fullmatch(one)}


def same(old: Any, new: Any, mapping: Redacted, where: str = "") -> None:
    """Assert that two JSON values are equal but for names and their pseudonyms."""
    if isinstance(old, str) and isinstance(new, str):
        for one, other in zip(re.split(r"([\s–])", old), re.split(r"([\s–])", new), strict=True):
            kind, _, name = one.partition(":")
            assert other in (
                one,
                mapping.pseudonyms.pseudonymise(one),
                f"{kind}:{mapping.pseudonyms.pseudonymise(name)}",
            ), where
    elif isinstance(old, Mapping):
        assert list(old) == list(new), where
        for key in old:
            same(old[key], new[key], mapping, f"{where}.{key}")
    elif isinstance(old, list):
        assert len(old) == len(new), where
        for number, (one, other) in enumerate(zip(old, new, strict=True)):
            same(one, other, mapping, f"{where}[{number}]")
    else:
        assert old == new, where


@pytest.mark.parametrize("story", sorted(STORIES)[::3])
def test_the_diagnosis_is_the_same_but_for_the_names(story: str, tmp_path: Path) -> None:
    folder = recorded(story).folder
    mapping = redact(folder, tmp_path / "r.sanpath")
    copy = Recording(tmp_path / "r.sanpath")
    before, after = (json.loads(view.render(one)) for one in (diagnosed(story), judged(copy)))
    assert before["run"].pop("id") != after["run"].pop("id")
    same(before, after, mapping)
    assert copy.unreadable == set()
    assert not found_in(tmp_path / "r.sanpath", *identifiers(recorded(story)), "esx7", "sqlvm1", "fa1", "sw1")


def test_the_scan_finds_what_is_there() -> None:
    folder = recorded("published").folder
    assert isinstance(folder, Path)
    assert {one for _, one in found_in(folder, "esx7", "fa1", "21:00:00:24:ff:00:00:01")} >= {"esx7", "fa1"}
    assert found_in(folder, next(i for i in identifiers(recorded("published")) if i.startswith(("2", "5"))))


def of_devices(folder: Path) -> Recording:
    """A recording of what three real switches and a real array said."""
    made = RecordingBuilder(folder)
    for source, walk in (("ds5100b", DS5100B), ("sns2124", SNS2124), ("ucs-a", INTERCONNECT)):
        answers = switch(walk)
        _add(made, source, answers.found)
        rows = [
            item
            for item in answers.items
            if not isinstance(item, SourceEntity | SourceLink) and hasattr(item, "table")
        ]
        made.source(source, "snmp_switch", *(item.table for item in rows))
        for item in rows:
            for number, entity in enumerate(item.entity):
                made.samples(source, item.table, 1.0, {entity: {m: v[number] for m, v in item.values.items()}})
    return made.write()


def _add(made: RecordingBuilder, source: str, items: Any) -> None:
    for item in items:
        if isinstance(item, SourceEntity):
            made.entity(source, item.kind, item.local_id, item.label, item.ids, item.attributes)
        elif isinstance(item, SourceLink):
            made.link(source, item.relation, (item.from_end, item.to_end), item.evidence)


def joins_stay(folder: Path, original: Recording) -> set[str]:
    """Redact, compare every entity, key and link; the identifiers of which nothing is left."""
    mapping = redact(original.folder, folder)
    before, after = resolve(original.inventory()), resolve(Recording(folder).inventory())

    def called(entity: str) -> str:
        kind, _, name = entity.partition(":")
        return f"{kind}:{mapping.pseudonyms.pseudonymise(name)}"

    assert {called(entity) for entity in before.entities} == set(after.entities)
    links = {(link.relation, called(link.from_entity), called(link.to_entity)) for link in before.links}
    assert links == {(link.relation, link.from_entity, link.to_entity) for link in after.links}
    assert len(before.unjoined) == len(after.unjoined)
    gone = identifiers(original)
    assert not found_in(folder, *gone)
    return gone


@pytest.mark.skipif(not WALKS.is_dir(), reason="no recorded device answers: set SANPATH_RECORDINGS")
def test_the_joins_of_a_real_fabric_stay_and_its_names_go(tmp_path: Path) -> None:
    original = of_devices(tmp_path / "real.sanpath")
    gone = joins_stay(tmp_path / "r.sanpath", original)
    assert len(gone) > 100
    assert "20007c1cf1f71760" in gone


@with_flasharray
def test_the_joins_of_a_real_array_stay_and_its_names_go(tmp_path: Path) -> None:
    from sanpath_collectors.flasharray import inventory

    made = RecordingBuilder(tmp_path / "real.sanpath")
    made.source("purefa9", "flasharray", Table("array", ()))
    hosts = list(inventory.hosts(rest2("hosts")))
    volumes = list(inventory.volumes(rest2("volumes"), "z-x70-a"))
    known = {t.local_id for t in hosts if isinstance(t, SourceEntity) and t.kind == "host"}
    ports = inventory.ports(rest2("ports"), rest2("network_interfaces"), "z-x70-a")
    _add(made, "purefa9", [*hosts, *volumes, *ports, *inventory.connections(rest2("connections"), known)])
    serials = [v.ids["naa"][0] for v in volumes if isinstance(v, SourceEntity) and "naa" in v.ids]
    for number, naa in enumerate(serials):
        device = {"naa": (f"3{naa.removeprefix('naa.')}",), "device": (f"sd{number}",)}
        made.entity("linux", "lun", f"db1/{number}", ids=device)
    original = made.write()
    gone = joins_stay(tmp_path / "r.sanpath", original)
    assert "z-win2019-poc-lun1" in gone
    backed = [k for k in resolve(Recording(tmp_path / "r.sanpath").inventory()).links if k.relation == "backed_by"]
    assert len(backed) == len(serials) > 20


def test_what_a_hypervisor_calls_its_products_is_kept(tmp_path: Path) -> None:
    """The number of slots of a virtual disk follows from the type of its controller."""
    made = RecordingBuilder(tmp_path / "contoso.sanpath")
    made.source("contoso", "qemu", Table("vdisk", ()))
    products: dict[str, Scalar] = {"controller_type": "virtio_blk", "cache": "none", "format": "qcow2"}
    made.entity("contoso", "vdisk", "payroll/virtio0", attributes={**products, "io_thread": "payroll1"})
    made.entity("contoso", "vm", "payroll")
    made.link("contoso", "attached_to", (("vdisk", "payroll/virtio0"), ("vm", "payroll")))
    made.write()
    redact(tmp_path / "contoso.sanpath", tmp_path / "r.sanpath")
    (disk,) = resolve(Recording(tmp_path / "r.sanpath").inventory()).of_kind("vdisk")
    assert {name: disk.attributes[name] for name in products} == products
    assert not found_in(tmp_path / "r.sanpath", "contoso", "payroll")


def hostile(folder: Path) -> RecordingBuilder:
    """A recording full of what somebody might not want others to read."""
    made = RecordingBuilder(folder)
    made.source("contoso-sw", "snmp_switch", Table("switch_port", ()))
    attributes = {
        "alias": "Contoso payroll, ask Jürgen",
        "description": "</script> contoso",
        "secret": "hunter2 contoso",
    }
    made.entity("contoso-sw", "switch_port", "1", "\x1b[2Jcontoso\u202e", {"name": ("contoso",)}, attributes)
    made.link("contoso-sw", "logged_in", (("wwpn", "21000024ffabc123"), ("switch_port", "1")), 'said "ask Jürgen"')
    made.entity("contoso-sw", "host", "2", attributes={"hydra": 1, "os": "Linux of Contoso"})
    made.poll("contoso-sw", 1, "failed", "10.20.30.40: refused martin@contoso.com: no such host 'hydra'")
    made.event(
        "contoso-sw", 2, "data-warning", code="contoso", text="contoso of martin", why="hydra", step="Contoso 1"
    )
    return made


def rewrite(segment: Path, select: str) -> None:
    connection = connect()
    connection.execute(f"COPY ({select} FROM '{segment}') TO '{segment}.new' (FORMAT parquet)")
    connection.close()
    Path(f"{segment}.new").rename(segment)


HOSTILE = ("contoso", "jürgen", "hunter2", "martin", "hydra", "10.20.30.40", "21000024ffabc123", "payroll")


def test_comments_messages_and_what_no_collector_of_ours_says_are_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "contoso.sanpath"
    hostile(folder).write()
    (folder / "load" / "contoso.1").mkdir(parents=True)
    (folder / "load" / "contoso.1" / "output").write_text("contoso fio-3.36, hostname=hydra")
    (folder / "notes-of-martin.txt").write_text("contoso")
    assert len({one for _, one in found_in(folder, *HOSTILE)}) > 6
    left_out = redact(folder, tmp_path / "r.sanpath").left_out
    assert not found_in(tmp_path / "r.sanpath", *HOSTILE)
    assert left_out == ["load/contoso.1/output"]


@pytest.mark.parametrize(
    "make", ["killed", "empty", "damaged", "not-json", "deep", "keys", "foreign", "columns", "no-header"]
)
def test_what_is_partial_is_copied_as_far_as_it_goes(make: str, tmp_path: Path) -> None:
    folder, copy = tmp_path / "part.sanpath", tmp_path / "r.sanpath"
    if make == "empty":
        layout.create(folder)
    else:
        shutil.copytree(recorded("published").folder, folder)
    [segment, *_] = sorted((folder / "events").glob("*.parquet")) or [folder / "none"]
    if make == "killed":
        next((folder / "writers").glob("*.end.json")).unlink()
    elif make == "damaged":
        segment.write_bytes(segment.read_bytes()[:-9])
    elif make in ("not-json", "deep"):
        detail = '["esx7"]' if make == "not-json" else "[" * 100_000
        rewrite(segment, f"SELECT * REPLACE ('{detail}' AS detail)")
    elif make == "keys":
        rewrite(next((folder / "inventory").glob("*.parquet")), "SELECT * REPLACE ('{\"wwpn\": 5}' AS ids)")
    elif make == "columns":
        rewrite(segment, "SELECT *, 'esx7' AS esx7, ['sqlvm1'] AS sqlvm1")
        shutil.copytree(folder / "samples" / "load", folder / "samples" / "esx7")
    elif make == "foreign":
        (folder / "polls" / "esx7.parquet").write_bytes(b"esx7")
    elif make == "no-header":
        for header in (folder / "writers").glob("*.json"):
            header.write_text("{esx7")
    left_out = redact(folder, copy).left_out
    assert bool(left_out) == (make not in ("killed", "empty"))
    assert not found_in(copy, "esx7", "sqlvm1")
    assert diagnose(Recording(copy)).run.complete == (make not in ("killed", "empty", "no-header"))


@pytest.mark.parametrize("what", ["no recording", "nothing there", "newer", "target is there", "target is a file"])
def test_what_cannot_be_done_is_one_line_and_writes_nothing(what: str, tmp_path: Path) -> None:
    folder, copy = tmp_path / "r.sanpath", tmp_path / "copy.sanpath"
    if what == "no recording":
        folder.mkdir()
    elif what != "nothing there":
        shutil.copytree(recorded("published").folder, folder)
    if what == "newer":
        (folder / "manifest.json").write_text(
            json.dumps({"format": 99, "run_id": "x", "tool_version": "9", "started": ""})
        )
    elif what == "target is there":
        shutil.copytree(folder, copy)
    elif what == "target is a file":
        copy.write_text("mine")
    before = sorted(copy.rglob("*")) if copy.is_dir() else copy.exists()
    with pytest.raises((RecordingError, UsageError)) as reported:
        redact(folder, copy)
    assert "\n" not in str(reported.value)
    assert (sorted(copy.rglob("*")) if copy.is_dir() else copy.exists()) == before


def test_a_copy_that_was_cut_short_is_no_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sanpath.recording.redaction.redact._copy", full)
    with pytest.raises(UsageError, match="No space left on device"):
        redact(recorded("published").folder, tmp_path / "r.sanpath")
    with pytest.raises(SanpathError):
        Recording(tmp_path / "r.sanpath")


@pytest.mark.slow
def test_the_command_says_what_it_did_and_the_key_tells_the_names_again(tmp_path: Path) -> None:
    words = ["redact", str(recorded("published").folder), str(tmp_path / "r.sanpath"), "--key", str(tmp_path / "key")]
    done = CliRunner().invoke(app, words)
    assert (done.exit_code, done.stderr) == (0, "")
    assert re.search(r"r\.sanpath: \d+ names and addresses replaced; the same verdict, bottleneck\n$", done.stdout)
    key = json.loads((tmp_path / "key").read_text())
    assert {"esx7", "fa1", "sw1"} <= set(key.values())
    assert oct((tmp_path / "key").stat().st_mode & 0o777) == "0o600"
    [bottleneck, *_] = diagnose(Recording(tmp_path / "r.sanpath")).verdict.bottlenecks
    again = re.sub(r"name\d+", lambda word: key[word[0]], bottleneck.entity)
    assert again == diagnosed("published").verdict.bottlenecks[0].entity

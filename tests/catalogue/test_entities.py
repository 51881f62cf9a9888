"""The catalogue declares every key, attribute, relation and event that collectors report, and none besides."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from sanpath import registry
from sanpath.catalogue import catalogue
from sanpath.catalogue.values import ADAPTIVE_POLICIES, IN_TURN_POLICIES, SINGLE_PATH_POLICIES
from sanpath.config import _JOIN_KEYS as CONFIG_KEYS
from sanpath.model import Event, SourceEntity, SourceLink
from sanpath.plugin import Item
from sanpath.topology.keys import TRUST
from tests.support.declared import undeclared

ROOT = Path(__file__).parents[2]
_RELATION = re.compile(rf"(\S+) .*? ?({'|'.join(catalogue.relations())}) (\S+) .*")


def reported(document: Any) -> Iterator[Item]:
    """The entities, relations and events of an expected.json."""
    if isinstance(document, list):
        for item in document:
            yield from reported(item)
    elif isinstance(document, dict) and "thing" in document:
        kind, _, local_id = document["thing"].partition(" ")
        yield SourceEntity(kind, local_id, ids=document["ids"], attributes=document["attributes"])
    elif isinstance(document, dict) and "tie" in document:
        match = _RELATION.fullmatch(document["tie"])
        assert match is not None, document
        yield SourceLink(match[2], (match[1], ""), (match[3], ""), "")
    elif isinstance(document, dict) and "event" in document:
        yield Event(0, document["event"], document["detail"])
    elif isinstance(document, dict):
        yield from reported(list(document.values()))


def test_what_the_recorded_cases_report_is_declared() -> None:
    missing = {}
    for file in sorted((ROOT / "tests/collectors").rglob("expected.json")):
        if lines := undeclared(reported(json.loads(file.read_text(encoding="utf-8")))):
            missing[str(file.parent.relative_to(ROOT))] = lines
    assert not missing


def test_what_is_not_declared_is_found() -> None:
    assert undeclared([SourceEntity("hba", "a", ids={"naa": ("1",)}, attributes={"speed": 1})]) == [
        "hba: key naa",
        "hba: speed",
    ]
    assert undeclared([SourceEntity("hba", "a", attributes={"mtu": "9000"})]) == [
        "hba: mtu is '9000', declared as number"
    ]
    assert undeclared([SourceLink("targets", ("vm", "a"), ("wwpn", "b"), "")]) == ["vm targets wwpn"]
    assert not undeclared([SourceLink("targets", ("path", "a"), ("wwpn", "b"), "")])
    assert undeclared([Event(0, "mark"), Event(0, "marked")]) == ["event marked", "mark: text is missing"]


@cache
def texts(*folders: str) -> frozenset[str]:
    """Every literal word and field of the code of some folders or modules, and every word of their data."""
    found: set[str] = set()
    for folder in folders:
        for path in [ROOT / folder] if folder.endswith(".py") else (ROOT / folder).rglob("*.py"):
            code = path.read_text(encoding="utf-8")
            found |= {*re.findall(r"[\"']([\w-]+)[\"'{]", code), *re.findall(r"^    (\w+): ", code, re.MULTILINE)}
        for path in (ROOT / folder).rglob("profiles/*.yaml"):
            found |= set(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    return frozenset(found)


def is_in(name: str, found: frozenset[str]) -> bool:
    """Whether a name is a text of the code, or begins with one that the code puts together with others."""
    return name in found or any(part in name and part in found for part in ("qos_", "limit_", "threads_per_"))


def test_what_is_declared_is_written_or_read_somewhere() -> None:
    code = texts("sanpath", "collectors/sanpath_collectors")
    fields = [field for kind in catalogue.attributes().values() for field in kind.values()]
    events = catalogue.events().values()
    fields += [field for event in events for field in event.details.values()]
    names = {*catalogue.keys(), *catalogue.relations(), *(event.name for event in events), *(f.name for f in fields)}
    assert not {name for name in names if not is_in(name, code)}


def test_a_collector_s_folder_declares_what_it_alone_reports() -> None:
    """Words that nobody else has come and go with the folder."""
    engine = texts("sanpath")
    written = {name: texts(f"collectors/sanpath_collectors/{name}") for name in registry.names()}
    for name, code in written.items():
        own = {field for fields in registry.attributes(name).values() for field in fields}
        assert {field for field in own if not is_in(field, code)} == set(), name
        others = [each for other, each in written.items() if other != name]
        assert {field for field in own if field in engine or any(field in each for each in others)} == set(), name


def test_what_is_declared_as_read_is_read_by_the_engine() -> None:
    folders = ("facts", "topology", "verdict", "explanation", "summary", "comparison", "whatif", "recording", "sweep")
    engine = texts("sanpath/model.py", *(f"sanpath/{folder}" for folder in folders))
    events = [event.name for event in catalogue.events().values() if event.read]
    fields = [f.name for kind in catalogue.attributes().values() for f in kind.values() if f.read]
    assert not {name for name in (*events, *fields) if not is_in(name, engine)}


def test_events_that_the_code_makes_are_declared() -> None:
    made = re.compile(r"Event\((?:[^(),]|\([^()]*\))+,\s*\"([a-z-]+)\"|\.event\(\"([a-z-]+)\"|_event\(\"([a-z-]+)\"")
    names = {
        name
        for folder in ("sanpath", "collectors/sanpath_collectors")
        for path in (ROOT / folder).rglob("*.py")
        for groups in made.findall(path.read_text(encoding="utf-8"))
        for name in groups
        if name
    }
    assert len(names) > 15
    assert names <= set(catalogue.events())


def test_keys_are_those_that_join() -> None:
    assert [key.name for key in catalogue.keys().values() if key.joins] == [key for key in TRUST if key != "name"]
    assert set(CONFIG_KEYS) <= set(catalogue.keys())
    kinds = set(catalogue.kinds())
    assert set(catalogue.attributes()) <= kinds
    assert {key for kind in kinds for key in catalogue.keys_of(kind)} == set(catalogue.keys())
    assert {end for relation in catalogue.relations().values() for ends in relation.ends for end in ends} <= kinds


def test_the_code_knows_only_policies_that_the_catalogue_declares() -> None:
    known = {*IN_TURN_POLICIES, *ADAPTIVE_POLICIES, *SINGLE_PATH_POLICIES}
    assert known <= {*catalogue.attributes()["lun"]["path_policy"].values}

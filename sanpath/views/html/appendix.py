"""The last sections of the report: evidence with units, configuration, joins and sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sanpath.catalogue.catalogue import facts
from sanpath.diagnosis.model import Diagnosis
from sanpath.diagnosis.sources import SourceAccount
from sanpath.model import Scalar
from sanpath.rulebook.model import Finding
from sanpath.summary.names import noun_of
from sanpath.topology.topology import Topology
from sanpath.units import bandwidth, count, duration, iops, percent
from sanpath.views import cells

_MAX_ROWS = 400
"""Maximum rows of a table in the appendix; `sanpath topology --format json` has all of them."""

Rows = Sequence[Sequence[str]]


def appendix(diagnosis: Diagnosis, topology: Topology) -> dict[str, Rows | int]:
    """Tables of a run by name, and the numbers of entities and joins that are left out."""
    shown_entities = [e for e in sorted(topology.entities.values(), key=lambda e: e.id) if e.kind != "link"]
    entities = [
        (
            noun_of(topology, entity.id),
            entity.label,
            ", ".join(f"{key} {value}" for key, values in entity.ids.items() for value in values if key != "name"),
            ", ".join(f"{name} {value}" for name, v in entity.attributes.items() if (value := _scalar(name, v))),
        )
        for entity in shown_entities
    ]
    joins = [
        (link.from_entity, link.relation.replace("_", " "), link.to_entity, "; ".join(link.evidence))
        for link in sorted(topology.links, key=lambda k: (k.relation, k.from_entity, k.to_entity))
    ]
    return {
        "entities": entities[:_MAX_ROWS],
        "joins": joins[:_MAX_ROWS],
        "unjoined": [(u.subject, u.reason) for u in topology.unjoined[:_MAX_ROWS]],
        "sources": [_source(source) for source in diagnosis.sources],
        "hidden": max(0, len(entities) - _MAX_ROWS) + max(0, len(joins) - _MAX_ROWS),
    }


def evidence(finding: Finding) -> Rows:
    """(fact, value) of a finding, with the unit from the catalogue."""
    units = {name: fact.unit for table in facts().values() for name, fact in table.items()}
    return [
        (name.replace("_", " "), fact_text(value, units.get(name, ""))) for name, value in finding.evidence.items()
    ]


def fact_text(value: Scalar, unit: str) -> str:
    """A fact as text for people; "not known" for None."""
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    forms: dict[str, Callable[[float], str]] = {
        "seconds": duration,
        "ratio": percent,
        "bytes per second": bandwidth,
        "operations per second": iops,
        "operations": count,
        "count": count,
        "bits per second": lambda v: f"{v / 1e9:g} Gb/s",
        "bytes": lambda v: f"{v:,.0f} bytes",
    }
    return forms[unit](value) if unit in forms else f"{value:.4g}"


def _scalar(name: str, value: Scalar) -> str:
    if value is None or value == "":
        return ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        for ending, unit in (("bits_per_second", "bits per second"), ("_bytes", "bytes")):
            if name.endswith(ending):
                return fact_text(value, unit)
        return f"{value:g}"
    return fact_text(value, "")


def _source(source: SourceAccount) -> Sequence[str]:
    return (
        source.name,
        source.kind,
        f"{source.every_seconds:g} s",
        str(source.polls),
        str(source.failures),
        str(source.gaps),
        source.last_answer or "never",
        "no clock of its own" if source.clock_offset_seconds is None else cells.clock_text(source),
        f"{source.cost_seconds:.1f} s",
        str(source.requests),
        source.last_failure or "-",
    )

"""Reads JetstressConfig.xml, the configuration of a test."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from sanpath.model import Scalar
from sanpath.plugin import (
    CollectorError,
    Failure,
    Item,
    LoadProfile,
    SourceEntity,
    text_of,
    warning,
    without_none,
)
from sanpath_collectors.jetstress.parse import parse_duration_seconds, parse_number
from sanpath_collectors.jetstress.report import DocumentReader
from sanpath_collectors.jetstress.xml_parser import XmlParser

# Possessive quantifiers, because each comment has one end. Without them, n comments match in 2^n combinations.
_ROOT = re.compile(r"\s*+(?:<\?xml[^>]*+>\s*+)?(?:<!--(?:(?!-->).)*+-->\s*+)*+<configuration\b", re.DOTALL)
_TYPICAL_ELEMENT = re.compile(r"<(?:JetstressVersionGenerated|TestDesignInfo|ExchangeProfile)\b")
_MAJOR_VERSION = re.compile(r"(\d{1,4})(?!\d)", re.ASCII)
_GLOBAL_THREADS_SINCE = 15
"""Major version (Jetstress 2013) since which ThreadCount is the total of all databases. Before, it is for each
one."""


class ConfigurationReader(DocumentReader[XmlParser]):
    """Reads one JetstressConfig.xml. It yields no samples, only the load with its settings."""

    parser_class = XmlParser

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:  # noqa: ARG003 - any name will do
        """Recognise it by its root and by elements that only this file has."""
        text = text_of(head)[0]
        return _ROOT.match(text) is not None and _TYPICAL_ELEMENT.search(text) is not None

    def finish(self) -> Iterable[Item]:
        """Yield the load. Raises CollectorError(UNREADABLE) when the file has no settings of a test."""
        self._parser.finish()
        attributes = _attributes(self._parser.document.values, self._parser.elements.get("eseinstance"))
        if set(attributes) <= {"engine", "rate_limited"}:
            raise CollectorError(
                Failure.UNREADABLE, "has no settings of a test: it is cut, or not a JetstressConfig.xml"
            )
        yield SourceEntity("load", self.load, self.load, {"name": (self.load,)}, attributes)
        if self._parser.is_truncated:
            yield warning(0, "cut", "the XML ends too early, or is damaged: what could be read is used")


def _attributes(values: Mapping[str, str], databases: int | None) -> dict[str, Scalar]:
    threads, version = _integer(values, "threadcount"), values.get("jetstressversiongenerated")
    major = _MAJOR_VERSION.match(version or "")
    is_per_database = major is not None and int(major[1]) < _GLOBAL_THREADS_SINCE
    if is_per_database and threads is not None:
        threads = threads * databases if databases else None
    profile = LoadProfile(
        engine="Jetstress",
        engine_version=version,
        block_bytes=parse_number(values.get("databasepagesize", "")),
        threads=threads,
        files=databases,
        seconds=parse_duration_seconds(values.get("duration", "")),
        rate_limited=(_percent(values, "throughputpercentage") or 1.0) < 1.0,
    )
    details: dict[str, Scalar] = {
        "test_type": values.get("type") or None,
        "description": " ".join(values.get("description", "").split()) or None,
        "threads_per_database": _integer(values, "threadcount") if is_per_database else None,
        "mailboxes": _integer(values, "mailboxcount"),
        "mailbox_bytes": _mebibytes(values, "mailboxquota"),
        "mailbox_ops_per_second": parse_number(values.get("mailboxiops", "")),
        "database_copies": _integer(values, "databasecopycount"),
        "capacity_ratio": _percent(values, "capacitypercentage"),
        "throughput_ratio": _percent(values, "throughputpercentage"),
        "background_maintenance": {"true": True, "false": False}.get(
            values.get("rundatabasemaintenanceperformance", "").lower()
        ),
    }
    return {**profile.attributes, **without_none(details)}


def _integer(values: Mapping[str, str], name: str) -> int | None:
    value = parse_number(values.get(name, ""))
    return None if value is None else round(value)


def _mebibytes(values: Mapping[str, str], name: str) -> float | None:
    value = parse_number(values.get(name, ""))
    return None if value is None else value * 1024.0**2


def _percent(values: Mapping[str, str], name: str) -> float | None:
    value = parse_number(values.get(name, ""))
    return None if value is None else value / 100

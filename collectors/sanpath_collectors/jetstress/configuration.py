"""JetstressConfig.xml: what the test was told to do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from sanpath.model import Scalar
from sanpath.plugin import CollectorError, Failure, Item, LoadProfile, ResultReader, SourceEntity, text_of, warning
from sanpath_collectors.jetstress.parse import duration_seconds, number
from sanpath_collectors.jetstress.xml_form import XmlForm

# Possessive: where a comment ends is found once. Else n comments may be taken together in 2^n ways.
_ROOT = re.compile(r"\s*+(?:<\?xml[^>]*+>\s*+)?(?:<!--(?:(?!-->).)*+-->\s*+)*+<configuration\b", re.DOTALL)
_OWN = re.compile(r"<(?:JetstressVersionGenerated|TestDesignInfo|ExchangeProfile)\b")
_MAJOR = re.compile(r"(\d{1,4})(?!\d)", re.ASCII)
_GLOBAL_THREADS_SINCE = 15
"""Since Jetstress 2013 (version 15) ThreadCount is of all databases together, before it of each."""


class ConfigurationReader(ResultReader):
    """Reads one JetstressConfig.xml: no samples, only the load with what it was told."""

    def __init__(self, load: str) -> None:
        super().__init__(load)
        self._form = XmlForm()

    @classmethod
    def recognises(cls, head: bytes, name: str) -> bool:  # noqa: ARG003 - any name will do
        """By its root and the elements that only it has."""
        text = text_of(head)[0]
        return _ROOT.match(text) is not None and _OWN.search(text) is not None

    def feed(self, added: bytes) -> Iterable[Item]:
        """Collects."""
        self._form.feed(added)
        return ()

    def finish(self) -> Iterable[Item]:
        """Raises CollectorError: it says nothing of the test."""
        self._form.finish()
        attributes = _attributes(self._form.document.values, self._form.elements.get("eseinstance"))
        if set(attributes) <= {"engine", "rate_limited"}:
            raise CollectorError(Failure.UNREADABLE, "says nothing of the test: it is cut, or no JetstressConfig.xml")
        yield SourceEntity("load", self.load, self.load, {"name": (self.load,)}, attributes)
        if self._form.cut:
            yield warning(0, "cut", "the XML ends too early, or is damaged: what could be read is used")


def _attributes(values: Mapping[str, str], databases: int | None) -> dict[str, Scalar]:
    threads, version = _whole(values, "threadcount"), values.get("jetstressversiongenerated")
    major = _MAJOR.match(version or "")
    for_each = major is not None and int(major[1]) < _GLOBAL_THREADS_SINCE
    if for_each and threads is not None:
        threads = threads * databases if databases else None
    profile = LoadProfile(
        engine="Jetstress",
        engine_version=version,
        block_bytes=number(values.get("databasepagesize", "")),
        threads=threads,
        files=databases,
        seconds=duration_seconds(values.get("duration", "")),
        rate_limited=(_percent(values, "throughputpercentage") or 1.0) < 1.0,
    )
    beside: dict[str, Scalar] = {
        "test_type": values.get("type") or None,
        "description": " ".join(values.get("description", "").split()) or None,
        "threads_per_database": _whole(values, "threadcount") if for_each else None,
        "mailboxes": _whole(values, "mailboxcount"),
        "mailbox_bytes": _mebibytes(values, "mailboxquota"),
        "mailbox_ops_per_second": number(values.get("mailboxiops", "")),
        "database_copies": _whole(values, "databasecopycount"),
        "capacity_ratio": _percent(values, "capacitypercentage"),
        "throughput_ratio": _percent(values, "throughputpercentage"),
        "background_maintenance": {"true": True, "false": False}.get(
            values.get("rundatabasemaintenanceperformance", "").lower()
        ),
    }
    return {**profile.attributes, **{name: value for name, value in beside.items() if value is not None}}


def _whole(values: Mapping[str, str], name: str) -> int | None:
    value = number(values.get(name, ""))
    return None if value is None else round(value)


def _mebibytes(values: Mapping[str, str], name: str) -> float | None:
    value = number(values.get(name, ""))
    return None if value is None else value * 1024.0**2


def _percent(values: Mapping[str, str], name: str) -> float | None:
    value = number(values.get(name, ""))
    return None if value is None else value / 100

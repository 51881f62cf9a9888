"""Answers of the Prometheus HTTP API (version 1) → series. No I/O.

An answer to an instant query with a range selector, `up[1m]` (Prometheus 2.42): values are text, times seconds.

    {"status": "success", "data": {"resultType": "matrix", "result": [
      {"metric": {"__name__": "up", "instance": "db7:9100", "job": "node"},
       "values": [[1700000000.123, "1"], [1700000015.123, "1"]]}]}}

`warnings` stand beside `data` where a part of the answer is missing (Thanos, Prometheus with remote read);
VictoriaMetrics says `isPartial`. Samples that mark the end of a series are left out by the server.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sanpath.plugin import CollectorError, Failure, read_json

Labels = Mapping[str, str]
Point = tuple[int, float]
"""Microseconds since the epoch, and the value; NaN: the exporter did not know."""

_EXCERPT_CHARACTERS = 200
NAME = "__name__"


@dataclass(frozen=True, slots=True)
class Series:
    """One time series, oldest sample first."""

    labels: Labels
    points: Sequence[Point]

    @property
    def name(self) -> str:
        """What it is called."""
        return self.labels.get(NAME, "")

    @property
    def written(self) -> str:
        """Its labels as people write them, in a fixed order."""
        said = ", ".join(f'{key}="{value}"' for key, value in sorted(self.labels.items()) if key != NAME)
        return f"{self.name}{{{said}}}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a query. `warnings`: why it may lack something; `unreadable`: series that are none of numbers."""

    series: list[Series] = field(default_factory=list)
    warnings: tuple[str, ...] = ()
    unreadable: int = 0

    @property
    def points(self) -> int:
        """How many samples it holds."""
        return sum(len(series.points) for series in self.series)


def answer(body: bytes) -> Answer:
    """The series of an answer. Raises UNREADABLE with an excerpt.

    >>> found = answer(b'{"status": "success", "data": {"resultType": "vector", "result": '
    ...                b'[{"metric": {"__name__": "up"}, "value": [1700000000.5, "1"]}]}}')
    >>> found.series[0].points
    [(1700000000500000, 1.0)]
    """
    document = _document(body)
    data = document.get("data")
    kind = data.get("resultType") if isinstance(data, dict) else None
    result = data.get("result") if isinstance(data, dict) else None
    if kind not in ("matrix", "vector", "scalar") or not isinstance(result, list):
        raise CollectorError(Failure.UNREADABLE, "an answer without a result", excerpt(body))
    if kind == "scalar":
        result = [{"metric": {}, "value": result}]
    read = [_series(item) for item in result]
    series = [found for found in read if found is not None]
    return Answer(series, _warnings(document), len(read) - len(series))


def names(body: bytes) -> tuple[list[str], tuple[str, ...]]:
    """The values of a label, and why some may be missing. Raises UNREADABLE.

    >>> names(b'{"status": "success", "data": ["up"]}')
    (['up'], ())
    """
    document = _document(body)
    data = document.get("data")
    if not isinstance(data, list):
        raise CollectorError(Failure.UNREADABLE, "an answer without a list of values", excerpt(body))
    return [value for value in data if isinstance(value, str)], _warnings(document)


def version(body: bytes) -> str:
    """The release of the server, "" where it does not say."""
    try:
        data = _document(body).get("data")
    except CollectorError:
        return ""
    return str(data.get("version") or "") if isinstance(data, dict) else ""


def complaint(body: bytes) -> str:
    """What an error answer says, "" where it says nothing."""
    try:
        document = read_json(body)
    except ValueError:
        return ""
    said = document.get("error") if isinstance(document, dict) else None
    return str(said)[:_EXCERPT_CHARACTERS] if said else ""


def excerpt(body: bytes) -> str:
    """The beginning of a body, for a person."""
    return body[:_EXCERPT_CHARACTERS].decode("utf-8", "replace")


def _document(body: bytes) -> dict[str, Any]:
    try:
        document = read_json(body)
    except ValueError as error:
        raise CollectorError(Failure.UNREADABLE, "not JSON", excerpt(body)) from error
    if not isinstance(document, dict) or document.get("status") != "success":
        raise CollectorError(Failure.UNREADABLE, "not an answer of the Prometheus API", excerpt(body))
    return document


def _warnings(document: Mapping[str, Any]) -> tuple[str, ...]:
    said = document.get("warnings")
    found = [str(text) for text in said] if isinstance(said, list) else []
    if document.get("isPartial") is True or document.get("status") == "partial":
        found.append("the server says that a part of it is missing")
    return tuple(text[:_EXCERPT_CHARACTERS] for text in found)


def _series(item: Any) -> Series | None:
    """None: no labels, no values (native histograms), or values that are none."""
    if not isinstance(item, dict) or not isinstance(labels := item.get("metric"), dict):
        return None
    values = item.get("values", [item["value"]] if "value" in item else None)
    if not isinstance(values, list):
        return None
    try:
        points = list(_points(values))
    except (TypeError, ValueError, OverflowError):
        return None
    return Series({str(key): str(value) for key, value in labels.items()}, points)


def _points(values: Sequence[Sequence[Any]]) -> Iterator[Point]:
    """Infinite values say no more than NaN."""
    for time, written in values:
        value = float(written)
        yield round(time * 1000) * 1000, value if math.isfinite(value) else math.nan

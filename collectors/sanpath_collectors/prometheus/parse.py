"""Answers of the Prometheus HTTP API (version 1) → series. No I/O.

An answer to an instant query with a range selector, `up[1m]` (Prometheus 2.42): values are text, times seconds.

    {"status": "success", "data": {"resultType": "matrix", "result": [
      {"metric": {"__name__": "up", "instance": "db7:9100", "job": "node"},
       "values": [[1700000000.123, "1"], [1700000015.123, "1"]]}]}}

`warnings` next to `data` mean that some series may be missing (Thanos, Prometheus with remote read); VictoriaMetrics
writes `isPartial`. The server leaves out samples that mark the end of a series.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sanpath.plugin import CollectorError, Failure, excerpt, json_object, json_texts, read_json

Labels = Mapping[str, str]
Point = tuple[int, float]
"""Microseconds since the epoch, and the value; NaN: unknown to the exporter."""

_MESSAGE_CHARACTERS = 200
NAME = "__name__"


@dataclass(frozen=True, slots=True)
class Series:
    """One time series, oldest sample first."""

    labels: Labels
    points: Sequence[Point]

    @property
    def name(self) -> str:
        """The name of the metric."""
        return self.labels.get(NAME, "")

    @property
    def selector_text(self) -> str:
        """The series as a PromQL selector, with labels in a fixed order."""
        warnings = ", ".join(f'{key}="{value}"' for key, value in sorted(self.labels.items()) if key != NAME)
        return f"{self.name}{{{warnings}}}"


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a query. `warnings`: why series may be missing. `unreadable`: number of series without
    numbers."""

    series: list[Series] = field(default_factory=list)
    warnings: tuple[str, ...] = ()
    unreadable: int = 0

    @property
    def points(self) -> int:
        """The number of samples."""
        return sum(len(series.points) for series in self.series)


def answer(body: bytes) -> Answer:
    """Parse an answer into series. Raises UNREADABLE with an excerpt.

    >>> found = answer(b'{"status": "success", "data": {"resultType": "vector", "result": '
    ...                b'[{"metric": {"__name__": "up"}, "value": [1700000000.5, "1"]}]}}')
    >>> found.series[0].points
    [(1700000000500000, 1.0)]
    """
    document = _document(body)
    data = json_object(document.get("data"))
    kind, result = data.get("resultType"), data.get("result")
    if kind not in ("matrix", "vector", "scalar") or not isinstance(result, list):
        raise CollectorError(Failure.UNREADABLE, "an answer without a result", excerpt(body))
    if kind == "scalar":
        result = [{"metric": {}, "value": result}]
    read = [_series(item) for item in result]
    series = [parsed for parsed in read if parsed is not None]
    return Answer(series, _warnings(document), len(read) - len(series))


def names(body: bytes) -> tuple[list[str], tuple[str, ...]]:
    """Parse the values of a label, and the reasons why some may be missing. Raises UNREADABLE.

    >>> names(b'{"status": "success", "data": ["up"]}')
    (['up'], ())
    """
    document = _document(body)
    data = document.get("data")
    if not isinstance(data, list):
        raise CollectorError(Failure.UNREADABLE, "an answer without a list of values", excerpt(body))
    return json_texts(data), _warnings(document)


def version(body: bytes) -> str:
    """Parse the release of the server; "" if it is not reported."""
    try:
        return str(json_object(_document(body).get("data")).get("version") or "")
    except CollectorError:
        return ""


def error_text(body: bytes) -> str:
    """Parse the message of an error answer; "" if it has none."""
    try:
        document = read_json(body)
    except ValueError:
        return ""
    warnings = json_object(document).get("error")
    return str(warnings)[:_MESSAGE_CHARACTERS] if warnings else ""


def _document(body: bytes) -> dict[str, Any]:
    try:
        document = read_json(body)
    except ValueError as error:
        raise CollectorError(Failure.UNREADABLE, "the answer is not JSON", excerpt(body)) from error
    if not isinstance(document, dict) or document.get("status") != "success":
        raise CollectorError(Failure.UNREADABLE, "not an answer of the Prometheus API", excerpt(body))
    return document


def _warnings(document: Mapping[str, Any]) -> tuple[str, ...]:
    warnings = document.get("warnings")
    parsed = [str(text) for text in warnings] if isinstance(warnings, list) else []
    if document.get("isPartial") is True or document.get("status") == "partial":
        parsed.append("the server reports that a part of it is missing")
    return tuple(text[:_MESSAGE_CHARACTERS] for text in parsed)


def _series(item: Any) -> Series | None:
    """Parse one series. None: it has no labels, no values (native histograms), or invalid values."""
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
    """Parse the samples of a series; infinite values become NaN."""
    for seconds, text in values:
        value = float(text)
        yield round(float(seconds) * 1000) * 1000, value if math.isfinite(value) else math.nan

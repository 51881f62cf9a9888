"""A diagnosis as metric families of prometheus_client, which writes them as text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, InfoMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from sanpath.diagnosis.model import Diagnosis
from sanpath.masking import printable
from sanpath.views.prometheus.metric_declarations import METRICS, Metric

MAX_SERIES = 2000
"""Maximum series of a metric, so that a large fabric does not overload the server."""
LABEL_CHARACTERS = 200
"""Longer names are cut: many servers are configured to refuse a complete scrape because of one long label."""
LEFT_OUT = "sanpath_series_left_out"

_UNITS = ("bytes_per_second", "operations_per_second", "seconds", "ratio", "operations")


def render(diagnosis: Diagnosis) -> str:
    """The classic text format, for the textfile collector of node_exporter and for push gateways."""
    registry = CollectorRegistry()
    registry.register(_Fixed(diagnosis))
    return generate_latest(registry).decode()


class _Fixed(Collector):
    def __init__(self, diagnosis: Diagnosis) -> None:
        self._diagnosis = diagnosis

    def collect(self) -> Iterator[Family]:
        return families(self._diagnosis)


def families(diagnosis: Diagnosis) -> Iterator[Family]:
    """Every metric that has series, and the number of series left out of each."""
    left_out = GaugeMetricFamily(LEFT_OUT, f"Series beyond {MAX_SERIES} of a metric.", labels=("metric",))
    for metric in METRICS:
        shown = _distinct(metric, diagnosis)
        family = _family(metric)
        for labels, value in islice(shown.items(), MAX_SERIES):
            _add(family, metric, labels, value)
        if shown:
            yield family
        if len(shown) > MAX_SERIES:
            left_out.add_metric((f"sanpath_{metric.name}",), len(shown) - MAX_SERIES)
    if left_out.samples:
        yield left_out


def _distinct(metric: Metric, diagnosis: Diagnosis) -> dict[tuple[str, ...], float]:
    """Labels → value, without unknown values. Two equal series would make a server refuse the scrape: names that
    become equal when unsafe characters are removed get a number."""
    series: dict[tuple[str, ...], float] = {}
    for raw, value in metric.read(diagnosis):
        if value is None:
            continue
        labels = tuple(printable(label or "")[:LABEL_CHARACTERS] for label in raw)
        number = 1
        while labels in series:
            number += 1
            labels = (f"{labels[0].partition(' #')[0]} #{number}", *labels[1:])
        series[labels] = value
    return series


def _family(metric: Metric) -> Family:
    name = f"sanpath_{metric.name}"
    if metric.kind == "info":
        return InfoMetricFamily(name, metric.meaning, labels=())
    unit = next((u for u in _UNITS if name.removesuffix("_total").endswith(f"_{u}")), "")
    if metric.kind == "counter":
        return CounterMetricFamily(name, metric.meaning, labels=metric.labels, unit=unit)
    return GaugeMetricFamily(name, metric.meaning, labels=metric.labels, unit=unit)


def _add(family: Family, metric: Metric, labels: tuple[str, ...], value: float) -> None:
    if isinstance(family, InfoMetricFamily):
        family.add_metric((), dict(zip(metric.labels, labels, strict=True)))
    elif isinstance(family, CounterMetricFamily | GaugeMetricFamily):
        family.add_metric(labels, value)

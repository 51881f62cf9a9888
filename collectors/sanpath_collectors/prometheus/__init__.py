"""Series of hosts, switches and arrays on a Prometheus-compatible server, live or of a finished test."""

from __future__ import annotations

from sanpath.plugin import Right, Spec
from sanpath_collectors.prometheus.config import PrometheusConfig
from sanpath_collectors.prometheus.tables import TABLES

COLLECTOR = Spec(
    name="prometheus",
    title="Prometheus, VictoriaMetrics, Thanos or Mimir",
    config=PrometheusConfig,
    collector="sanpath_collectors.prometheus.collector:Prometheus",
    tables=TABLES,
    rights=(
        Right(
            "Reading /api/v1/query and /api/v1/label/__name__/values",
            "all samples",
            "nothing is read",
        ),
    ),
)

"""docs/prometheus.md: every metric that is exported, from its declaration."""

from __future__ import annotations

from sanpath.docgen.markdown import GENERATED, table
from sanpath.views.prometheus.exporter import EXPORTER_METRICS
from sanpath.views.prometheus.exposition import LABEL_CHARACTERS, LEFT_OUT, MAX_SERIES
from sanpath.views.prometheus.metric_declarations import METRICS

_INTRODUCTION = f"""\
`sanpath run --metrics 9464` serves the run at `http://127.0.0.1:9464/metrics` until it ends, in the classic text
format or as OpenMetrics, as the server asks; `sweep` and `demo` take the option too. Only this machine reaches it
unless another address is given, as `--metrics 10.0.0.5:9464`; there is no password. A process of its own looks at the
recording every few seconds, and a scrape gets what it saw last: scrapes cost the test nothing. What
`sanpath diagnose RECORDING --format prometheus` prints is the same, for the textfile collector of node_exporter.

Units are base units. Names are stable: metrics and labels are added, never renamed. What is not known has no series.
Values of labels come from topology, rulebook and catalogue, so that the SAN bounds their number. A metric has at most
{MAX_SERIES} series (`{LEFT_OUT}` tells how many more there were), a name at most {LABEL_CHARACTERS} characters. A
dashboard and alert rules are in [examples/grafana](../examples/grafana/README.md).
"""


def documents() -> dict[str, str]:
    """Path below the root of the checkout → content."""
    rows = []
    for metric in METRICS:
        name = f"`sanpath_{metric.name}{'_info' if metric.kind == 'info' else ''}`"
        rows.append((name, metric.kind, ", ".join(metric.labels), metric.meaning))
    rows += [(f"`{name}`", "gauge", "", meaning) for name, meaning in EXPORTER_METRICS.items()]
    rows.append((f"`{LEFT_OUT}`", "gauge", "metric", "Series beyond the most that a metric may have."))
    sections = [
        GENERATED,
        "# Metrics for Prometheus\n",
        _INTRODUCTION,
        table(("metric", "kind", "labels", "meaning"), rows),
    ]
    return {"docs/prometheus.md": "\n".join(sections)}

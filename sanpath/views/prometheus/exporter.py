"""`python -m sanpath.views.prometheus.exporter HOST PORT FOLDER [CHOICE]`: serves a recording that grows.

It is a separate process that reads the folder like any other reader: neither a scrape nor a server that hangs can
delay a poll. A scrape gets the last judgement and starts no new one. The first line on standard output is the port,
or the reason why there is none. If standard input closes, the screen has gone; the exporter then ends with the
recording.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from threading import Event, Thread

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from sanpath.recording.reading.sample_cache import SampleCache
from sanpath.recording.storage.store import Location, location, store_at
from sanpath.rulebook.site.options import Choice
from sanpath.views.live.reading.judging import prepare, read_snapshot
from sanpath.views.live.reading.priority import lower_priority
from sanpath.views.live.reading.snapshot import Snapshot
from sanpath.views.prometheus.exposition import families

EXPORTER_METRICS = {
    "sanpath_up": "1: the recording could be judged; 0: there is no verdict yet, or no longer.",
    "sanpath_look_timestamp_seconds": "When the recording was last read.",
    "sanpath_look_duration_seconds": "How long reading it took.",
    "sanpath_recorder_silent": "1: nothing new for a long time; the recorder is gone.",
}
"""Name → meaning of the metrics about the snapshots; all are gauges without labels."""


class SnapshotCollector(Collector):
    """The metrics of the last snapshot. For a dead recorder, only its silence is exported."""

    def __init__(self) -> None:
        self.snapshot = Snapshot(time.time(), None)

    def collect(self) -> Iterator[Family]:
        """Return the metrics for a scrape."""
        snapshot = self.snapshot
        diagnosis = None if snapshot.silent else snapshot.diagnosis
        values = (diagnosis is not None, snapshot.taken, snapshot.cost_seconds, snapshot.silent)
        for (name, meaning), value in zip(EXPORTER_METRICS.items(), values, strict=True):
            yield GaugeMetricFamily(name, meaning, value=float(value))
        if diagnosis is not None:
            yield from families(diagnosis)


def main(host: str, port: int, folder: Location, choice: Choice) -> None:
    """Serve until the process is ended, or the run has ended and has no screen."""
    prepare(choice)
    lower_priority()
    shown, orphaned, cache = SnapshotCollector(), Event(), SampleCache(store_at(folder))
    registry = CollectorRegistry()
    registry.register(shown)
    try:
        server, _ = start_http_server(port, host, registry)
    except OSError as error:
        print(error.strerror or error, flush=True)
        sys.exit(1)
    print(server.server_port, flush=True)
    Thread(target=_report_end_of_input, args=(orphaned,), daemon=True).start()
    while True:
        snapshot = shown.snapshot = read_snapshot(folder, choice, shown.snapshot, cache)
        if orphaned.is_set() and (snapshot.ended or snapshot.silent or snapshot.diagnosis is None):
            return
        time.sleep(snapshot.pause_seconds)


def _report_end_of_input(orphaned: Event) -> None:
    sys.stdin.read()
    orphaned.set()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), location(sys.argv[3]), Choice.from_arguments(sys.argv[4:]))

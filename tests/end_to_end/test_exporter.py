"""A real Prometheus scrapes a run of the simulated SAN: the dashboard has data, the verdict is that of the report."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from sanpath.cli.sessions.child_process import environment
from sanpath.cli.sessions.lab_process import serve_lab
from tests.collectors.prometheus.test_real_server import free_port
from tests.support.failed_sources import failed_sources

ROOT = Path(__file__).parents[2]
GRAFANA = ROOT / "examples" / "grafana"
SECONDS = 34
"""Enough for a step with four windows, in which the full link is seen."""
SCENARIO = "four-gigabit-switch"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (shutil.which("prometheus") and shutil.which("promtool")), reason="needs prometheus and promtool"
    ),
]


@dataclass
class Scraped:
    """A run that has ended: its report, what a scrape gave while it ran, and the server that scraped it."""

    report: dict[str, Any]
    openmetrics: str
    exporter: str
    server: str
    began: float

    def asked(self, path: str, **parameters: str) -> Any:
        return asked(f"{self.server}/api/v1/{path}?{urllib.parse.urlencode(parameters)}")

    def over_the_run(self, query: str) -> list[Any]:
        """Every series that a query gave at any time."""
        span = {"start": str(self.began), "end": str(time.time()), "step": "1"}
        found: list[Any] = self.asked("query_range", query=query, **span)["data"]["result"]
        return found


def asked(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)


@contextmanager
def prometheus(folder: Path, exporter: str) -> Iterator[str]:
    """The example's configuration with another address and more haste."""
    config = yaml.safe_load((GRAFANA / "prometheus.yaml").read_text())
    [job] = config["scrape_configs"]
    assert job["static_configs"] == [{"targets": ["127.0.0.1:9464"]}]
    job["static_configs"][0]["targets"] = [urllib.parse.urlsplit(exporter).netloc]
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    (folder / "prometheus.yaml").write_text(yaml.safe_dump(config))
    shutil.copy(GRAFANA / "alerts.yaml", folder)
    address = f"127.0.0.1:{free_port()}"
    options = (f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address={address}")
    command = ["prometheus", f"--config.file={folder / 'prometheus.yaml'}", *options]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture(scope="module")
def run() -> Iterator[Scraped]:
    with tempfile.TemporaryDirectory(prefix="sanpath-exporter-") as name:
        folder = Path(name)
        with serve_lab(SCENARIO, folder) as lab:
            words = ["run", "--metrics", "0", "--for", str(SECONDS), "--plain", "--format", "json", "--load", "fio"]
            words += ["--config", str(lab.config), "--into", str(folder / "run.sanpath"), "--", *lab.load]
            began = time.time()
            process = subprocess.Popen(
                [sys.executable, "-m", "sanpath", *words],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                cwd=folder,
                env=environment(),
            )
            assert process.stderr is not None
            reported = process.stderr.readline()
            match = re.fullmatch(r"sanpath: metrics at (http://127\.0\.0\.1:\d+/metrics)\n", reported)
            assert match, reported + process.stderr.read()
            with prometheus(folder, match[1]) as server:
                openmetrics = ""
                while process.poll() is None and "sanpath_load_latency" not in openmetrics:
                    time.sleep(1)
                    accepts = {"Accept": "application/openmetrics-text; version=1.0.0"}
                    with urllib.request.urlopen(urllib.request.Request(match[1], headers=accepts)) as answer:
                        assert answer.headers["Content-Type"].startswith("application/openmetrics-text")
                        openmetrics = answer.read().decode()
                report, errors = process.communicate()
                assert process.returncode == 0, errors
                yield Scraped(json.loads(report), openmetrics, match[1], server, began)


def dashboard_queries() -> list[tuple[str, str]]:
    panels = json.loads((GRAFANA / "dashboard.json").read_text())["panels"]
    return [
        (f"{p['title']} {t['refId']}", t["expr"].replace("$instance", ".*")) for p in panels for t in p["targets"]
    ]


@pytest.mark.parametrize(("panel", "query"), dashboard_queries(), ids=lambda text: text if "{" not in text else "")
def test_every_query_of_the_dashboard_has_data(run: Scraped, panel: str, query: str) -> None:
    assert run.over_the_run(query), panel


def test_the_server_never_failed_to_scrape(run: Scraped) -> None:
    [up] = run.over_the_run('up{job="sanpath"}')
    seen = [int(value) for _, value in up["values"]]
    assert 1 in seen
    # Once the run has ended nobody answers any more.
    assert 0 not in seen[seen.index(1) : len(seen) - seen[::-1].index(1)]


def test_the_server_was_told_the_verdict_of_the_report(run: Scraped) -> None:
    verdict = run.report["verdict"]
    assert verdict["kind"] == "bottleneck"
    entities = {series["metric"]["entity"] for series in run.over_the_run("sanpath_bottleneck_info")}
    assert verdict["bottlenecks"][0]["entity"] in entities
    kinds = {series["metric"]["kind"] for series in run.over_the_run("sanpath_verdict == 1")}
    assert "bottleneck" in kinds


def test_the_throughput_that_was_scraped_is_that_of_the_report(run: Scraped) -> None:
    measured = {
        round(s["directions"]["read"]["bytes_per_second"] / 1e6) for s in run.report["steps"] if s["directions"]
    }
    [series] = run.over_the_run('sanpath_load_bytes_per_second{direction="read"}')
    last = float(series["values"][-1][1]) / 1e6
    assert min(abs(last - m) / m for m in measured) < 0.1


def test_an_openmetrics_scrape_is_openmetrics(run: Scraped) -> None:
    families = {family.name: family for family in text_string_to_metric_families(run.openmetrics)}
    assert families["sanpath_load_latency_seconds"].unit == "seconds"
    assert families["sanpath_source_polls"].type == "counter"
    assert families["sanpath_step"].type == "info"


def test_the_alert_of_the_full_link_was_pending_or_up(run: Scraped) -> None:
    found = {series["metric"]["alertname"] for series in run.over_the_run("ALERTS")}
    assert "SanpathFinding" in found
    assert "SanpathRecorderSilent" not in found


def test_no_source_failed_and_nothing_listens_afterwards(run: Scraped) -> None:
    assert run.report["sources"]
    assert not failed_sources(run.report["sources"])
    with pytest.raises(urllib.error.URLError, match="refused"):
        urllib.request.urlopen(run.exporter, timeout=5)


@pytest.mark.parametrize(
    "words",
    [
        ("check", "rules", "examples/grafana/alerts.yaml"),
        ("check", "config", "examples/grafana/prometheus.yaml"),
        ("test", "rules", "tests/examples/alerts-test.yaml"),
    ],
    ids=" ".join,
)
def test_the_examples_are_what_promtool_wants(words: tuple[str, ...]) -> None:
    done = subprocess.run(["promtool", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr

"""Which tests run beside which others: `make test` and `make realtime` run the groups one after the other, each with
its own number of workers; what computes slowly runs beside what waits."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

TESTS = Path(__file__).parent
# How long an example takes says more about the machine than about sanpath.
settings.register_profile("sanpath", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", settings.get_profile("sanpath"), derandomize=True)
settings.load_profile("sanpath")

COMPUTING, WAITING, MEASURING, ALONE = "computing", "waiting", "measuring", "alone"
SLOW = "slow"
OWN_DATABASES = {
    "benchmarks",
    "faults",
    "fuzz",
    "recording/test_absurdly_many.py",
    "recording/test_concurrent_reading.py",
    "recording/test_long_run.py",
    "recording/test_memory.py",
    "recording/test_row_budget.py",
    "recording/test_s3.py",
    "recording/test_stores.py",
    "recording/test_untrusted.py",
}
"""Paths below tests about what a database may access, and what it takes in memory and time."""
GROUPS = {
    "cli/test_lab_runs.py": WAITING,
    "cli/test_metrics.py": WAITING,
    "collectors/prometheus/test_real_server.py": WAITING,
    "collectors/snmp_switch/test_recorded_fabric.py": WAITING,
    "end_to_end": WAITING,
    "end_to_end/test_array_lab.py": COMPUTING,
    "end_to_end/test_cluster.py": COMPUTING,
    "end_to_end/test_fabric_lab.py": COMPUTING,
    "end_to_end/test_html_report.py": COMPUTING,
    "end_to_end/test_three_sites.py": ALONE,
    "end_to_end/test_vsphere_lab.py": COMPUTING,
    "end_to_end/test_whatif_lab.py": COMPUTING,
    "faults": WAITING,
    "faults/test_absurd_counters.py": COMPUTING,
    "faults/test_agents_in_a_run.py": MEASURING,
    "faults/test_certificates.py": COMPUTING,
    "faults/test_every_fault.py": COMPUTING,
    "faults/test_late_answers.py": MEASURING,
    "faults/test_names.py": COMPUTING,
    "faults/test_restart.py": MEASURING,
    "faults/test_schedule.py": COMPUTING,
    "kernel_lab/test_run.py": ALONE,
    "lab/test_serve.py": WAITING,
    "probe/test_engines.py": WAITING,
    "probe/test_session.py": WAITING,
    "real_lab": MEASURING,
    "real_lab/test_files.py": COMPUTING,
    "real_lab/test_measured_array.py": COMPUTING,
    "real_lab/test_nbdkit_log.py": COMPUTING,
    "real_lab/test_state.py": COMPUTING,
    "real_lab/test_teardown.py": WAITING,
    "recorder": WAITING,
    "recorder/importing": COMPUTING,
    "recorder/test_schedule.py": COMPUTING,
    "recorder/test_sink.py": COMPUTING,
    "recorder/test_steady.py": COMPUTING,
    "views/live/test_killed_screen.py": MEASURING,
    "views/live/test_slow_terminal.py": WAITING,
    "views/live/test_terminal.py": WAITING,
}
"""Path below tests → marker; the longest that fits counts, and what is in none only computes."""


def group(path: Path) -> str:
    """The marker of a file of tests."""
    name = path.relative_to(TESTS)
    return next((GROUPS[p.as_posix()] for p in (name, *name.parents) if p.as_posix() in GROUPS), COMPUTING)


@pytest.fixture(scope="module", autouse=True)
def databases(request: pytest.FixtureRequest) -> Iterator[None]:
    """Tests that compute share databases."""
    name = request.path.relative_to(TESTS)
    if group(request.path) != COMPUTING or not OWN_DATABASES.isdisjoint(p.as_posix() for p in (name, *name.parents)):
        yield
        return
    from tests.support.databases import shared_databases  # What starts the workers need not load DuckDB.

    with shared_databases():
        yield


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where one group is asked for, or what is slow in it, other files are not even imported: to collect all takes a
    quarter minute."""
    asked, _, more = config.getoption("markexpr").partition(" and ")
    if asked not in {COMPUTING, *GROUPS.values()} or collection_path.suffix != ".py":
        return None
    if group(collection_path) != asked:
        return True
    named = collection_path.name.startswith("test_")
    return (named and more == SLOW and f"mark.{SLOW}" not in collection_path.read_text(encoding="utf-8")) or None


def pytest_configure() -> None:
    """To collect thousands of tests makes no garbage: looking for it would take a quarter of the time. Without
    bytecode, each of the hundreds of processes that the tests start would compile every module anew."""
    gc.disable()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False


def pytest_collection_finish() -> None:
    """What is collected lives to the end: nobody need look through it again and again."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """At the end of the process everything goes in order."""
    gc.unfreeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them, and begin with slow files: one that begins last would keep a single worker busy at the end."""
    files = {item.path for item in items}
    markers = {path: group(path) for path in files if path.is_relative_to(TESTS)}
    slow = {item.path for item in items if item.get_closest_marker(SLOW)}
    for item in items:
        if item.path in markers:
            item.add_marker(markers[item.path])
    items.sort(key=lambda item: item.path not in slow)

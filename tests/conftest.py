"""Which tests run beside which others: `make test` runs those that compute, then those that wait, then the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
GROUPS = {
    "cli/test_lab_runs.py": "alone",
    "end_to_end": "waiting",
    "end_to_end/test_array_lab.py": None,
    "end_to_end/test_array_over_rest.py": "alone",
    "end_to_end/test_cluster.py": None,
    "end_to_end/test_exporter.py": "alone",
    "end_to_end/test_fabric_lab.py": "alone",
    "end_to_end/test_html_report.py": None,
    "end_to_end/test_three_sites.py": "alone",
    "end_to_end/test_vsphere_lab.py": "alone",
    "end_to_end/test_whatif_lab.py": None,
    "faults": "waiting",
    "faults/test_absurd_counters.py": None,
    "faults/test_agents_in_a_run.py": "alone",
    "faults/test_certificates.py": None,
    "faults/test_every_fault.py": None,
    "faults/test_every_source_fails.py": "alone",
    "faults/test_late_answers.py": "alone",
    "faults/test_names.py": None,
    "faults/test_one_device_twice.py": "alone",
    "faults/test_restart.py": "alone",
    "faults/test_schedule.py": None,
    "faults/test_snmp_clients.py": "alone",
    "kernel_lab/test_run.py": "alone",
    "probe/test_session.py": "waiting",
    "real_lab": "alone",
    "real_lab/test_files.py": None,
    "real_lab/test_measured_array.py": None,
    "real_lab/test_nbdkit_log.py": None,
    "real_lab/test_state.py": None,
    "real_lab/test_teardown.py": "waiting",
    "recorder": "waiting",
    "recorder/importing": None,
    "recorder/test_schedule.py": None,
    "recorder/test_sink.py": None,
    "recorder/test_slow_parser.py": "alone",
    "recorder/test_steady.py": None,
    "views/live/test_terminal.py": "alone",
}
"""Path below tests → marker; the longest that fits counts. A folder of real processes names what only computes."""


def group(path: Path) -> str | None:
    """The marker of a file of tests; None: it only computes, and runs beside anything."""
    name = path.relative_to(TESTS)
    return next((GROUPS[p.as_posix()] for p in (name, *name.parents) if p.as_posix() in GROUPS), None)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where one group is asked for, files of others are not even imported: to collect all takes a quarter minute."""
    asked = config.getoption("markexpr")
    other = asked in GROUPS.values() and collection_path.suffix == ".py" and group(collection_path) != asked
    return other or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them, and begin with slow files: one that begins last would keep a single worker busy at the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    for item in items:
        if item.path.is_relative_to(TESTS) and (marker := group(item.path)):
            item.add_marker(marker)
    items.sort(key=lambda item: item.path not in slow)

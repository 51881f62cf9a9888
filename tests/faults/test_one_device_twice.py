"""One device that is read twice under two names: both are recorded, and nothing is counted twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from sanpath.recording.reading.recording import Recording
from sanpath.recording.storage.duck import quoted
from tests.faults.lab import four_gigabit_switch, read, source
from tests.recorder.processes import Run
from tests.support.failed_sources import failed_sources
from tests.support.san import San
from tests.support.stories import STORIES, diagnosed, judged

LINKS = {"link:esx7/vmhba2--sw1/fc1/7", "link:sw1/fc1/1--fa1/CT0.FC0"}


@dataclass(frozen=True)
class Ended:
    reported: dict[str, Any]
    recording: Recording


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ended]:
    folder = tmp_path_factory.mktemp("twice")
    with four_gigabit_switch(folder, threads=[2, 16], measured_seconds=7) as lab:
        config = read(lab.config)
        config["sources"] += [source(config, name) | {"name": f"{name}-again"} for name in ("sw1", "fa1")]
        file = lab.config.with_name("twice.yaml")
        file.write_text(yaml.safe_dump(config))
        run = Run(folder, "--config", file, "--load", "fio", "--format", "json", "--", *lab.load)
        try:
            assert run.end() == 0, run.err.read_text()
        finally:
            run.kill()
        yield Ended(json.loads(run.out.read_text()), Recording(run.recording))


@pytest.mark.slow
def test_both_are_recorded_in_full(ended: Ended) -> None:
    accounts = {account["name"]: account for account in ended.reported["sources"]}
    assert set(accounts) == {"sw1", "sw1-again", "fa1", "fa1-again", "fio"}
    assert not failed_sources(accounts.values())
    recorded = {name: metrics_of(ended.recording, name) for name in accounts}
    assert recorded["sw1-again"] == recorded["sw1"] != set()
    assert recorded["fa1-again"] == recorded["fa1"] != set()


def metrics_of(recording: Recording, source: str) -> set[tuple[str, str, str]]:
    """Return (kind, name, metric) of all of which a source has values."""
    found = set()
    with closing(recording.connect()) as connection:
        for kind in recording.sample_kinds():
            samples, metrics = recording.samples(kind)
            counts = ", ".join(f"count({quoted(metric)})" for metric in metrics)
            of_source = f"FROM {samples} WHERE source = ? GROUP BY entity"
            for entity, *values in connection.execute(f"SELECT entity, {counts} {of_source}", [source]).fetchall():
                found |= {(kind, entity, metric) for metric, count in zip(metrics, values, strict=True) if count}
    return found


@pytest.mark.slow
def test_the_verdict_is_that_of_one_device(ended: Ended) -> None:
    verdict = ended.reported["verdict"]
    assert verdict["kind"] == "bottleneck"
    assert verdict["grade"] == "A"
    first = verdict["bottlenecks"][0]
    assert {first["entity"], *first["coincident"]} == LINKS
    assert 0.97 <= first["utilisation"] <= 0.99
    assert first["ceiling_bytes_per_second"] == pytest.approx(412e6, rel=0.02)


@pytest.mark.slow
def test_no_element_has_two_names_and_no_share_of_the_latency_is_booked_twice(ended: Ended) -> None:
    named = [entry["entity"] for entry in ended.reported["cleared"]]
    named += [finding["entity"] for finding in ended.reported["findings"]]
    assert not [name for name in named if name.startswith(("link:", "switch_port:")) and "again" in name]
    for budget in ended.reported["latency_budget"]:
        parts = [(part["layer"], part["entity"], part["what"]) for part in budget["parts"]]
        assert len(parts) == len(set(parts))
        rest = sum(budget["unexplained_seconds"]) / 2
        assert abs(rest) <= 0.1 * budget["total_seconds"]


class ReadTwice(San):
    """Its switch ports have no address of their own: only what hangs on them tells one from another."""

    def write(self, ended: bool = True) -> Recording:
        self.ports = [*self.ports, *(replace(port, on=f"{port.on}-again") for port in self.ports)]
        return super().write(ended)


@pytest.mark.parametrize("name", ["published", "published_write", "mixed", "unequal", "neighbour", "array_front"])
def test_a_switch_whose_ports_cannot_be_told_from_a_twins_is_judged_alike(tmp_path: Path, name: str) -> None:
    twice, once = judged(STORIES[name](ReadTwice(tmp_path)).write()).verdict, diagnosed(name).verdict
    assert (twice.kind, twice.grade, twice.from_step) == (once.kind, once.grade, once.from_step)
    assert twice.bottlenecks == once.bottlenecks
    assert twice.next == once.next


def test_it_is_judged_alike_without_the_array_too(tmp_path: Path) -> None:
    twice = judged(STORIES["array_not_observed"](ReadTwice(tmp_path)).write())
    assert twice.verdict.kind == diagnosed("array_not_observed").verdict.kind


def test_a_link_that_is_read_twice_is_cleared_once(tmp_path: Path) -> None:
    twice = judged(STORIES["cpu_bound"](ReadTwice(tmp_path)).write())
    links = [c.entity for c in twice.cleared if c.entity.startswith("link:")]
    assert len(links) == len([c for c in diagnosed("cpu_bound").cleared if c.entity.startswith("link:")])

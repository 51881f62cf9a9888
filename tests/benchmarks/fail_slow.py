"""How often the rule slower-than-peers is right about drives that an operator has found to be slow.

The data set is that of Lu and others (Perseus, FAST 2023): throughput and latency of every drive of a host each 15 s,
three hours a day, and a list of the drives that were verified to be slow. It is not part of this repository.

    python -m tests.benchmarks.fail_slow DATA LABELS [--microseconds 1] [--limit NAME=VALUE]

DATA: folders cluster/host with a file a day, columns ts, disk_id, throughput (bytes a second), latency. LABELS: a CSV
with the columns cluster, host_name and disk_id. A host and day is judged like a test, its drives like peers. A drive
counts as named if the rule fires on more than half of its days. `--microseconds`: the unit of the latency, which the
data set does not state; it matters only for the rule's shortest excess.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sanpath.facts.peers.excess_latency import Floats, compare_peers
from sanpath.facts.table import FactRow, FactTable
from sanpath.rulebook.judge import judge
from sanpath.rulebook.rule_files import find_rule, load_rulebook
from sanpath.rulebook.site.policy import Policy

Drive = tuple[str, str, str]
"""Cluster, host, disk."""


@dataclass
class Score:
    """Drive-days that were judged and hit, by drive."""

    days: Counter[Drive] = field(default_factory=Counter)
    hits: Counter[Drive] = field(default_factory=Counter)

    def named(self) -> set[Drive]:
        """Return the drives on more than half of whose days the rule fires."""
        return {drive for drive, hits in self.hits.items() if 2 * hits > self.days[drive]}


def score(data: Path, unit_seconds: float, limits: Mapping[str, float] | None = None) -> Score:
    """Judge every host and day below `data`. `limits`: of the rule, in place of its own."""
    rule = find_rule(load_rulebook(), "slower-than-peers")
    policy: Policy = {rule.id: limits or {}}
    result = Score()
    for path in sorted(data.glob("*/*/*.csv")):
        if path.name.startswith("."):
            continue
        rows = tuple(peer_rows(path, unit_seconds))
        drives = [(path.parent.parent.name, path.parent.name, str(row["entity"])) for row in rows]
        result.days.update(drives)
        hit = {j.entity for j in judge([rule], {"peer": FactTable(rows)}, policy) if j.outcome == "hit"}
        result.hits.update(drive for drive in drives if drive[2] in hit)
    return result


def peer_rows(path: Path, unit_seconds: float) -> Iterator[FactRow]:
    """Yield the facts of each drive of a host on one day."""
    names, seconds, loads = windows(path, unit_seconds)
    comparisons = compare_peers(seconds, (loads,))
    slow = sum(comparison is not None and comparison.is_mostly_slow for comparison in comparisons)
    for name, comparison in zip(names, comparisons, strict=True):
        if comparison is not None:
            yield {
                "entity": name,
                "step": path.stem,
                "direction": "both",
                "windows": comparison.windows,
                "operation_seconds": comparison.seconds,
                "peer_seconds": comparison.peer_seconds,
                "excess_seconds": comparison.seconds - comparison.seconds / comparison.ratio,
                "slower_than_peers_ratio": comparison.ratio,
                "scatters_above_peers": comparison.scatters,
                "peers_compared": float(comparison.peers),
                "slow_windows": float(comparison.slow_windows),
                "slow_windows_ratio": comparison.slow_windows / comparison.windows,
                "slow_members_ratio": slow / len(names),
            }


def windows(path: Path, unit_seconds: float) -> tuple[list[str], Floats, Floats]:
    """Return the drives of a file, and latency (seconds) and throughput (bytes a second) by drive and time."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names, times = sorted({row["disk_id"] for row in rows}), sorted({row["ts"] for row in rows})
    drive, column = ({name: n for n, name in enumerate(keys)} for keys in (names, times))
    latency, throughput = np.full((2, len(names), len(times)), np.nan)
    for row in rows:
        place = drive[row["disk_id"]], column[row["ts"]]
        latency[place] = _value(row["latency"]) * unit_seconds
        throughput[place] = _value(row["throughput"])
    return names, latency, throughput


def _value(text: str) -> float:
    return float("nan") if text in ("", "NA") else float(text)


def labels(path: Path) -> set[Drive]:
    """Return the drives that were verified to be slow."""
    with path.open(encoding="utf-8", newline="") as file:
        return {(row["cluster"], row["host_name"], row["disk_id"]) for row in csv.DictReader(file)}


def report(result: Score, slow: set[Drive]) -> str:
    """Return precision and recall of drives and of drive-days, and every drive that is named or missed."""
    slow = slow & result.days.keys()
    named = result.named()
    hits, true_hits = sum(result.hits.values()), sum(result.hits[drive] for drive in slow)
    slow_days = sum(result.days[drive] for drive in slow)
    lines = [
        f"{len(result.days):,} drives, {sum(result.days.values()):,} drive-days, {len(slow)} drives verified slow",
        f"drives: {len(named)} named, {len(named & slow)} of them slow; {len(slow - named)} slow ones missed",
        f"drive-days: {hits} hits, {true_hits} of slow drives; slow drives have {slow_days}",
    ]
    for drive in sorted(slow | {drive for drive, count in result.hits.items() if count}):
        verified = "slow" if drive in slow else "not in the list"
        lines.append(f"  {'/'.join(drive)}: {result.hits[drive]} of {result.days[drive]} days, {verified}")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.fail_slow")
    parser.add_argument("data", type=Path)
    parser.add_argument("labels", type=Path)
    parser.add_argument("--microseconds", type=float, default=1.0)
    parser.add_argument(
        "--limit", action="append", default=[], metavar="NAME=VALUE", help="in place of the rule's own"
    )
    given = parser.parse_args()
    chosen = {name: float(value) for name, _, value in (limit.partition("=") for limit in given.limit)}
    print(report(score(given.data, given.microseconds * 1e-6, chosen), labels(given.labels)))

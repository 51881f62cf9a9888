"""Findings in the light of the verdict: a risk becomes a cause if its rule is about the limiting element."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from sanpath.diagnosis.experiment import KIND_WORDS
from sanpath.diagnosis.model import Bottleneck, Verdict
from sanpath.facts.load_table import UNMEASURED
from sanpath.facts.table import WHOLE_RUN, FactRow, FactTable, FactValue, number
from sanpath.rulebook.fact_kinds import units
from sanpath.rulebook.findings import group
from sanpath.rulebook.judge import judge
from sanpath.rulebook.model import Finding, Rule
from sanpath.rulebook.remedy import applicable_remedies
from sanpath.topology.names import short_name
from sanpath.topology.paths import array_of, switch_of
from sanpath.topology.topology import Topology
from sanpath.units import iops
from sanpath.verdict.model import Judgement

_ORDER = ("cause", "culprit", "symptom", "validity", "data-quality", "risk", "information")
_ENDS = ("switch_port", "hba", "array_port")
"""Kinds of the ends of a link."""
_ARRAY_PARTS = ("volume", "controller", "media")
"""Kinds of the parts of an array; ports are elements of their own."""
_LOAD_TABLES = ("host", "tcp_connection")
"""Fact tables whose rows are about the machines or connections of the load, whichever element limits."""
_ONE_ROW_TABLES = (
    "cluster_node",
    "control_group",
    "device",
    "host",
    "initiator",
    "media",
    "multipath",
    "virtual_disk",
)
"""Fact tables with one row for each step, in the direction that moves more (`UnderTest`). The row is about both
directions."""
_OTHER_PATH = {"idle_path": "a parallel path is idle", "faster_path": "a faster path has room"}
"""What a remedy relieves → what is known about the other paths."""
_ROOM_RATIO = 0.8
"""Utilisation below which a faster path has room: sanpath's own choice, as in the rule link-busy."""
_BOTH_DIRECTIONS = ("both", "")
"""Directions of rows that are about both directions."""


def findings(
    rules: Sequence[Rule],
    topology: Topology,
    tables: Mapping[str, FactTable],
    judgements: Sequence[Judgement],
    verdict: Verdict,
) -> list[Finding]:
    """The findings of the rules: hits before unknowns, causes first.

    A finding limits the run if, and only if, the verdict names the element that the finding is about.
    """
    limiting = set(_limiting(verdict))
    named = NamedEntities(topology, verdict)
    without_idle_path = set(_without_idle_path(tables, judgements))
    kinds = {rule.id: rule.cause_of for rule in rules}
    with_idle_path = next(_with_idle_path(tables, limiting - without_idle_path), None)
    with_faster_path = next(_with_faster_path(tables, limiting, verdict.from_step), None)
    each_of = {rule.id: rule.each for rule in rules}
    table = {rule.id: tables[rule.each] for rule in rules if rule.each in tables}
    relieving = {rule.id: fix.relieves for rule in rules for fix in rule.fix if fix.relieves is not None}
    platform = _common_value(tables["link"], "platform")
    nvme = _common_value(tables["multipath"].rows or tables["device"].rows, "nvme")
    result = []
    for finding in group(rules, judge(rules, tables, include_clear=False), verdict.from_step):
        if finding.outcome == "unknown" and (each_of[finding.rule], finding.direction) == ("load", UNMEASURED):
            continue
        of_entity = table[finding.rule].select(entity=finding.entity)
        if each_of[finding.rule] in _ONE_ROW_TABLES and _moves_both(finding, tables["load"]):
            finding = replace(finding, direction="both")
        # A finding about both directions may have rows of each.
        rows = [row for row in of_entity if row["direction"] == finding.direction] or of_entity
        if any((finding.entity, row["direction"]) in without_idle_path for row in rows):
            rows = [{**row, "other_path_idle": False} for row in rows]
        full = {
            "idle_path": with_idle_path,
            "faster_path": with_faster_path,
            "controllers": _limiting_array(topology, verdict, finding.entity),
            "failed_path": _limiting_path(topology, verdict, finding.entity),
        }
        relieving_by = relieving.get(finding.rule, "")
        relieved = full.get(relieving_by)
        limits = named.has(finding, each_of[finding.rule], kinds.get(finding.rule, ()))
        attributes = {"platform": platform, "nvme": nvme, "switch_make": switch_make(topology, rows)}
        reported = {name: value for name, value in attributes.items() if value is not None}
        deciding_last = sorted(rows, key=lambda row: row["step"] == verdict.from_step)
        fixes = applicable_remedies(finding.fix, deciding_last, reported, units(each_of[finding.rule]))
        finding = replace(finding, fix=fixes)
        if limits and finding.role == "validity" and kinds.get(finding.rule):
            # A finding by which the test differs from what it seems also holds it back.
            finding = replace(finding, role="cause")
        result.append(_in_context(finding, limits, verdict, relieved, _OTHER_PATH.get(relieving_by, "")))
    return sorted(result, key=lambda finding: (finding.outcome != "hit", _ORDER.index(finding.role)))


def _common_value(rows: Iterable[FactRow], name: str) -> FactValue:
    """The value of a fact in all rows that know it. None: no row knows it, or they differ."""
    values = {row[name] for row in rows} - {None}
    return values.pop() if len(values) == 1 else None


def with_arrays_by_volume(topology: Topology, tables: Mapping[str, FactTable]) -> Mapping[str, FactTable]:
    """The fact tables for the rules: the test's volumes stand for an array that reports no latency itself."""
    volumes, arrays = tables.get("volume", ()), tables["array"]
    reported = {row["entity"] for row in arrays}
    rows = [
        row
        for row in volumes
        if row["foreign_ratio"] is not None
        and (array := array_of(topology, str(row["entity"]))) not in reported
        and array != row["entity"]
    ]
    return {**tables, "array": FactTable((*arrays, *rows))} if rows else tables


def validity_notes(findings: Sequence[Finding], step: str) -> Iterator[str]:
    """Reasons why a step is invalid as a test, each with its rule."""
    for finding in findings:
        if finding.role == "validity" and finding.outcome == "hit" and step in finding.steps:
            yield f"{finding.title} ({finding.rule})"


def _moves_both(finding: Finding, loads: FactTable) -> bool:
    """Whether the test read and wrote in the steps of a finding."""
    return len({row["direction"] for row in loads if row["step"] in finding.steps} - {UNMEASURED}) > 1


def _limiting(verdict: Verdict) -> Iterator[tuple[str, str]]:
    """(element, direction) of what the verdict names, without a LUN whose paths are used in turn."""
    for bottleneck in verdict.bottlenecks:
        first = () if bottleneck.kind == "path_policy" else (bottleneck.entity,)
        yield from ((entity, bottleneck.direction) for entity in (*first, *bottleneck.coincident))


def _without_idle_path(tables: Mapping[str, FactTable], judgements: Sequence[Judgement]) -> Iterator[tuple[str, str]]:
    """Links that limit together, if one of them has no idle parallel link: a path that avoids the others still
    crosses that one."""
    for judged in judgements:
        for bottleneck in judged.bottlenecks:
            links, direction = bottleneck.elements, bottleneck.direction
            rows = tables["link"].select(step=judged.load.step, direction=direction, other_path_idle=False)
            if not {str(row["entity"]) for row in rows}.isdisjoint(links):
                yield from ((entity, direction) for entity in links)


def _with_idle_path(tables: Mapping[str, FactTable], limiting: set[tuple[str, str]]) -> Iterator[str]:
    """Links of the load that limit while a parallel link is idle. Other paths of the load do not relieve a link off
    its paths, such as that of a slow-drain device."""
    for row in tables["link"].select(other_path_idle=True, on_loaded_path=True):
        if (row["entity"], row["direction"]) in limiting:
            yield str(row["entity"])


def _with_faster_path(
    tables: Mapping[str, FactTable], limiting: set[tuple[str, str]], step: str | None
) -> Iterator[str]:
    """Links that limit in the step of the verdict while a faster parallel link of the load has room."""
    for row in tables["link"].select(step=step, on_loaded_path=True):
        if (row["entity"], row["direction"]) not in limiting or not row["capacity_bytes_per_second"]:
            continue
        parallel = tables["link"].select(step=step, on_loaded_path=True, direction=row["direction"], side=row["side"])
        if any(
            number(other, "capacity_bytes_per_second") > number(row, "capacity_bytes_per_second")
            and other["utilisation"] is not None
            and number(other, "utilisation") < _ROOM_RATIO
            for other in parallel
        ):
            yield str(row["entity"])


def _limiting_array(topology: Topology, verdict: Verdict, lun: str) -> str | None:
    """The array behind a LUN, if it limits."""
    volumes = topology.related(lun, "backed_by", "volume")
    arrays = {array for volume in volumes for array in topology.related(volume, "member_of", "array")}
    named = (b.entity for b in verdict.bottlenecks if b.kind == "array")
    return next((entity for entity in named if entity in arrays or entity in volumes), None)


def _limiting_path(topology: Topology, verdict: Verdict, lun: str) -> str | None:
    """The path of a LUN that limits because it fails."""
    paths = topology.related(lun, "member_of", "path")
    return next((b.entity for b in verdict.bottlenecks if b.entity in paths), None)


def switch_make(topology: Topology, rows: Sequence[FactRow]) -> str | None:
    """The make of the switch that a finding is about, or of all switches if it is about none. None: unknown, or
    several makes."""
    ports = {str(row[name]) for row in rows for name in ("near_port", "far_port") if row.get(name)}
    ports |= {str(row["entity"]) for row in rows if str(row["entity"]).startswith("switch_port:")}
    named = {switch for port in ports if (switch := switch_of(topology, port)) is not None}
    switches = named or {switch.id for switch in topology.of_kind("switch")}
    makes = {topology.entities[switch].attributes.get("make") for switch in switches}
    make = makes.pop() if len(makes) == 1 else None
    return make if isinstance(make, str) else None


def _in_context(finding: Finding, limits: bool, verdict: Verdict, relieved: str | None, why: str) -> Finding:
    """The finding with its role in this run. `limits`: the verdict names it. `relieved`: a full element that the fix
    relieves, None: none; `why`: what is known about the other paths."""
    if finding.outcome != "hit":
        return finding
    # A sweep begins with few outstanding I/Os and ends with a full element. A limit in another step is not a cause.
    limits = limits and (not verdict.from_step or verdict.from_step in finding.steps or finding.steps == (WHOLE_RUN,))
    if finding.role == "cause" and not limits:
        finding = replace(finding, role="information")
    if finding.role in ("cause", "risk"):
        finding = replace(finding, in_this_run=in_this_run(finding, limits, verdict, relieved, why))
    if not limits:
        return replace(finding, relieves=relieved)
    gain = None
    if verdict.next is not None:
        low, high = verdict.next.predicted_ops_per_second
        carried = f"the rest of the path has carried {iops(low)} so far"
        gain = f"up to {iops(high)} with every saturated element relieved; {carried}"
    return replace(finding, role="cause" if finding.role == "risk" else finding.role, gain=gain)


def in_this_run(finding: Finding, limits: bool, verdict: Verdict, relieved: str | None, why: str) -> str:
    """Words for whether the finding limits this run. Deviating from a list of good practice does not make a setting a
    cause."""
    if limits:
        return "it limits this run"
    if relieved is not None and relieved.startswith("link:"):
        return f"fixing it relieves the limit of this run, {short_name(relieved)}: {why}"
    if relieved is not None and relieved.startswith("path:"):
        return f"fixing it relieves the limit of this run, {short_name(relieved)}"
    if relieved is not None:
        return f"fixing it may relieve the limit of this run, {short_name(relieved)}: its controllers have less to do"
    if verdict.kind == "cannot_tell":
        return "it is not known whether it limits this run"
    if not verdict.bottlenecks:
        return f"it does not limit this run: {KIND_WORDS[verdict.kind]}"
    first = verdict.bottlenecks[0]
    if named := [b for b in verdict.bottlenecks if finding.entity in (b.entity, *b.coincident)]:
        first = replace(named[0], entity=finding.entity)
        of_step = {verdict.from_step, WHOLE_RUN} & set(finding.steps)
        if of_step and finding.direction in (first.direction, *_BOTH_DIRECTIONS):
            return f"it is not why {short_name(first.entity)} limits this run"
        return f"this run is limited by its {first.direction} direction in step {verdict.from_step}"
    return f"it does not limit this run: {short_name(first.entity)} does"


class NamedEntities:
    """The entities that a verdict names."""

    def __init__(self, topology: Topology, verdict: Verdict) -> None:
        self._topology, self._known = topology, topology.entities.keys()
        self._kinds = {verdict.kind, *(bottleneck.kind for bottleneck in verdict.bottlenecks)}
        self._policy = "path_policy" in self._kinds
        self._elements = {
            (name, bottleneck.direction)
            for bottleneck in verdict.bottlenecks
            for name in (*_names(topology, bottleneck), *_volumes_at_cap(topology, verdict, bottleneck))
        }

    def has(self, finding: Finding, each: str, cause_of: Sequence[str]) -> bool:
        """Whether a finding is about something that the verdict names. `each`: the fact table of its rule.
        `cause_of`: the kinds of verdicts and bottlenecks that its rule explains; empty: any."""
        if cause_of and self._kinds.isdisjoint(cause_of):
            return False
        if finding.entity.startswith("load:"):
            # A rule about the load lists the kinds of verdict that it explains. A path policy that uses one path at a
            # time is also about the load.
            return bool(cause_of) or self._policy
        if each in _LOAD_TABLES and cause_of:
            return True
        # The paths of a LUN are neither the depth of its queue nor I/O above its device.
        if finding.entity.startswith("lun:") and (each == "multipath") != self._policy:
            return False
        if each == "array_front":
            # Target ports that are all full are the array's front end.
            ports = {name for name, _ in self._elements if name.startswith("array_port:")}
            return any(
                self._topology.related(port, "member_of", "array") == [finding.entity] for port in ports & self._known
            )
        directions = {direction for name, direction in self._elements if name == finding.entity}
        return bool(directions) and (finding.direction in directions or finding.direction in _BOTH_DIRECTIONS)


def _names(topology: Topology, bottleneck: Bottleneck) -> Iterator[str]:
    coincident = () if bottleneck.kind == "path_policy" else bottleneck.coincident
    for entity in (bottleneck.entity, *coincident, *([bottleneck.culprit] if bottleneck.culprit else [])):
        yield entity
        kind, _, name = entity.partition(":")
        if kind == "link":
            yield from (f"{end}:{end_name}" for end in _ENDS for end_name in name.split("--"))
        if kind == "array" and entity in topology.entities:
            yield from (
                entity_part
                for part_kind in _ARRAY_PARTS
                for entity_part in topology.related(entity, "member_of", part_kind)
            )
        if kind == "volume" and entity in topology.entities:
            yield from topology.related(entity, "member_of", "array")
        if bottleneck.kind == "io_stack" and bottleneck.wait_at is not None:
            yield bottleneck.wait_at
        if bottleneck.kind == "path_policy":
            yield from (lun.id for lun in topology.of_kind("lun"))


def _volumes_at_cap(topology: Topology, verdict: Verdict, bottleneck: Bottleneck) -> Iterator[str]:
    """The volumes that a host's limit holds back. The time at this limit is counted at the volumes."""
    if verdict.kind != "configured_cap" or bottleneck.kind != "host":
        return
    for lun in topology.related(bottleneck.entity, "attached_to", "lun"):
        yield from topology.related(lun, "backed_by", "volume")

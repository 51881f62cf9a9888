"""Findings in the light of the verdict: what a rule calls a risk is a cause where its element is what limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sanpath.facts.table import FactRow, FactTable
from sanpath.rulebook.findings import group
from sanpath.rulebook.judge import judge, not_judged
from sanpath.rulebook.model import Finding, Rule
from sanpath.rulebook.remedy import applicable_remedies
from sanpath.topology.identity import Topology
from sanpath.topology.paths import switch_of
from sanpath.verdict.explanation.limiting_entities import Named
from sanpath.verdict.model import Unobserved, Verdict
from sanpath.verdict.step_judgement import Judgement
from sanpath.verdict.units import iops

_ORDER = ("cause", "culprit", "symptom", "validity", "data-quality", "risk", "information")


def findings(
    rules: Sequence[Rule],
    topology: Topology,
    tables: Mapping[str, FactTable],
    judgements: Sequence[Judgement],
    verdict: Verdict,
) -> list[Finding]:
    """What the rules say: hits before unknowns, causes before the rest. A finding limits the run exactly when the
    verdict names what it is about."""
    limiting = set(_limiting(verdict))
    named = Named(topology, verdict)
    no_way_round = set(_no_way_round(tables, judgements))
    kinds = {rule.id: rule.cause_of for rule in rules}
    beside_idle = next(_beside_idle(tables, limiting - no_way_round), None)
    each = {rule.id: rule.each for rule in rules}
    table = {rule.id: tables[rule.each] for rule in rules if rule.each in tables}
    bring_paths = {rule.id for rule in rules if any(fix.relieves == "idle_path" for fix in rule.fix)}
    platforms = {row["platform"] for row in tables["link"]} - {None}
    platform = str(platforms.pop()) if len(platforms) == 1 else None
    found = []
    for f in group(rules, judge(rules, tables, include_clear=False)).findings:
        rows = table[f.rule].select(entity=f.entity, direction=f.direction)
        if (f.entity, f.direction) in no_way_round:
            rows = [{**row, "other_path_idle": False} for row in rows]
        relieved = beside_idle if f.rule in bring_paths else None
        limits = named.has(f, each[f.rule], kinds.get(f.rule, ()))
        seen = {"platform": platform, "switch_make": switch_make(topology, rows)}
        f = replace(
            f, fix=applicable_remedies(f.fix, rows, {name: made for name, made in seen.items() if made is not None})
        )
        found.append(_in_context(f, limits, verdict, relieved))
    return sorted(found, key=lambda f: (f.outcome != "hit", _ORDER.index(f.role)))


def stamps(found: Sequence[Finding], step: str) -> Iterator[str]:
    """What the rules say a step is not good for."""
    for finding in found:
        if finding.role == "validity" and finding.outcome == "hit" and step in finding.steps:
            yield f"{finding.title} ({finding.rule})"


def unjudged(rules: Sequence[Rule], tables: Mapping[str, FactTable]) -> list[Unobserved]:
    """Rules that had nothing to judge, by the facts they lack."""
    missing: dict[str, list[str]] = {}
    for rule in not_judged(rules, tables):
        missing.setdefault(rule.each, []).append(rule.id)
    return [
        Unobserved(f"facts of any {table.replace('_', ' ')}", "no source tells any", f"not judged: {', '.join(ids)}")
        for table, ids in missing.items()
    ]


def _limiting(verdict: Verdict) -> Iterator[tuple[str, str]]:
    """(element, direction) of what the verdict names, but for a LUN whose paths are used in turn."""
    for bottleneck in verdict.bottlenecks:
        own = () if bottleneck.kind == "path_policy" else (bottleneck.entity,)
        yield from ((entity, bottleneck.direction) for entity in (*own, *bottleneck.coincident))


def _no_way_round(tables: Mapping[str, FactTable], judgements: Sequence[Judgement]) -> Iterator[tuple[str, str]]:
    """Links that limit together, where one of them has no idle link beside it: a way round the others leads through
    that one."""
    for judged in judgements:
        for bottleneck in judged.bottlenecks:
            together, direction = (bottleneck.entity, *bottleneck.coincident), bottleneck.direction
            here = tables["link"].select(step=judged.load.step, direction=direction, other_path_idle=False)
            if not {str(row["entity"]) for row in here}.isdisjoint(together):
                yield from ((entity, direction) for entity in together)


def _beside_idle(tables: Mapping[str, FactTable], limiting: set[tuple[str, str]]) -> Iterator[str]:
    """Links that limit while a link beside them is idle."""
    for row in tables["link"].select(other_path_idle=True):
        if (row["entity"], row["direction"]) in limiting:
            yield str(row["entity"])


def switch_make(topology: Topology, rows: Sequence[FactRow]) -> str | None:
    """The make of the switch that a finding is about; of all of them, where it is about none. None: not known, or
    they are of several makes."""
    ports = {str(row[name]) for row in rows for name in ("near_port", "far_port") if row.get(name)}
    ports |= {str(row["entity"]) for row in rows if str(row["entity"]).startswith("switch_port:")}
    own = {switch for port in ports if (switch := switch_of(topology, port)) is not None}
    switches = own or {switch.id for switch in topology.of_kind("switch")}
    makes = {topology.entities[switch].attributes.get("make") for switch in switches}
    made = makes.pop() if len(makes) == 1 else None
    return made if isinstance(made, str) else None


def _in_context(finding: Finding, limits: bool, verdict: Verdict, relieved: str | None) -> Finding:
    """`limits`: the verdict names it; `relieved`: a full link that mending it relieves."""
    if finding.outcome != "hit":
        return finding
    # A sweep begins with too little in flight and ends with something full: what held only another step is no cause.
    limits = limits and (
        not verdict.from_step or verdict.from_step in finding.steps or finding.steps == ("whole run",)
    )
    if finding.role == "cause" and not limits:
        finding = replace(finding, role="information")
    if finding.role in ("cause", "risk"):
        finding = replace(finding, in_this_run=_in_this_run(limits, verdict, relieved))
    if not limits:
        return replace(finding, relieves=relieved)
    gain = None
    if verdict.next is not None:
        low, high = verdict.next.predicted_ops_per_second
        gain = f"up to {iops(high)} with every saturated element relieved; the rest has carried {iops(low)}"
    return replace(finding, role="cause" if finding.role == "risk" else finding.role, gain=gain)


def _in_this_run(limits: bool, verdict: Verdict, relieved: str | None) -> str:
    """Whether it limits this run. A configuration is no fault because a list of good practice says so."""
    if limits:
        return "it limits this run"
    if relieved is not None:
        return f"fixing it relieves the limit of this run, {_short(relieved)}: a path beside it is idle"
    if verdict.kind == "cannot_tell":
        return "whether it limits this run cannot be told"
    what = verdict.bottlenecks[0].entity if verdict.bottlenecks else None
    if what is None:
        return f"it does not limit this run: {verdict.kind.replace('_', ' ')}"
    return f"it does not limit this run: {_short(what)} does"


def _short(entity: str) -> str:
    return entity.partition(":")[2].replace("--", " - ")

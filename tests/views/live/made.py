"""Snapshots made by hand: the published 4GFC test, with what a test wants to be different."""

from __future__ import annotations

from collections.abc import Sequence

from sanpath.diagnosis.model import (
    R0,
    Bottleneck,
    BudgetPart,
    Cleared,
    Diagnosis,
    DirectionResult,
    ElementUse,
    InFlight,
    Latency,
    LatencyBudget,
    Next,
    Run,
    StepResult,
    StepVerdict,
    Unobserved,
    Verdict,
    VerdictKind,
)
from sanpath.diagnosis.sources import Mark, SourceAccount
from sanpath.diagnosis.summary import Summary
from sanpath.explanation.remediation_plan import remediation_plan
from sanpath.facts.chart_series import Line, Quantity, Series
from sanpath.pulse.model import Freshness
from sanpath.rulebook.model import Finding, Fix
from sanpath.topology.load_path import Stop
from sanpath.views.live.reading.snapshot import Snapshot

STARTED = 1_800_000_000.0
HOST_LINK, ARRAY_LINK = "link:esx7/vmhba2--sw1/fc1/7", "link:sw1/fc1/1--fa1/CT0.FC0"
IDLE_LINK = "link:esx9/vmhba2--sw1/fc1/9"
MEANING = (
    "415.2 MB/s counted of 425.0 MB/s = 97.7 %",
    "16 outstanding I/Os gave 6,250 IOPS, 800 gave the same",
)
FIX = Fix(
    platform="ESXi",
    commands=("esxcli storage nmp device set --psp VMW_PSP_RR",),
    scope="one LUN on one host",
    disruption="none",
    verify="look",
    undo="set it back",
)


def bottleneck(entity: str = HOST_LINK, direction: str = "read") -> Bottleneck:
    return Bottleneck(
        entity,
        "link",
        "fabric",
        direction,
        utilisation=0.977,
        ceiling_bytes_per_second=412.4e6,
        coincident=(ARRAY_LINK,),
        wait_at="lun:sqlvm1/sda",
        because=MEANING,
        overturn_if=("a window below 90 %",),
    )


def step(
    name: str = "t64",
    in_flight: float = 512,
    kind: VerdictKind = "bottleneck",
    entity: str = HOST_LINK,
    directions: Sequence[str] = ("read",),
    windows: int = 9,
) -> StepResult:
    latency = Latency(in_flight / 6250 * len(directions), None, None, None, None)
    limits = [bottleneck(entity, d) for d in directions] if kind == "bottleneck" else []
    return StepResult(
        name,
        "2027-01-15T08:00:20.000Z",
        "2027-01-15T08:00:40.000Z",
        "marks",
        {d: DirectionResult(6250 / len(directions), 409.6e6 / len(directions), latency) for d in directions},
        InFlight(in_flight, in_flight),
        windows,
        (),
        StepVerdict(kind, "A", limits, MEANING if limits else ("nothing is full",)),
    )


def budget(of: StepResult, entity: str = HOST_LINK) -> list[LatencyBudget]:
    budgets = []
    for direction, result in of.directions.items():
        total = result.latency_seconds.mean
        waits = ("guest", "lun:sqlvm1/sda", 0.94 * total, entity, "waits in the guest's queue")
        inside = ("array_back", "array:fa1", 0.01 * total, None, "service time")
        parts = [BudgetPart("p", w[0], w[1], (w[2], w[2]), w[3], w[4], "measured") for w in (waits, inside)]
        budgets.append(LatencyBudget(of.name, direction, "lun", total, parts, (0.05 * total, 0.05 * total)))
    return budgets


def uses(of: StepResult, direction: str, entity: str) -> list[ElementUse]:
    """Both links of the path full, and one that is nobody's but theirs."""
    full = [ElementUse(e, "link", of.name, direction, True, "4GFC", 0.977, 415.2e6, 425e6, 1.0, 1.0, None)
            for e in (entity, ARRAY_LINK)]  # fmt: skip
    idle = ElementUse(IDLE_LINK, "link", of.name, direction, False, "4GFC", 0.25, 106e6, 425e6, 0.0, 0.0, 106e6)
    return [*full, idle]


def series() -> Series:
    """A minute of it: two steps of 20 s with a gap between them, in which nothing is done; the array tells nothing of
    the gap."""
    moments = tuple(0.5 + n for n in range(60))
    steps = (("t16", 0.0, 20.0), ("t64", 22.0, 60.0))

    def line(quantity: Quantity, entity: str, first: float, second: float, between: float | None) -> Line:
        values = (first if m < 20 else between if m < 22 else second for m in moments)
        return Line(quantity, entity, "read", tuple(values))

    lines = (
        line("payload", "load", 409.6e6, 409.6e6, 0.0),
        line("load_latency", "load", 0.0205, 0.0819, None),
        line("device_latency", "lun:sqlvm1/sda", 0.00512, 0.00512, 0.00512),
        line("array_latency", "array:fa1", 0.00035, 0.00035, None),
        line("utilisation", HOST_LINK, 0.977, 0.977, 0.0),
        line("utilisation", ARRAY_LINK, 0.5, 0.977, 0.0),
    )
    return Series(int(STARTED * 1e6), moments, steps, lines)


WAY = (
    Stop("load", "load:fio"),
    Stop("vm", "vm:sqlvm1"),
    Stop("lun", "lun:sqlvm1/sda"),
    Stop("host", "host:esx7"),
    Stop("hba", "hba:esx7/vmhba2"),
    Stop("link", HOST_LINK),
    Stop("switch", "switch:sw1"),
    Stop("link", ARRAY_LINK),
    Stop("array", "array:fa1"),
    Stop("media", ""),
)


def diagnosis(*steps: StepResult, entity: str = HOST_LINK, complete: bool = False, source: str = "sw1") -> Diagnosis:
    shown = steps or (step("t16", 128, entity=entity), step(entity=entity))
    last = shown[-1]
    hit = Finding(
        "link-full", "A link is full", "cause", "high", entity, "read", (last.name,), "hit", {},
        f"{entity} is full", "a full link makes every I/O wait", (FIX,),
    )  # fmt: skip
    findings = (hit,) if last.verdict.bottlenecks else ()
    verdict = Verdict(
        last.verdict.kind,
        "A",
        last.name,
        "The link is full.",
        last.verdict.bottlenecks,
        None,
        16.0,
        R0(None, None),
        Next(entity, "at 8GFC", (6250, 12500), (0.041, 0.082)),
    )
    steps_of_plan = remediation_plan(findings, verdict)
    first = steps_of_plan[0] if steps_of_plan else None
    return Diagnosis(
        summary=Summary(
            "The link is full.",
            action=None if first is None else first.action,
            plan_step=None if first is None else first.number,
        ),
        run=Run(
            "1",
            "0",
            "0",
            "2027-01-15T08:00:00.000Z",
            "2027-01-15T08:01:00.000Z",
            complete,
            "fio job.fio",
            0 if complete else None,
        ),
        steps=shown,
        verdict=verdict,
        latency_budget=[b for s in shown for b in budget(s, entity)],
        findings=findings,
        plan=steps_of_plan,
        cleared=(Cleared("array:fa1", {"bytes_per_second": 409.6e6}, "0.35 ms in every step"),),
        unobserved=(
            Unobserved("credit stall", "no source reports buffer credits", "a slow device would not be seen"),
        ),
        elements=tuple(use for s in shown for d in s.directions for use in uses(s, d, entity)),
        marks=(Mark("2027-01-15T08:00:30.000Z", "changed to RR"),),
        sources=(
            SourceAccount(source, "snmp_switch", 60, 0, 0, None, 2.0, 60, "", 1.0, None),
            SourceAccount("fa1", "flasharray", 20, 3, 0, -0.2, 0.5, 20, "no answer within the deadline", 2.0, None),
        ),
    )


def snapshot(made: Diagnosis | None = None, at: float = 60.0, ended: bool = False, source: str = "sw1") -> Snapshot:
    """A snapshot `at` so many seconds after the start of the run."""
    return Snapshot(
        taken=STARTED + at,
        diagnosis=made or diagnosis(complete=ended),
        ended=ended,
        newest=STARTED + at - 1,
        command=("/usr/bin/fio", "job.fio"),
        freshness={source: Freshness(1.0, 1.0, False), "fa1": Freshness(2.0, 41.0, True)},
        series=series(),
        io_path=WAY,
        cost_seconds=0.0,
    )


def failed(why: str, at: float = 60.0) -> Snapshot:
    return Snapshot(taken=STARTED + at, diagnosis=None, failure=why)

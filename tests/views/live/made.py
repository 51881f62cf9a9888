"""Looks made by hand: the published 4GFC test, with what a test wants to be different."""

from __future__ import annotations

from collections.abc import Sequence

from sanpath.rulebook.model import Finding, Fix
from sanpath.verdict.model import (
    R0,
    Bottleneck,
    BudgetPart,
    Cleared,
    Diagnosis,
    DirectionResult,
    InFlight,
    Kind,
    Latency,
    LatencyBudget,
    Next,
    Run,
    SourceAccount,
    StepResult,
    StepVerdict,
    Unobserved,
    Verdict,
)
from sanpath.views.live.look import Freshness, Look

STARTED = 1_800_000_000.0
HOST_LINK, ARRAY_LINK = "link:esx7/vmhba2--sw1/fc1/7", "link:sw1/fc1/1--fa1/CT0.FC0"
MEANING = (
    "415.2 MB/s counted of 425.0 MB/s = 97.7 %",
    "16 I/Os in flight gave 6,250 IOPS, 50 times as many the same",
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
    kind: Kind = "bottleneck",
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


def diagnosis(*steps: StepResult, entity: str = HOST_LINK, complete: bool = False, source: str = "sw1") -> Diagnosis:
    shown = steps or (step("t16", 128, entity=entity), step(entity=entity))
    last = shown[-1]
    hit = Finding(
        "link-full", "A link is full", "cause", "high", entity, "read", (last.name,), "hit", {},
        f"{entity} is full", "a full link makes every I/O wait", (FIX,),
    )  # fmt: skip
    return Diagnosis(
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
        verdict=Verdict(
            last.verdict.kind,
            "A",
            last.name,
            "The link is full.",
            last.verdict.bottlenecks,
            None,
            16.0,
            R0(None, None),
            Next(entity, "at 8GFC", (6250, 12500), (0.041, 0.082)),
        ),
        latency_budget=[b for s in shown for b in budget(s, entity)],
        findings=(hit,) if last.verdict.bottlenecks else (),
        cleared=(Cleared("array:fa1", {"bytes_per_second": 409.6e6}, "0.35 ms in every step"),),
        unobserved=(
            Unobserved("credit stall", "no source reports buffer credits", "a slow device would not be seen"),
        ),
        elements=(),
        sources=(
            SourceAccount(source, "snmp_switch", 60, 0, 0, None, 2.0, 60, "", 1.0, None),
            SourceAccount("fa1", "flasharray", 20, 3, 0, -0.2, 0.5, 20, "no answer within the deadline", 2.0, None),
        ),
    )


def look(made: Diagnosis | None = None, at: float = 60.0, ended: bool = False, source: str = "sw1") -> Look:
    """A look `at` so many seconds after the start of the run."""
    return Look(
        taken=STARTED + at,
        diagnosis=made or diagnosis(complete=ended),
        ended=ended,
        newest=STARTED + at - 1,
        command=("/usr/bin/fio", "job.fio"),
        freshness={source: Freshness(1.0, 1.0, False), "fa1": Freshness(2.0, 41.0, True)},
        cost_seconds=0.0,
    )


def failed(why: str, at: float = 60.0) -> Look:
    return Look(taken=STARTED + at, diagnosis=None, failure=why)

"""Beyond throughput: settings side by side, findings, waits that moved, the same latency, and the model checked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sanpath.cli import app
from sanpath.comparison.compare import Comparison, add_checks, compare
from sanpath.comparison.differences import outcomes
from sanpath.comparison.same_latency import compare_at_latency, interpolated
from sanpath.comparison.side_by_side import side_by_side
from sanpath.diagnose import judge_recording as judgements_of
from sanpath.diagnosis.model import CurvePoint, Diagnosis, Setting
from sanpath.facts.figures.model import FigureComparison, FigureValue
from sanpath.recording.reading.recording import Recording
from sanpath.rulebook.model import Finding
from sanpath.views.compare import finding_lines, reached_lines, setting_lines
from sanpath.views.side_by_side import as_text
from sanpath_collectors.figures.parse import parse_figure
from tests.support.san import ARRAY_PORT, HOST_PORT, AtArray, Flow, San
from tests.support.stories import COUNTED, NOTHING, X, diagnosed, judged


def run(
    folder: Path, speed: float, ops: float, in_flight: tuple[int, ...] = (16, 128, 512), disk: int = 32
) -> Recording:
    """64 KiB reads at N / ops over links of a speed whose ends can do 8GFC; the guest's disk lets `disk` through."""
    san = San(folder, ports=[replace(port, speed=speed) for port in (HOST_PORT, ARRAY_PORT)])
    for n in in_flight:
        counted = {port.name: (COUNTED * ops / X, NOTHING) for port in san.ports}
        below = {"read": Flow(ops, min(n, disk) / ops)}
        san.step(f"t{n}", n, read=Flow(ops, n / ops), ports=counted, disk=below, array={"read": AtArray(3e-4)})
    return san.write()


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> tuple[Recording, Recording]:
    """4GFC full at 6,250 IOPS, and 8GFC full at 12,500."""
    folder = tmp_path_factory.mktemp("runs")
    return run(folder / "before", 4, X), run(folder / "after", 8, 2 * X)


@pytest.fixture(scope="module")
def runs(recordings: tuple[Recording, Recording]) -> tuple[Diagnosis, Diagnosis]:
    return judged(recordings[0]), judged(recordings[1])


@pytest.fixture(scope="module")
def found(recordings: tuple[Recording, Recording], runs: tuple[Diagnosis, Diagnosis]) -> Comparison:
    return add_checks(compare(*runs), *judgements_of(recordings[0]))


def test_settings_that_differ_stand_side_by_side(found: Comparison) -> None:
    assert {(d.entity, d.setting): (d.before, d.after) for d in found.differences} == {
        ("switch_port:sw1/fc1/1", "speed"): ("4GFC", "8GFC"),
        ("switch_port:sw1/fc1/7", "speed"): ("4GFC", "8GFC"),
    }


def test_the_prediction_for_the_settings_that_changed_holds_what_came(found: Comparison) -> None:
    """12,595 IOPS were likely with both links at 8GFC; 12,500 came: 0.8 % off."""
    assert [check.step for check in found.checks] == ["t16", "t128", "t512"]
    for check in found.checks:
        low, high = check.predicted_ops_per_second
        assert low <= check.measured_ops_per_second <= high
        assert check.held
        assert check.error == pytest.approx(-0.0075, abs=0.002)


def test_a_prediction_that_did_not_come_says_so(recordings: tuple[Recording, Recording], tmp_path: Path) -> None:
    """8GFC, and 5,000 IOPS: less than before."""
    worse = judged(run(tmp_path, 8, 5000))
    checked = add_checks(compare(judged(recordings[0]), worse), *judgements_of(recordings[0]))
    assert checked.outcome == "WORSE"
    assert [check.held for check in checked.checks] == [False] * 3


def test_each_finding_has_its_outcome(found: Comparison) -> None:
    outcomes = {(f.rule, f.entity): f.outcome for f in found.findings}
    host, array = "link:esx7/vmhba2--sw1/fc1/7", "link:sw1/fc1/1--fa1/CT0.FC0"
    assert outcomes["bottleneck", host] == "MOVED"
    assert outcomes["speed-held-by-one-end", host] == outcomes["speed-held-by-one-end", array] == "FIXED"
    assert outcomes["link-full", host] == "NO CHANGE"


def test_a_finding_that_the_later_run_could_not_see_is_not_fixed(runs: tuple[Diagnosis, Diagnosis]) -> None:
    blind = replace(runs[1], findings=(), configuration=(), elements=(), cleared=(), latency_budget=())
    outcomes = {f.rule: f.outcome for f in compare(runs[0], blind).findings if f.rule != "bottleneck"}
    assert set(outcomes.values()) <= {"CANNOT TELL", "FIXED"}
    assert outcomes["link-full"] == "CANNOT TELL"


def test_a_finding_about_both_directions_is_the_one_about_a_single_direction(
    runs: tuple[Diagnosis, Diagnosis],
) -> None:
    before, _ = runs
    hit = next(f for f in before.findings if f.outcome == "hit" and f.rule == "speed-held-by-one-end")
    other = [f for f in before.findings if (f.rule, f.entity) != (hit.rule, hit.entity)]
    of_both = replace(before, findings=(*other, replace(hit, direction="both")))
    for earlier, later in ((of_both, before), (before, of_both)):
        (outcome,) = [o for o in outcomes(earlier, later) if (o.rule, o.entity) == (hit.rule, hit.entity)]
        assert outcome.outcome == "NO CHANGE"


def test_what_the_later_run_did_not_do_or_see_is_neither_fixed_nor_the_same() -> None:
    """Reads and writes before, only reads after; and a run without the switch."""
    no_writes = compare(diagnosed("mixed"), diagnosed("published")).findings
    assert {f.outcome for f in no_writes if f.direction == "write"} == {"CANNOT TELL"}
    no_switch = compare(diagnosed("published"), diagnosed("switch_not_observed")).findings
    assert {f.outcome for f in no_switch if f.entity.startswith("link:")} == {"CANNOT TELL"}


def test_throughput_at_the_same_latency_is_read_between_steps_and_never_beyond(
    runs: tuple[Diagnosis, Diagnosis],
) -> None:
    """Before 2.56 to 81.9 ms, after 1.28 to 41.0: at 41 ms twice as much; 50 ms was not tested after."""
    (both,) = compare_at_latency(runs, None)
    assert both.latency_seconds == pytest.approx(0.041, rel=0.01)
    assert both.ops_per_second == pytest.approx((X, 2 * X), rel=0.01)
    (refused,) = compare_at_latency(runs, 0.05)
    assert refused.ops_per_second == (pytest.approx(X, rel=0.01), None)
    assert refused.said == (
        "tested: before from 2.56 ms to 81.9 ms; after from 1.28 ms to 41.0 ms; nothing is extrapolated"
    )
    points = [CurvePoint("a", 1, 1000, 0.001, None), CurvePoint("b", 4, 2000, 0.002, None)]
    assert interpolated(points, 0.0015) == pytest.approx(1500)
    assert interpolated(points, 0.0021) is interpolated(points, 0.0009) is None


@pytest.mark.parametrize(
    ("prices", "expected"),
    [
        (
            [("12,500 USD",), ("12,500 USD",)],
            "before 6,250 IOPS at 2 USD each, after 12,500 IOPS at 1 USD each (+100 %)",
        ),
        ([("6,250-12,500 EUR",), ()], "before 6,250 IOPS at 1 to 2 EUR each, after 12,500 IOPS (+100 %)"),
        ([(), ("100 EUR", "100 USD")], "before 6,250 IOPS, after 12,500 IOPS (+100 %)"),
    ],
)
def test_prices_give_the_cost_of_an_operation_at_the_same_latency(
    runs: tuple[Diagnosis, Diagnosis], prices: list[tuple[str, ...]], expected: str
) -> None:
    priced = [
        replace(run, figures=[price(f"array:a{number}", text) for number, text in enumerate(texts)])
        for run, texts in zip(runs, prices, strict=True)
    ]
    (line,) = (
        line for line in reached_lines(compare(priced[0], priced[1])) if line.startswith("at the same latency")
    )
    assert line.endswith(expected)


def test_prices_of_several_elements_are_added_up(runs: tuple[Diagnosis, Diagnosis]) -> None:
    parts = [price("array:a", "10,000 USD"), price("switch:s", "2,500 USD")]
    (same,) = compare_at_latency([replace(run, figures=parts) for run in runs], None)
    assert [cost and round(cost.high, 2) for cost in same.costs] == [2.0, 1.0]


def price(entity: str, text: str) -> FigureComparison:
    entry = parse_figure({"entity": entity, "quantity": "price", "value": text, "source": "offer"})
    value = FigureValue(entry.low, entry.high, entry.source, "stated")
    return FigureComparison(entity, entry.quantity, entry.unit, None, None, [value])


def test_a_wait_that_moved_has_not_grown(tmp_path: Path) -> None:
    """32 > 128 at a full link: 15.4 of 20.5 ms waited above the disk, 0 after; the disk sees 20.5 instead of 5.1."""
    before, after = (judged(run(tmp_path / f"{n}", 4, X, (16, 128), disk=n)) for n in (32, 128))
    unchanged = compare(before, after)
    assert unchanged.outcome == "NO CHANGE"
    (moved,) = unchanged.moved
    assert moved.startswith("t128 read: 15.4 ms of the wait moved from the load plane (guest) to ")
    assert moved.endswith(": moved, not grown")


def test_three_systems_side_by_side(runs: tuple[Diagnosis, Diagnosis], tmp_path: Path) -> None:
    third = judged(run(tmp_path, 16, 2.5 * X, (128, 512)))
    table = side_by_side(("a", "b", "c"), (*runs, third), None)
    assert [round(row.in_flight) for row in table.rows] == [16, 128, 512]
    assert [step is not None for step in table.rows[0].steps] == [True, True, False]
    last = [step.ops_per_second for step in table.rows[-1].steps if step is not None]
    assert last == pytest.approx([X, 2 * X, 2.5 * X], rel=0.01)
    (same,) = table.same_latency
    assert same.latency_seconds == pytest.approx(512 / (2.5 * X), rel=0.01)
    assert None not in same.ops_per_second


def test_a_step_that_becomes_slower_every_month_drifts(tmp_path: Path) -> None:
    def months(*ops: float) -> list[Diagnosis]:
        made = [judged(run(tmp_path / f"{len(ops)}-{rate}", 8, rate, (16,))) for rate in ops]
        return [
            replace(d, run=replace(d.run, start=f"2026-{n:02}-15T08:00:00Z")) for n, d in enumerate(made, start=1)
        ]

    falling = months(6000.0, 5700.0, 5400.0)
    names = ("january", "february", "march")
    # In any order: their dates count.
    (found,) = side_by_side(names, [falling[2], falling[0], falling[1]], None).drifts
    assert (found.direction, round(found.in_flight), found.days) == ("read", 16, 59)
    assert found.change == pytest.approx(-0.1, abs=0.005)
    assert found.per_month == pytest.approx(-0.053, abs=0.003)
    text = as_text(side_by_side(names, falling, None), 200)
    assert "drift: 64 KiB reads with 16 outstanding: throughput -10.0 % in 59 days, -5.3 % a month" in text
    assert "no setting that was read differs" in text
    back = [*falling[:2], replace(falling[0], run=falling[2].run)]
    same_day = [replace(d, run=falling[0].run) for d in falling]
    for steady in (back, same_day, falling[:2]):
        assert not side_by_side(names[: len(steady)], steady, None).drifts


def invoked(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["compare", *words])
    return done.exit_code, done.output


def test_the_command_tells_all_of_it(recordings: tuple[Recording, Recording]) -> None:
    folders = [str(recording.folder) for recording in recordings]
    code, reported = invoked(*folders, "--latency", "20ms")
    reported = " ".join(reported.split())
    assert code == 0
    assert "changed: switch_port:sw1/fc1/7.speed: 4GFC → 8GFC" in reported
    assert "at the same latency: read of 64 KiB at 20.0 ms: before 6,250 IOPS, after 12,500 IOPS (+100 %)" in reported
    assert "FIXED: speed-held-by-one-end link:esx7/vmhba2--sw1/fc1/7 read" in reported
    assert "model: t512 read: predicted 8,750 - 12,595 IOPS, reached 12,500 IOPS: as predicted" in reported
    code, reported = invoked(*folders, folders[0])
    assert (code, reported.splitlines()[0][:2]) == (0, "A ")
    assert "x2.00" in reported
    code, reported = invoked(*folders, folders[0], "--format", "json")
    assert (code, json.loads(reported)["schema"]) == (0, "sanpath.systems/1")


@pytest.mark.parametrize("words", [["--latency", "soon"], ["--latency", "0ms"]])
def test_a_latency_nobody_can_read_is_a_mistake(recordings: tuple[Recording, Recording], words: list[str]) -> None:
    done = CliRunner().invoke(app, ["compare", *(str(r.folder) for r in recordings), *words])
    assert "write a time, as in 5ms" in str(done.exception)


def test_the_model_s_error_stands_beside_the_next_prediction(recordings: tuple[Recording, Recording]) -> None:
    words = ["whatif", str(recordings[1].folder), "--relieve", "--before", str(recordings[0].folder)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0
    assert (
        "earlier prediction of this model: "
        "t512 read: predicted 8,750 - 12,595 IOPS, reached 12,500 IOPS: as predicted" in done.output
    )


def test_a_step_is_compared_with_the_one_of_its_name(runs: tuple[Diagnosis, Diagnosis]) -> None:
    """Random and sequential reads with as many outstanding: only the sequential ones were repeated."""
    (step,) = runs[0].steps[-1:]
    read = step.directions["read"]
    third = replace(read, ops_per_second=read.ops_per_second / 3, bytes_per_second=read.bytes_per_second / 3)
    random = replace(step, name="random", directions={"read": third})
    before = replace(runs[0], steps=[random, replace(step, name="sequential")])
    found = compare(before, replace(runs[0], steps=[replace(step, name="sequential")]))
    assert [(pair.before_step, pair.after_step) for pair in found.pairs] == [("sequential", "sequential")]
    assert found.outcome == "NO CHANGE"


def test_reads_alone_are_no_peer_of_the_reads_of_a_mix(runs: tuple[Diagnosis, Diagnosis]) -> None:
    (step,) = runs[0].steps[-1:]
    mixed = replace(step, directions={**step.directions, "write": step.directions["read"]})
    assert not compare(replace(runs[0], steps=[step]), replace(runs[0], steps=[mixed])).pairs


@pytest.mark.parametrize(("latency", "outcome"), [(3e-3, "WORSE"), (0.1e-3, "BETTER"), (0.41e-3, "NO CHANGE")])
def test_a_load_that_keeps_to_a_rate_is_judged_by_latency(tmp_path: Path, latency: float, outcome: str) -> None:
    """2,000 reads a second, whatever they take, of 64 that may be outstanding."""
    runs = []
    for name, seconds in (("before", 0.4e-3), ("after", latency)):
        san = San(tmp_path / name)
        san.step("q64", 64, read=Flow(2000, seconds))
        runs.append(judged(san.write()))
    assert compare(runs[0], runs[1]).outcome == outcome


def test_the_direction_that_changed_decides_where_none_was_limited(runs: tuple[Diagnosis, Diagnosis]) -> None:
    (step,) = runs[0].steps[-1:]
    read = step.directions["read"]
    half = replace(read, ops_per_second=read.ops_per_second / 2, bytes_per_second=read.bytes_per_second / 2)
    unlimited = replace(runs[0], verdict=replace(runs[0].verdict, bottlenecks=()))
    before = replace(unlimited, steps=[replace(step, directions={"read": read, "write": read})])
    after = replace(unlimited, steps=[replace(step, directions={"read": read, "write": half})])
    found = compare(before, after)
    assert (found.outcome, found.decisive and found.decisive.direction) == ("WORSE", "write")


def test_the_headline_says_that_latency_decides(tmp_path: Path) -> None:
    runs = []
    for name, seconds in (("before", 0.4e-3), ("after", 3e-3)):
        san = San(tmp_path / name)
        san.step("q64", 64, read=Flow(2000, seconds))
        runs.append(judged(san.write()))
    assert (
        "(the load paces itself, so latency decides; differences below 10.0 % are chance)"
        in compare(runs[0], runs[1]).headline
    )


def of_paths(run: Diagnosis, paths: float, *, found: bool, ports: Sequence[str] = ()) -> Diagnosis:
    """The run with a LUN of so many usable paths, and a load over one of several links or not."""
    load, links = next(c.load for c in run.verdict.curves), {"usable_links": 2.0}
    hit = Finding("single-path-in-use", "t", "risk", "medium", load, "read", ("s",), "hit", links, "", "", ())
    settings = [Setting("lun:esx7/rdm1", "usable_paths", paths), *(Setting(port, "speed", "8GFC") for port in ports)]
    return replace(run, configuration=settings, findings=(hit,) if found else ())


@pytest.mark.parametrize(
    ("paths", "ports", "outcome"),
    [
        ((2.0, 2.0), ((), ()), "FIXED"),
        ((2.0, 4.0), ((), ()), "FIXED"),
        ((2.0, 1.0), ((), ()), "GONE"),
        ((2.0, 2.0), (("hba:a", "hba:b"), ("hba:a",)), "GONE"),
        ((2.0, 2.0), (("hba:a", "hba:b"), ("hba:a", "hba:c")), "FIXED"),
    ],
)
def test_a_finding_about_paths_is_gone_with_them_and_not_fixed(
    runs: tuple[Diagnosis, Diagnosis],
    paths: tuple[float, float],
    ports: tuple[Sequence[str], Sequence[str]],
    outcome: str,
) -> None:
    before = of_paths(runs[0], paths[0], found=True, ports=ports[0])
    after = of_paths(runs[0], paths[1], found=False, ports=ports[1])
    (found,) = [each for each in outcomes(before, after) if each.rule == "single-path-in-use"]
    assert found.outcome == outcome
    lines = [line for line in finding_lines(compare(before, after)) if "single-path-in-use" in line]
    assert [line.endswith("no longer there, or no longer read") for line in lines] == [outcome == "GONE"]


def test_what_one_run_read_is_no_change(runs: tuple[Diagnosis, Diagnosis]) -> None:
    known = Setting("switch_port:sw1/fc1/7", "port_mode", "F")
    more = replace(runs[0], configuration=(*runs[0].configuration, known))
    for before, after, name in ((runs[0], more, "AFTER"), (more, runs[0], "BEFORE")):
        comparison = compare(before, after)
        assert list(setting_lines(comparison)) == [f"read only in {name}: switch_port:sw1/fc1/7.port_mode: F"]
        assert comparison.changed_settings == ()
